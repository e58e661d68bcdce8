//! The store's epoch as the broker remembers it, so that an emptied store is noticed.
//!
//! The first worker that sees a new epoch writes it with the time until which results of the old
//! one may stand; a compare-and-set lets only the first decide.

use std::time::Duration;

use async_nats::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    super::{BrokerFault, names::StreamName, topology::kv_stream},
    api::code,
    link::Link,
    publish::publish,
    results::direct_get,
    wire,
};
use crate::{clock::WallTime, contract::Header, store::Epoch};

/// Rounds of reading and losing the write to someone else before giving up.
const ROUNDS_MAX: u32 = 5;

/// Whether the store still has the data set that the fleet's results came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochVerdict {
    /// It has.
    Same,
    /// It was emptied: until then a request without a record may have its result already.
    Differs {
        /// When the last result of the old data set is gone.
        until: WallTime,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    epoch: String,
    /// Milliseconds since the Unix epoch; zero when there was no data set before this one.
    #[serde(default)]
    results_of_another_until_ms: u64,
}

/// What to do about what is remembered.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Answer(EpochVerdict),
    Write(Remembered),
}

fn decide(
    remembered: Option<&Remembered>,
    epoch: &Epoch,
    now: WallTime,
    results_kept: Duration,
) -> Decision {
    let write = |until: u64| {
        Decision::Write(Remembered {
            epoch: epoch.as_str().to_owned(),
            results_of_another_until_ms: until,
        })
    };
    match remembered {
        None => write(0),
        Some(other) if other.epoch != epoch.as_str() => {
            write(now.saturating_add(results_kept).unix_millis())
        }
        Some(same) => {
            let until = WallTime::from_unix_millis(same.results_of_another_until_ms);
            Decision::Answer(if now < until {
                EpochVerdict::Differs { until }
            } else {
                EpochVerdict::Same
            })
        }
    }
}

/// Compares `epoch` with the remembered one and remembers it; results are kept for `results_kept`.
pub(super) async fn verdict(
    link: &Link,
    bucket: &StreamName,
    epoch: &Epoch,
    now: WallTime,
    results_kept: Duration,
) -> Result<EpochVerdict, BrokerFault> {
    for _ in 0..ROUNDS_MAX {
        let (remembered, revision) = read(link, bucket).await?;
        match decide(remembered.as_ref(), epoch, now, results_kept) {
            Decision::Answer(verdict) => return Ok(verdict),
            // Read back: whoever wrote first has decided.
            Decision::Write(new) => write(link, bucket, &new, revision).await?,
        }
    }
    Err(BrokerFault::Refused {
        operation: "remember epoch",
        reason: "other workers keep writing other epochs: do all use the same redis?".into(),
        code: None,
    })
}

/// The epoch that is remembered, if any.
pub(super) async fn remembered(
    link: &Link,
    bucket: &StreamName,
) -> Result<Option<String>, BrokerFault> {
    match read(link, bucket).await {
        Ok((remembered, _)) => Ok(remembered.map(|it| it.epoch)),
        // There is no bucket before a worker has made it.
        Err(BrokerFault::Refused { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// What is remembered and under which revision; zero when there is nothing.
async fn read(link: &Link, bucket: &StreamName) -> Result<(Option<Remembered>, u64), BrokerFault> {
    let call = format!("$JS.API.DIRECT.GET.{}.{}", kv_stream(bucket), key(bucket));
    let Some(message) = direct_get(link, &call, &Value::Null).await? else {
        return Ok((None, 0));
    };
    let revision = wire::header(&message, "Nats-Sequence").and_then(|it| it.parse().ok());
    // What is not readable, a deletion by hand for one, counts as nothing remembered.
    let remembered = serde_json::from_slice(&message.payload).ok();
    Ok((remembered, revision.unwrap_or(0)))
}

async fn write(
    link: &Link,
    bucket: &StreamName,
    new: &Remembered,
    revision: u64,
) -> Result<(), BrokerFault> {
    let mut headers = HeaderMap::new();
    headers.insert(
        HeaderName::from_static(Header::ExpectedLastSubjectSequence.as_str()),
        HeaderValue::from(revision),
    );
    let body = serde_json::to_vec(new).map_or_else(|_| Bytes::new(), Bytes::from);
    let lost = [
        code::WRONG_LAST_SEQUENCE,
        code::WRONG_LAST_SEQUENCE_CONSTANT,
    ];
    match publish(link, &key(bucket), Some(headers), body).await {
        Ok(_) => Ok(()),
        Err(fault) if fault.code().is_some_and(|code| lost.contains(&code)) => Ok(()),
        Err(fault) => Err(fault.into_fault("remember epoch")),
    }
}

fn key(bucket: &StreamName) -> String {
    format!("$KV.{}.epoch", bucket.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Duration = Duration::from_secs(72 * 3600);

    fn remembered(epoch: &str, until: u64) -> Remembered {
        Remembered {
            epoch: epoch.into(),
            results_of_another_until_ms: until,
        }
    }

    #[test]
    fn a_new_epoch_is_in_doubt_for_as_long_as_results_are_kept() {
        let now = WallTime::from_unix_millis(1_000);
        let epoch = Epoch::recorded("new");
        assert_eq!(
            decide(None, &epoch, now, KEPT),
            Decision::Write(remembered("new", 0))
        );
        let until = now.saturating_add(KEPT);
        let written = remembered("new", until.unix_millis());
        let old = remembered("old", 0);
        assert_eq!(
            decide(Some(&old), &epoch, now, KEPT),
            Decision::Write(written.clone())
        );
        let verdict = |now| decide(Some(&written), &epoch, now, KEPT);
        assert_eq!(
            verdict(now),
            Decision::Answer(EpochVerdict::Differs { until })
        );
        assert_eq!(verdict(until), Decision::Answer(EpochVerdict::Same));
    }
}
