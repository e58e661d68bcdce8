//! How much later a request is stored than by publishing the same bytes to NATS.

use async_nats::{Message, jetstream, jetstream::Context};
use futures_util::StreamExt as _;
use tokio::time::{Duration, Instant, MissedTickBehavior, interval};

use super::{
    Outcome,
    percentiles::{Percentiles, millis},
    post::Gateway,
};

/// Requests of one round of each kind, in turn.
const REQUESTS: usize = 2_000;
/// Rounds; the median of them is reported.
const ROUNDS: usize = 5;
/// Requests of each kind before the first round.
const WARM_UP: usize = 1_000;
/// Requests of both kinds together a second.
const RATE: u32 = 400;
/// What may be added to the median.
const GOAL_P50: Duration = Duration::from_millis(1);

/// By it the broker knows a message that it has stored already.
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The same message again and again, as one that nobody has published before.
struct Bare {
    broker: Context,
    sample: Message,
}

impl Bare {
    /// Publishes what the gateway makes of a request.
    async fn of(nats: &str, gateway: &Gateway) -> Outcome<Self> {
        let client = async_nats::connect(nats).await?;
        let mut published = client.subscribe("*.invoke.>").await?;
        client.flush().await?;
        gateway.invoke().await?;
        let sample = published.next().await.ok_or("nothing was published")?;
        let broker = jetstream::new(client);
        Ok(Self { broker, sample })
    }

    async fn publish(&self, number: usize) -> Outcome<()> {
        let mut headers = self.sample.headers.clone().unwrap_or_default();
        headers.insert(MESSAGE_ID, format!("bare-{number}").as_str());
        let (subject, payload) = (self.sample.subject.clone(), self.sample.payload.clone());
        let publishing = self.broker.publish_with_headers(subject, headers, payload);
        publishing.await?.await?;
        Ok(())
    }
}

struct Round {
    bare: Percentiles,
    over_http: Percentiles,
}

pub(super) async fn main(gateway: &str, nats: &str) -> Outcome<()> {
    let gateway = Gateway::at(gateway);
    let bare = Bare::of(nats, &gateway).await?;
    round(&bare, &gateway, WARM_UP, 0).await?;
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        rounds.push(round(&bare, &gateway, REQUESTS, number).await?);
    }
    report(&rounds, bare.sample.payload.len());
    Ok(())
}

/// One of each kind in turn, so that whatever else the machine does befalls both.
async fn round(bare: &Bare, gateway: &Gateway, requests: usize, number: usize) -> Outcome<Round> {
    let mut ticks = interval(Duration::from_secs(1) / RATE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut bares, mut over_http) = (Vec::new(), Vec::new());
    for request in 0..requests {
        ticks.tick().await;
        let began = Instant::now();
        bare.publish(number * 1_000_000 + request).await?;
        bares.push(began.elapsed());
        ticks.tick().await;
        let began = Instant::now();
        gateway.invoke().await?;
        over_http.push(began.elapsed());
    }
    Ok(Round {
        bare: Percentiles::of(bares).ok_or("no request")?,
        over_http: Percentiles::of(over_http).ok_or("no request")?,
    })
}

fn report(rounds: &[Round], bytes: usize) {
    println!("stored: {ROUNDS} rounds of {REQUESTS} requests of {bytes} bytes each way, in turn");
    for (name, of) in [
        ("p50", (|it: &Percentiles| it.p50) as fn(&_) -> _),
        ("p99", |it: &Percentiles| it.p99),
    ] {
        let bare = median(rounds.iter().map(|it| millis(of(&it.bare))));
        let over_http = median(rounds.iter().map(|it| millis(of(&it.over_http))));
        let added = median(
            rounds
                .iter()
                .map(|it| millis(of(&it.over_http)) - millis(of(&it.bare))),
        );
        println!(
            "  {name}  publish {bare:.3} ms  over HTTP {over_http:.3} ms  added {added:+.3} ms"
        );
    }
    println!("  goal: less than {:.1} ms added to p50", millis(GOAL_P50));
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
