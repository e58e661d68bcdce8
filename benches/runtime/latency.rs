//! How much later an answer comes than by a bare HTTP client.

use std::{future::Future, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use super::{Outcome, Servers, bare::Bare, caller::Caller, server::FAST_PATH};

/// Calls a second.
const RATE: u32 = 1_000;
/// Calls of one round of one kind.
const CALLS: usize = 4_000;
/// Rounds of each kind, in turn; the median of them is reported.
const ROUNDS: usize = 7;
/// Calls of each kind before the first round.
const WARM_UP: usize = 1_000;

/// The seed's goals for what is added.
const GOAL_P50: Duration = Duration::from_micros(300);
const GOAL_P99: Duration = Duration::from_micros(1_500);

#[derive(Clone, Copy, Debug)]
struct Percentiles {
    p50: Duration,
    p99: Duration,
}

pub(super) async fn main(servers: &Servers<'_>) -> Outcome<()> {
    let bare = Bare::of(servers.model);
    let caller = Caller::observed(servers, FAST_PATH)?;
    let bare_call = || {
        let bare = bare.clone();
        async move { bare.call().await.map(drop) }
    };
    let our_call = || {
        let caller = caller.clone();
        async move { caller.call().await }
    };
    round(WARM_UP, bare_call).await?;
    round(WARM_UP, our_call).await?;
    let (mut bares, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bares.push(round(CALLS, bare_call).await?);
        ours.push(round(CALLS, our_call).await?);
    }
    caller.close()?;
    report(&bares, &ours);
    Ok(())
}

/// Starts `calls` calls at [`RATE`], whether earlier ones have ended or not.
async fn round<F>(calls: usize, call: impl Fn() -> F) -> Outcome<Percentiles>
where
    F: Future<Output = Outcome<()>> + Send + 'static,
{
    let mut ticks = interval(Duration::from_secs(1) / RATE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut running = JoinSet::new();
    for _ in 0..calls {
        ticks.tick().await;
        let call = call();
        running.spawn(async move {
            let began = Instant::now();
            call.await.map(|()| began.elapsed())
        });
    }
    let mut took = Vec::with_capacity(calls);
    while let Some(ended) = running.join_next().await {
        took.push(ended??);
    }
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied();
    Ok(Percentiles {
        p50: at(50).ok_or("no call")?,
        p99: at(99).ok_or("no call")?,
    })
}

fn report(bares: &[Percentiles], ours: &[Percentiles]) {
    println!("{ROUNDS} rounds of {CALLS} calls each, {RATE} a second, one connection pool each");
    for (name, of, goal) in [
        ("p50", (|it: &Percentiles| it.p50) as fn(&_) -> _, GOAL_P50),
        ("p99", |it: &Percentiles| it.p99, GOAL_P99),
    ] {
        let bare = median(bares.iter().map(|it| millis(of(it))));
        let our = median(ours.iter().map(|it| millis(of(it))));
        let pairs = bares.iter().zip(ours);
        let added = median(pairs.map(|(bare, our)| millis(of(our)) - millis(of(bare))));
        println!(
            "  {name}  bare client {bare:.3} ms  runtime {our:.3} ms  added {added:+.3} ms (goal {:.1} ms)",
            millis(goal)
        );
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
