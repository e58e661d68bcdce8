//! Publishing to a stream and waiting for the server's word.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use serde::Deserialize;

use super::{
    super::PublishAck,
    api::{ApiError, ApiFault},
    link::Link,
};

/// How long the server may take to say that a message is stored; a burst makes it slow.
const PUBLISH_BOUND: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
    error: Option<ApiError>,
}

/// Publishes and waits until the message is stored.
pub(super) async fn publish(
    link: &Link,
    subject: &str,
    headers: Option<HeaderMap>,
    body: Bytes,
) -> Result<PublishAck, ApiFault> {
    let answer = link.request(subject, headers, body, PUBLISH_BOUND).await;
    read(&answer.map_err(ApiFault::Unanswered)?.payload)
}

fn read(payload: &[u8]) -> Result<PublishAck, ApiFault> {
    let answer: Answer = serde_json::from_slice(payload).map_err(|_| ApiFault::Nonsense)?;
    match answer.error {
        Some(error) => Err(ApiFault::Refused(error)),
        // Not a stream's answer: sequences count from 1.
        None if answer.seq == 0 => Err(ApiFault::Nonsense),
        None => Ok(PublishAck {
            sequence: answer.seq,
            duplicate: answer.duplicate,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_word_is_a_sequence_or_an_error() {
        let stored = read(br#"{"stream":"S","seq":7,"duplicate":true}"#);
        let ack = PublishAck {
            sequence: 7,
            duplicate: true,
        };
        assert_eq!(stored, Ok(ack));
        let refused = read(
            br#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"},"stream":"S","seq":0}"#,
        );
        assert_eq!(refused.unwrap_err().code(), Some(10_071));
        for nonsense in ["", "{}", "hello", "{\"seq\":0}"] {
            assert_eq!(
                read(nonsense.as_bytes()),
                Err(ApiFault::Nonsense),
                "{nonsense}"
            );
        }
    }
}
