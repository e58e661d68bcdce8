//! Publish: exactly the committed bytes, once under their subject.

use std::time::Duration;

use bytes::Bytes;
use tracing::Instrument as _;

use super::{
    Pipeline,
    admit::{Asked, Purpose},
    patience::Patience,
    receive::{Received, Turned},
    run::Ran,
    trail,
    wake::Descent,
};
use crate::{
    broker::{BrokerFault, Headers, Publishing, ResultMessage, StoredResult, WalkBroker},
    contract::{CorrelationId, ErrorCode, Header, InvocationResult, Outcome, ResultError},
    store::{Attempt, WalkStore},
    telemetry::labels::PublishOutcome,
};

/// How long a broker that does not answer is asked before the delivery goes back; a redelivery then
/// finds the result committed and publishes it.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(30);

/// A delivery whose news could not be told comes again after this, give or take half.
const BROKER_AWAY_DELAY: Duration = Duration::from_secs(2);

/// A request whose answer is settled and owed to those who wait.
#[derive(Debug)]
pub(super) struct Committed {
    received: Received,
    asked: Asked,
    answer: Answer,
}

/// Where the answer's bytes are and where they go.
#[derive(Debug)]
enum Answer {
    /// Committed now, by us.
    Fresh {
        body: Bytes,
        attempt: Attempt,
        code: Option<ErrorCode>,
        descent: Option<Descent>,
    },
    /// Committed before.
    Found(Found),
    /// A conflict: its place belongs to the request that came first, in the same chain.
    Aside { body: Bytes },
    /// A conflict in a chain of its own, whose place is free.
    Own { body: Bytes },
}

/// A result that was committed before this delivery.
#[derive(Debug)]
pub(super) struct Found {
    /// A tombstone's bytes stand only in the stream ...
    pub(super) body: Option<Bytes>,
    /// ... under the chain with which they were committed.
    pub(super) correlation: CorrelationId,
    /// The execution that they came from.
    pub(super) attempt: Attempt,
    /// What it owes its parent, if it has one.
    pub(super) descent: Option<Descent>,
}

/// A request whose answer those who wait can have.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) received: Received,
    pub(super) asked: Asked,
    /// Whether the request's record is ours to settle.
    pub(super) settles: bool,
    /// What it owes its parent, if it has one.
    pub(super) descent: Option<Descent>,
}

impl Committed {
    pub(super) fn fresh(ran: Ran, body: Bytes) -> Self {
        Self {
            answer: Answer::Fresh {
                body,
                attempt: ran.hold.attempt,
                code: ran.outcome.code(),
                // What it spent in this turn is in its record alone.
                descent: ran.hold.kin.lineage.map(|lineage| Descent {
                    lineage,
                    spent: None,
                }),
            },
            received: ran.received,
            asked: ran.asked,
        }
    }

    pub(super) const fn found(received: Received, asked: Asked, found: Found) -> Self {
        Self {
            received,
            asked,
            answer: Answer::Found(found),
        }
    }

    pub(super) fn conflict(
        received: Received,
        asked: Asked,
        error: ResultError,
        first: &CorrelationId,
    ) -> Self {
        let result = InvocationResult {
            request_id: asked.key.request.clone(),
            correlation_id: asked.correlation.clone(),
            duration: Duration::ZERO,
            outcome: Outcome::Error(error),
        };
        let body = result.to_json().into();
        let answer = if *first == asked.correlation {
            Answer::Aside { body }
        } else {
            Answer::Own { body }
        };
        Self {
            received,
            asked,
            answer,
        }
    }
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn publish(&self, committed: Committed) -> Result<Published, Turned> {
        let Committed {
            received,
            asked,
            answer,
        } = committed;
        let mut patience = Patience::new(&self.ports.chance, Some(PUBLISH_PATIENCE));
        loop {
            let span = asked.trace.publishing(&asked.correlation);
            let told = self.tell(&received, &asked, &answer).instrument(span);
            match told.await {
                Ok(()) => break,
                Err(fault) => {
                    received.served.metrics.published(PublishOutcome::Failed);
                    self.ports.broker_faulted(&fault, "publish result");
                    if !patience.wait().await {
                        let delay = self.ports.chance.around(BROKER_AWAY_DELAY, 0.5);
                        return Err(received.nak(delay));
                    }
                }
            }
        }
        let settles = matches!(answer, Answer::Fresh { .. } | Answer::Found(_));
        trail::published(&asked, settles);
        let descent = match answer {
            Answer::Fresh {
                attempt,
                code,
                descent,
                ..
            } => {
                self.ports.tell_done(&asked, attempt, code);
                descent
            }
            Answer::Found(found) => found.descent,
            // The record is another request's.
            Answer::Aside { .. } | Answer::Own { .. } => None,
        };
        Ok(Published {
            received,
            asked,
            settles,
            descent,
        })
    }

    async fn tell(
        &self,
        received: &Received,
        asked: &Asked,
        answer: &Answer,
    ) -> Result<(), BrokerFault> {
        let place = self.ports.place_of(asked);
        match answer {
            Answer::Fresh { body, attempt, .. } => {
                let headers = self.headers(asked, body, Some(*attempt));
                self.put(received, asked, message(place, headers, body))
                    .await
            }
            // The rare ways are boxed: they would make every walk's future as large as theirs.
            Answer::Found(found) => Box::pin(self.tell_again(received, asked, found)).await,
            Answer::Own { body } => {
                let headers = self.headers(asked, body, None);
                self.put(received, asked, message(place, headers, body))
                    .await
            }
            Answer::Aside { body } => {
                let headers = self.headers(asked, body, None);
                Box::pin(self.put_aside(received, asked, message(place, headers, body))).await
            }
        }
    }

