//! Whether three thousand requests a second are taken.

use tokio::{
    task::JoinSet,
    time::{Duration, Instant, MissedTickBehavior, interval},
};

use super::{Outcome, USED, percentiles::Percentiles, post::Gateway};

/// Requests a second, whether earlier ones have been answered or not.
const RATE: usize = 3_000;
const SECONDS: usize = 20;
/// Requests are started as many at once as are due each so long.
const TICK: Duration = Duration::from_millis(5);

pub(super) async fn main(gateway: &str) -> Outcome<()> {
    let gateway = Gateway::at(gateway);
    for _ in 0..RATE {
        gateway.invoke().await?;
    }
    println!("{USED}");
    let began = Instant::now();
    let (took, refused) = ask(&gateway).await?;
    let seconds = began.elapsed().as_secs_f64();
    let stored = took.len();
    let rate = stored as f64 / seconds;
    println!("sustained: {stored} requests stored in {seconds:.1} s, {rate:.0} a second");
    println!("  {}", Percentiles::of(took).ok_or("no request")?);
    println!("{USED}");
    match refused {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// How long each took, and why one of them was refused.
async fn ask(
    gateway: &Gateway,
) -> Outcome<(
    Vec<Duration>,
    Option<Box<dyn std::error::Error + Send + Sync>>,
)> {
    let (mut running, mut took, mut refused) = (JoinSet::new(), Vec::new(), None);
    let mut note = |ended: Result<Outcome<Duration>, _>| -> Outcome<()> {
        match ended? {
            Ok(duration) => took.push(duration),
            Err(why) => refused = Some(why),
        }
        Ok(())
    };
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let at_once = RATE * usize::try_from(TICK.as_millis())? / 1_000;
    for _ in 0..RATE * SECONDS / at_once {
        ticks.tick().await;
        for _ in 0..at_once {
            let gateway = gateway.clone();
            running.spawn(async move {
                let began = Instant::now();
                gateway.invoke().await.map(|_id| began.elapsed())
            });
        }
        while let Some(ended) = running.try_join_next() {
            note(ended)?;
        }
    }
    while let Some(ended) = running.join_next().await {
        note(ended)?;
    }
    Ok((took, refused))
}
