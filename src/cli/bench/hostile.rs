//! What messages that no client can read cost those that can: rounds without and with them, taking
//! turns, on one fleet.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    BenchArgs, BenchFault,
    fleet::{BenchFleet, TARGET},
    load::Load,
    report::Comparison,
};
use crate::{
    cli::session::World,
    contract::{Lane, Subjects},
};

/// Rounds of each sort.
const PAIRS: usize = 3;

/// Each breaks the client library in a way of its own; the first one makes it panic.
const HEADER_BLOCKS: [&[u8]; 4] = [
    b"NATS/1.0\r\nX: a\rb\r\n\r\n",
    b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n",
    b"NATS/1.0\r\nno colon\r\n\r\n",
    b"NATS/9.9\r\nA: b\r\n\r\n",
];

/// How long a server may take to read one.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// How long the last ones may take to be buried after the last round.
const BURIED_WITHIN: Duration = Duration::from_secs(30);

/// Measures rounds without and with a hostile message `every` so often.
pub(super) async fn compare(
    args: &BenchArgs,
    every: Duration,
    world: &World,
) -> Result<Comparison, BenchFault> {
    let mut fleet = BenchFleet::start(args, world).await?;
    let mut load = Load::prepare(args, &fleet, &world.chance).await?;
    let (workers, url) = (fleet.worker_pids(), fleet.nats.url());
    let mut comparison = Comparison::default();
    for _ in 0..PAIRS {
        comparison.without.push(round(&mut load).await?);
        let stop = CancellationToken::new();
        let measured = async {
            let rate = round(&mut load).await;
            stop.cancel();
            rate
        };
        let (rate, published) = tokio::join!(measured, publish(&url, every, &stop));
        comparison.with.push(rate?);
        comparison.hostile += published?;
    }
    let buried = async {
        while load
            .dead_letters()
            .await
            .is_ok_and(|many| many < comparison.hostile)
        {
            sleep(Duration::from_millis(50)).await;
        }
    };
    // Too few of them is what is told.
    timeout(BURIED_WITHIN, buried).await.ok();
    comparison.dead_letters = load.dead_letters().await?;
    comparison.same_workers = fleet.worker_pids() == workers;
    fleet.stop().await;
    Ok(comparison)
}

/// Invocations a second of one round.
async fn round(load: &mut Load) -> Result<f64, BenchFault> {
    let began = Instant::now();
    let measured = load.run().await?;
    Ok(super::report::rate(
        measured.latencies.len(),
        began.elapsed(),
    ))
}

/// Publishes until it is told to stop; how many.
async fn publish(url: &str, every: Duration, stop: &CancellationToken) -> io::Result<u64> {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut published = 0;
    for header_block in HEADER_BLOCKS.into_iter().cycle() {
        tokio::select! {
            () = stop.cancelled() => break,
            _ = ticks.tick() => {}
        }
        timeout(SENT_WITHIN, publish_one(url, header_block)).await??;
        published += 1;
    }
    Ok(published)
}

/// Speaks the protocol by itself: no client library sends this.
async fn publish_one(url: &str, header_block: &[u8]) -> io::Result<()> {
    let address = url.strip_prefix("nats://").unwrap_or(url);
    let mut stream = TcpStream::connect(address).await?;
    let target = TARGET.parse().map_err(io::Error::other)?;
    let subject = Subjects::default().invoke(&target, Lane::Normal);
    let (head, all) = (header_block.len(), header_block.len() + 2);
    let mut message = b"CONNECT {\"verbose\":false,\"headers\":true}\r\n".to_vec();
    message.extend(format!("HPUB {subject} {head} {all}\r\n").bytes());
    message.extend(header_block);
    message.extend(b"{}\r\nPING\r\n");
    stream.write_all(&message).await?;
    let mut answers = BufReader::new(stream).lines();
    while let Some(answer) = answers.next_line().await? {
        match answer.get(..4) {
            Some("PONG") => return Ok(()),
            Some("-ERR") => return Err(io::Error::other(answer)),
            Some(_) | None => {}
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
