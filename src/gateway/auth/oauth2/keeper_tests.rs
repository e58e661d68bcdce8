//! An issuer that changes its keys, is slow, or is away. Time passes only where it is moved.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use super::*;

const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";

/// Answers with what it was given, then always with the last of it.
struct Scripted {
    answers: Mutex<VecDeque<Result<SigningKeys, FetchFault>>>,
    fetches: Arc<AtomicUsize>,
    takes: Duration,
}

impl KeySource for Scripted {
    async fn fetch(&self) -> Result<SigningKeys, FetchFault> {
        sleep(self.takes).await;
        self.fetches.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().expect("no test panics with it");
        match answers.len() {
            1 => answers.front().cloned().expect("one"),
            _ => answers.pop_front().expect("some"),
        }
    }
}

/// A set whose only key is called `kid`.
fn keys(kid: &str) -> Result<SigningKeys, FetchFault> {
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": X, "kid": kid}]});
    Ok(SigningKeys::read(set.to_string().as_bytes()).expect("a set"))
}

fn away() -> Result<SigningKeys, FetchFault> {
    Err(FetchFault::Client("away".to_owned()))
}

struct Kept {
    live: LiveSigningKeys,
    fetches: Arc<AtomicUsize>,
    _keeper: AbortOnDropHandle<()>,
}

impl Kept {
    fn start(
        takes: Duration,
        answers: impl IntoIterator<Item = Result<SigningKeys, FetchFault>>,
    ) -> Self {
        let fetches = Arc::default();
        let source = Scripted {
            answers: Mutex::new(answers.into_iter().collect()),
            fetches: Arc::clone(&fetches),
            takes,
        };
        let (keeper, live) = Keeper::of(source);
        Self {
            live,
            fetches,
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        }
    }

    /// Whether a token that names `kid` would find its key; none when there are no keys at all.
    async fn knows(&self, kid: &str) -> Option<bool> {
        let keys = self.live.knowing(Some(kid)).await?;
        Some(keys.knows(Some(kid)))
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_token_waits_for_the_first_keys_and_the_next_do_not() {
    let kept = Kept::start(Duration::from_secs(3), [keys("a")]);
    let began = Instant::now();
    assert_eq!(kept.knows("a").await, Some(true));
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    assert_eq!(kept.knows("a").await, Some(true));
    assert_eq!(began.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_fetched_once_for_all_who_wait_for_it() {
    let kept = Kept::start(Duration::from_secs(1), [keys("a"), keys("b")]);
    assert_eq!(kept.knows("a").await, Some(true));
    sleep(TRY_EVERY).await;
    let asked = (0..100).map(|_| kept.knows("b"));
    let told = futures_util::future::join_all(asked).await;
    assert!(told.iter().all(|told| *told == Some(true)), "{told:?}");
    assert_eq!(kept.fetches(), 2);
    assert_eq!(kept.knows("a").await, Some(false));
}

#[tokio::test(start_paused = true)]
async fn keys_that_nobody_has_are_asked_for_no_more_often_than_allowed() {
    let kept = Kept::start(Duration::ZERO, [keys("a")]);
    let began = Instant::now();
    for n in 0..1_000 {
        assert_eq!(kept.knows(&format!("made up {n}")).await, Some(false));
        sleep(Duration::from_millis(90)).await;
    }
    let allowed = began.elapsed().as_secs() / TRY_EVERY.as_secs() + 1;
    let allowed = usize::try_from(allowed).expect("few");
    assert!(
        (2..=allowed).contains(&kept.fetches()),
        "{}",
        kept.fetches()
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_withdrawn_is_forgotten_without_being_asked_for() {
    let kept = Kept::start(Duration::ZERO, [keys("a"), keys("b")]);
    assert_eq!(kept.knows("a").await, Some(true));
    sleep(REFRESH_EVERY + Duration::from_secs(1)).await;
    assert_eq!(kept.knows("a").await, Some(false));
    assert_eq!(kept.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_are_kept_while_the_issuer_is_away_but_not_for_ever() {
    let kept = Kept::start(Duration::ZERO, [keys("a"), away()]);
    assert_eq!(kept.knows("a").await, Some(true));
    sleep(GOOD_FOR - Duration::from_secs(1)).await;
    assert_eq!(kept.knows("a").await, Some(true));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(kept.knows("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_was_away_at_the_start_is_found_once_it_is_there() {
    let kept = Kept::start(Duration::ZERO, [away(), away(), keys("a")]);
    assert_eq!(kept.knows("a").await, None);
    sleep(TRY_EVERY * 2 + Duration::from_secs(1)).await;
    assert_eq!(kept.knows("a").await, Some(true));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_keys_that_nobody_fetches_does_not_wait_for_ever() {
    let (keeper, live) = Keeper::of(Scripted {
        answers: Mutex::default(),
        fetches: Arc::default(),
        takes: Duration::ZERO,
    });
    let began = Instant::now();
    assert!(live.knowing(Some("a")).await.is_none());
    assert_eq!(began.elapsed(), WAIT_MAX);
    drop(keeper);
    assert!(live.knowing(Some("a")).await.is_none());
    assert_eq!(began.elapsed(), WAIT_MAX);
}