    /// A redelivery of a request that is done: its news may have been told already, and whoever
    /// listens should not hear it twice.
    async fn tell_again(
        &self,
        received: &Received,
        asked: &Asked,
        found: &Found,
    ) -> Result<(), BrokerFault> {
        let place = self.ports.place_of(asked);
        let there = self.ports.broker.read_result(&place).await?;
        if there.is_some_and(|stored| answers(&stored, asked)) {
            received
                .served
                .metrics
                .published(PublishOutcome::AlreadyThere);
            return Ok(());
        }
        let first_place = self
            .ports
            .subjects
            .result(&found.correlation, &asked.key.request);
        let body = match &found.body {
            Some(body) => Some(body.clone()),
            None => self
                .ports
                .broker
                .read_result(&first_place)
                .await?
                .map(|it| it.body),
        };
        match body {
            Some(body) => {
                let headers = self.headers(asked, &body, Some(found.attempt));
                self.put(received, asked, message(place, headers, &body))
                    .await
            }
            // A tombstone is proof that it was published; the stream has let it go since.
            None => Ok(()),
        }
    }

    /// Puts a result in its place. If another message stands there it is either this result already
    /// or another request's with the same ids, whose place it then is.
    async fn put(
        &self,
        received: &Received,
        asked: &Asked,
        message: ResultMessage,
    ) -> Result<(), BrokerFault> {
        trail::publishing(asked, &message.body);
        match self.ports.broker.publish_result(&message).await? {
            Publishing::Stored => {
                received.served.metrics.published(PublishOutcome::Stored);
                self.reply(received, &message).await;
                Ok(())
            }
            Publishing::AlreadyThere => Box::pin(self.reconcile(received, asked, message)).await,
        }
    }

    async fn reconcile(
        &self,
        received: &Received,
        asked: &Asked,
        message: ResultMessage,
    ) -> Result<(), BrokerFault> {
        let metrics = &received.served.metrics;
        match self.ports.broker.read_result(&message.subject).await? {
            Some(there) if there.body == message.body => {
                metrics.published(PublishOutcome::AlreadyThere);
                Ok(())
            }
            Some(there) if answers(&there, asked) => {
                // The store was emptied in between. What was published wins.
                metrics.published(PublishOutcome::Differs);
                if let Err(fault) = self.ports.claims.correct(&asked.key, there.body).await {
                    self.ports.store_faulted(&fault, "correct");
                }
                Ok(())
            }
            Some(_) => self.put_aside(received, asked, message).await,
            // It was removed between the two calls; the next try stores it.
            None => Err(BrokerFault::Refused {
                operation: "publish result",
                reason: "a message stood under the subject and is gone".to_owned(),
                code: None,
            }),
        }
    }

    async fn put_aside(
        &self,
        received: &Received,
        asked: &Asked,
        mut message: ResultMessage,
    ) -> Result<(), BrokerFault> {
        let ids = (&asked.correlation, &asked.key.request);
        message.subject = self
            .ports
            .subjects
            .result_aside(ids.0, ids.1, asked.fingerprint);
        let outcome = match self.ports.broker.publish_result(&message).await? {
            Publishing::Stored => PublishOutcome::Stored,
            Publishing::AlreadyThere => PublishOutcome::AlreadyThere,
        };
        received.served.metrics.published(outcome);
        self.reply(received, &message).await;
        Ok(())
    }

    /// An inbox that the caller named gets the result as well. Only inboxes: a request must not
    /// make a worker publish elsewhere.
    async fn reply(&self, received: &Received, message: &ResultMessage) {
        let inbox = received.delivery.headers.get(Header::ReplyTo);
        if let Some(inbox) = inbox.filter(|it| it.starts_with("_INBOX.")) {
            self.ports.broker.reply(inbox, message).await;
        }
    }

    fn headers(&self, asked: &Asked, body: &Bytes, attempt: Option<Attempt>) -> Headers {
        let mut headers = Headers::new();
        headers.push(Header::Status, status_of(body));
        headers.push(Header::Target, asked.key.target.as_str());
        // The request itself goes with its ack.
        if let Some(Purpose { caller, action }) = &asked.purpose {
            headers.push(Header::Caller, caller.as_str());
            headers.push(Header::Action, action.as_str());
        }
        headers.push(Header::Fingerprint, &asked.fingerprint.to_string());
        headers.push(Header::Worker, &self.ports.worker);
        if let Some(attempt) = attempt {
            headers.push(Header::Attempt, &attempt.to_string());
        }
        asked.trace.inject(&mut headers);
        headers
    }
}

/// Whether a stored result is this request's: a stranger's message without our header is not.
pub(super) fn answers(stored: &StoredResult, asked: &Asked) -> bool {
    stored.headers.get(Header::Fingerprint) == Some(asked.fingerprint.to_string().as_str())
}

fn message(subject: String, headers: Headers, body: &Bytes) -> ResultMessage {
    ResultMessage {
        subject,
        headers,
        body: body.clone(),
    }
}

/// The status in committed bytes. They were printed by [`InvocationResult::to_json`], where nothing
/// but the ids stands before it, which hold no unescaped quote.
fn status_of(body: &Bytes) -> &'static str {
    let key = br#","status":""#;
    let found = body.windows(key.len()).position(|window| window == key);
    let status = found.and_then(|at| body.get(at + key.len()..));
    match status {
        Some(status) if status.starts_with(b"ok") => "ok",
        Some(_) | None => "error",
    }
}
