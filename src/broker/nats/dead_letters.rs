//! Buries dead letters.

use super::{link::Link, publish::publish, wire};
use crate::{
    broker::{BrokerFault, DeadLetter, StreamName},
    contract::Subjects,
};

/// Publishes a letter. Its message id is the message's own name, so the stream keeps the first.
pub(super) async fn bury(
    link: &Link,
    subjects: &Subjects,
    letter: &DeadLetter,
) -> Result<(), BrokerFault> {
    let subject = subjects.dead_letters(letter.target.as_ref());
    let limit = link.wire().client.max_payload();
    let (headers, body) = letter.to_record(StreamName::invoke(subjects).as_str(), limit);
    let headers = wire::to_wire(headers.iter());
    let kept = publish(link, &subject, Some(headers), body).await;
    kept.map(drop).map_err(|fault| fault.into_fault("bury"))
}
