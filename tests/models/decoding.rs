//! Bodies that were packed on their way.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use puruto_fleet::contract::ErrorCode;

use crate::{
    asking::{ask, good, table},
    fault_server::{Deed, FaultServer},
};

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).expect("in memory");
    encoder.finish().expect("in memory")
}

fn gzip(status: u16, body: &[u8]) -> Deed {
    let head = format!(
        "HTTP/1.1 {status} As Told\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Deed::send([head.as_bytes(), body].concat())
}

#[tokio::test]
async fn a_packed_answer_and_a_packed_refusal_are_read() {
    let quota = br#"{"error": {"code": "insufficient_quota"}}"#;
    let server = FaultServer::start(
        [
            gzip(200, &packed(good().to_string().as_bytes())),
            gzip(429, &packed(quota)),
        ],
        Deed::silence(),
    )
    .await;
    let table = table("openai", &server.base_url(), "");

    let answer = ask(&table).await.expect("an answer");
    let refused = ask(&table).await.expect_err("refused");

    assert_eq!(answer.content, "hi");
    assert_eq!(
        (refused.fault.error_type(), refused.attempts),
        ("quota_exhausted", 1)
    );
}

#[tokio::test]
async fn the_bound_of_a_body_is_on_what_comes_out_of_it() {
    let bomb = packed(&vec![b' '; 64 * 1024 * 1024]);
    for (provider, size) in [("openai", 4 * 1024 * 1024), ("ollama", 100_000)] {
        assert!(bomb.len() < size, "it looks small enough");
        let server = FaultServer::start([], gzip(200, &bomb)).await;
        let failed = ask(&table(provider, &server.base_url(), "")).await;
        let failed = failed.expect_err("too long");
        assert_eq!(failed.fault.error_type(), "body_too_large");
        assert_eq!(failed.fault.code(), ErrorCode::InvalidResponse);
    }
}
