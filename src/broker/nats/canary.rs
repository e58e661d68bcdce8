//! Tries every permission that a worker needs before anything depends on it.
//!
//! A server tells a missing permission beside the call, not to it: a denied ack would look like a
//! success and its request come again for ever.

use std::time::Duration;

use async_nats::{HeaderMap, Subscriber};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::{
    super::{
        BrokerFault,
        needs::{Need, Trial},
    },
    api::{self, ApiFault, CALL_BOUND},
    link::Link,
    unanswered::Unanswered,
};

const OPERATION: &str = "try permissions";

/// A stream that is not there; no stream stores what is published for it.
const NO_STREAM: (&str, &str) = ("Nats-Expected-Stream", "PURUTO_CANARY");

/// Trials at the same time.
const AT_ONCE: usize = 64;

/// A refused subscription is told before the answer to a later call, but on another way: this long
/// is waited for it to arrive.
const TOLD_WITHIN: Duration = Duration::from_millis(100);

/// The needs that the server does not permit.
///
/// # Errors
/// The server did not answer in time.
pub(super) async fn denied(link: &Link, needs: &[Need]) -> Result<Vec<Need>, BrokerFault> {
    let began = Instant::now();
    round_trip(link).await?;
    if let Some(words) = link.deaf() {
        return Err(BrokerFault::Denied {
            operation: "hear answers",
            reason: words.to_owned(),
        });
    }
    // Who is asked for no name is denied nothing, and whoever watches results would hear the trials.
    if !link.wire().client.server_info().auth_required {
        return Ok(Vec::new());
    }
    let is = |trial: fn(Trial) -> bool| needs.iter().filter(move |need| trial(need.trial));
    let (heard, stored) = (is(Trial::is_heard), is(Trial::is_stored));
    let subscriptions = subscribe(link, heard.clone()).await?;
    for need in stored.clone() {
        publish(link, need).await?;
    }
    let trials = needs.iter().filter_map(|need| match need.trial {
        Trial::Ask(body) => Some(ask(link, need, body)),
        Trial::Store | Trial::Hear => None,
    });
    let mut trials = stream::iter(trials).buffer_unordered(AT_ONCE);
    let mut denied = Vec::new();
    while let Some(tried) = trials.next().await {
        denied.extend(tried?);
    }
    round_trip(link).await?;
    sleep(TOLD_WITHIN).await;
    drop(subscriptions);
    let silent = heard.chain(stored);
    let silent = silent.filter(|need| link.denied(&need.subject, began).is_some());
    denied.extend(silent.cloned());
    denied.sort_by(|one, other| one.subject.cmp(&other.subject));
    Ok(denied)
}

/// The need, when asking is denied; any answer says that it is not, also that nobody is there.
async fn ask(link: &Link, need: &Need, body: &'static [u8]) -> Result<Option<Need>, BrokerFault> {
    let body = Bytes::from_static(body);
    match link.request(&need.subject, None, body, CALL_BOUND).await {
        Ok(_) | Err(Unanswered::NoResponders) => Ok(None),
        Err(Unanswered::Denied(_)) => Ok(Some(need.clone())),
        Err(unanswered) => Err(unanswered.into_fault(OPERATION)),
    }
}

/// Publishes what no stream stores, and asks for no answer: where there is no stream yet but
/// somebody who listens, nobody would give one.
async fn publish(link: &Link, need: &Need) -> Result<(), BrokerFault> {
    let mut headers = HeaderMap::new();
    headers.insert(NO_STREAM.0, NO_STREAM.1);
    let sent = link.publish(&need.subject, Some(headers), Bytes::new(), CALL_BOUND);
    sent.await
        .map_err(|unanswered| unanswered.into_fault(OPERATION))
}

async fn subscribe(
    link: &Link,
    needs: impl Iterator<Item = &Need>,
) -> Result<Vec<Subscriber>, BrokerFault> {
    let wire = link.wire();
    let mut subscriptions = Vec::new();
    for need in needs {
        let subscribing = wire.client.subscribe(need.subject.clone());
        match timeout(CALL_BOUND, subscribing).await {
            Ok(Ok(subscription)) => subscriptions.push(subscription),
            Ok(Err(_)) | Err(_) => {
                return Err(BrokerFault::TimedOut {
                    operation: OPERATION,
                    after: CALL_BOUND,
                });
            }
        }
    }
    Ok(subscriptions)
}

/// What the server was sent before, it has seen when this returns.
async fn round_trip(link: &Link) -> Result<(), BrokerFault> {
    match api::call(link, "INFO", &Value::Null).await {
        Err(ApiFault::Unanswered(
            unanswered @ (Unanswered::TimedOut { .. } | Unanswered::Unreachable { .. }),
        )) => Err(unanswered.into_fault(OPERATION)),
        Ok(_) | Err(_) => Ok(()),
    }
}
