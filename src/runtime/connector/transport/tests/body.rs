//! Bodies as servers send them: compressed, cut, longer or shorter than they say.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use tokio::time::Instant;

use super::*;
use crate::runtime::fault::ConnectionFault;

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("in memory");
    encoder.finish().expect("in memory")
}

/// An answer with these headers and this body, behind which the server closes.
fn raw(headers: &str, body: &[u8]) -> [Act; 2] {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    [Act::Read, Act::Write(bytes)]
}

async fn asked(headers: &str, body: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut client = Client::to(raw(headers, body));
    client.limits.body_max = 1_000;
    let outcome = client.ask().await;
    client.assert_nothing_is_held();
    outcome
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_early_is_cut_however_it_was_to_end() {
    let gzip = compressed(b"a long answer, and then some");
    let short = gzip.get(..gzip.len() - 4).expect("longer");
    for (headers, body) in [
        ("Content-Length: 9\r\n", &b"four"[..]),
        ("Content-Length: 99999999999\r\n", b"four"),
        ("Transfer-Encoding: chunked\r\n", b"4\r\nfour\r\n"),
        ("Transfer-Encoding: chunked\r\n", b"9\r\nfour"),
        ("Content-Encoding: gzip\r\n", short),
        ("Content-Encoding: gzip\r\n", b"no gzip at all"),
    ] {
        let fault = asked(headers, body).await.expect_err(headers);
        let Fault::Connection { what, .. } = &fault else {
            panic!("{headers}: {fault}");
        };
        assert_eq!(*what, ConnectionFault::Cut, "{headers}: {fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_body_is_read_however_it_ends() {
    let gzip = compressed(b"four");
    let chunked_gzip = {
        let mut body = format!("{:x}\r\n", gzip.len()).into_bytes();
        body.extend_from_slice(&gzip);
        body.extend_from_slice(b"\r\n0\r\nTrailer: x\r\n\r\n");
        body
    };
    for (headers, body) in [
        ("Content-Length: 4\r\n", &b"four"[..]),
        ("Content-Length: 4\r\n", b"four and more"),
        (
            "Transfer-Encoding: chunked\r\n",
            b"2\r\nfo\r\n2\r\nur\r\n0\r\n\r\n",
        ),
        ("", b"four"),
        ("Content-Encoding: gzip\r\n", &gzip),
        ("Content-Encoding: X-GZIP\r\n", &gzip),
        (
            "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            &chunked_gzip,
        ),
        (
            "Content-Encoding: identity\r\nContent-Length: 4\r\n",
            b"four",
        ),
    ] {
        assert_eq!(
            asked(headers, body).await.expect(headers),
            b"four",
            "{headers}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_cap_counts_what_was_decoded_to_the_byte() {
    let (fits, over) = (vec![b'x'; 1_000], vec![b'x'; 1_001]);
    let too_large = Err(Fault::BodyTooLarge { cap: 1_000 });
    assert_eq!(asked("", &fits).await, Ok(fits.clone()));
    assert_eq!(asked("", &over).await, too_large);
    let gzip = "Content-Encoding: gzip\r\n";
    assert_eq!(asked(gzip, &compressed(&fits)).await, Ok(fits));
    assert_eq!(asked(gzip, &compressed(&over)).await, too_large);
    let bomb = compressed(&vec![0; 20_000_000]);
    assert_eq!(asked(gzip, &bomb).await, too_large);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_handed_on_piece_by_piece() {
    let piece = |text: &str| Act::write(format!("{:x}\r\n{text}\r\n", text.len()));
    let client = Client::to([
        Act::Read,
        Act::write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        piece("data: 1\n\n"),
        Act::Wait(seconds(5)),
        piece("data: 2\n\n"),
        Act::Wait(seconds(5)),
        Act::write("0\r\n\r\n"),
        Act::Hold,
    ]);
    let mut body = client.head().await.expect("a head").body;
    let started = Instant::now();
    for (nth, expected) in ["data: 1\n\n", "data: 2\n\n"].into_iter().enumerate() {
        let chunk = body.chunk().await.expect("a piece").expect("more");
        assert_eq!(chunk, expected);
        assert_eq!(
            started.elapsed(),
            seconds(5) * u32::try_from(nth).expect("few")
        );
    }
    assert_eq!(client.counts.active(), 1);
    assert_eq!(body.chunk().await.expect("the end"), None);
    client.assert_nothing_is_held();
    drop(body);
    assert_eq!(client.servers.open.load(Ordering::SeqCst), 1, "it is kept");
}

#[tokio::test(start_paused = true)]
async fn of_a_refusal_no_more_is_read_than_what_comes_at_once() {
    let endless = [Act::Read, Act::write("HTTP/1.1 500 No\r\n\r\n")];
    let more = vec![b'x'; 40_000];
    let client = Client::to(endless.clone().into_iter().chain([
        Act::Write(more.clone()),
        Act::Write(more.clone()),
        Act::Write(more),
    ]));
    let body = client.head().await.expect("a head").body;
    assert_eq!(body.beginning().await.len(), 64 * 1024);

    let trickle = [Act::write("x"), Act::Wait(Duration::from_millis(300))];
    let trickle = iter::repeat_n(trickle, 99).flatten();
    let client = Client::to(endless.into_iter().chain(trickle));
    let body = client.head().await.expect("a head").body;
    let started = Instant::now();
    assert!(!body.beginning().await.is_empty());
    assert_eq!(started.elapsed().as_secs(), 2);
    client.assert_nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_head_without_end_is_refused() {
    let huge = format!("X-Huge: {}\r\n", "x".repeat(100_000));
    asked(&huge, b"").await.expect_err("one huge header");
    asked(&"X: y\r\n".repeat(200), b"")
        .await
        .expect_err("many headers");
}
