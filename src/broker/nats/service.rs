//! Services: answers for one of this process, and asks for those of others.
//!
//! Not by the client library's service: its statistics lack the metadata, and it works out the
//! numbers under a lock that endpoints need.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{super::BrokerFault, api::CALL_BOUND, link::Link, subscription::Subscription};
use crate::broker::micro::{Service, Stats, Verb};

const LIST: &str = "list services";

/// How long the services together may take to answer.
const ALL_WITHIN: Duration = Duration::from_secs(2);

/// Nobody else will answer when nobody has for this long.
const QUIET: Duration = Duration::from_millis(300);

/// Services beyond so many are not listed.
const SERVICES_MAX: usize = 10_000;

/// A service that answers until this is dropped.
#[derive(Debug)]
#[must_use = "the service answers until this is dropped"]
pub struct Announced {
    _answering: JoinSet<()>,
}

/// Begins to answer for `service`.
pub(super) async fn announce(link: &Arc<Link>, service: Service) -> Result<Announced, BrokerFault> {
    let service = Arc::new(service);
    let mut answering = JoinSet::new();
    for (verb, subject) in service.subjects() {
        let asked = Subscription::open(link, subject).await?;
        answering.spawn(answer(Arc::clone(link), Arc::clone(&service), verb, asked));
    }
    Ok(Announced {
        _answering: answering,
    })
}

async fn answer(link: Arc<Link>, service: Arc<Service>, verb: Verb, mut asked: Subscription) {
    loop {
        // What was missed while there was no connection is asked again by whoever needs it.
        let Some(reply) = asked.next().await.and_then(|message| message.reply) else {
            continue;
        };
        let body = service.answer(verb).to_string();
        let sent = link.publish(&reply, None, body.into(), CALL_BOUND).await;
        if let Err(unanswered) = sent {
            let fault = unanswered.into_fault("answer for the service");
            tracing::debug!(%fault, "a question about the service was not answered");
        }
    }
}

/// The statistics of every service of this name that answers in time, by id. Where there is none
/// the server says so: silence is a fault.
pub(super) async fn stats_of(link: &Link, name: &str) -> Result<Vec<Stats>, BrokerFault> {
    let inbox = link.new_inbox();
    let mut answers = Subscription::open(link, inbox.clone()).await?;
    let subject = Verb::Stats.subject(name);
    let asked = link.publish_for(&subject, &inbox, CALL_BOUND).await;
    asked.map_err(|unanswered| unanswered.into_fault(LIST))?;
    let until = Instant::now() + ALL_WITHIN;
    let (mut found, mut seen) = (Vec::<Stats>::new(), HashSet::new());
    let mut nobody_is_there = false;
    while found.len() < SERVICES_MAX {
        let quiet_at = Instant::now() + QUIET;
        // The first one may be slow.
        let patience = if found.is_empty() {
            until
        } else {
            quiet_at.min(until)
        };
        let Ok(message) = timeout_at(patience, answers.next()).await else {
            break;
        };
        match message {
            Some(message) if message.status == Some(async_nats::StatusCode::NO_RESPONDERS) => {
                nobody_is_there = true;
                break;
            }
            Some(message) => {
                let stats = serde_json::from_slice::<Stats>(&message.payload);
                found.extend(stats.ok().filter(|it| seen.insert(it.id.clone())));
            }
            // A broken connection: those that answered are told of.
            None => break,
        }
    }
    if found.is_empty() && !nobody_is_there {
        return Err(BrokerFault::TimedOut {
            operation: LIST,
            after: ALL_WITHIN,
        });
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(found)
}
