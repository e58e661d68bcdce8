//! Finds what broke the pull connection and removes it, and finds what was lost behind it.
//!
//! A message that the client library cannot parse ends the connection. To the broker it is
//! delivered, and so is whatever came behind it; the lane has seen none of that. So all that was
//! delivered beyond what the lane has seen is looked at by management calls, on another
//! connection. What cannot be read is buried and removed by its sequence. What can be read goes to
//! the lane as found: it may be in another worker's hands, and only its claim can tell.
//!
//! Never: a message removed without its dead letter; a search without a bound.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::{acks, api, dead_letters, incident::Incident, stored},
    LaneLinks,
    seen::Seen,
};
use crate::{
    broker::{
        BrokerFault, ConsumerName, DeadLetter, DeadReason, Delivery, StoredMessage, StreamName,
        UnreadableHeaders, ack_subject::AckSubject,
    },
    contract::{Draft, Lane, PurutoName, Subjects},
    store::AckToken,
};

/// How long the broker may take to say how far it has delivered: the lane waits for it.
const STANDING_WITHIN: Duration = Duration::from_secs(2);

/// How long a search may take.
const SEARCH_WITHIN: Duration = Duration::from_secs(10);

/// Messages that one search looks at, at most.
const LOOKS_MAX: usize = 512;

/// Messages that are handed over at most where nothing was found that explains the break: more
/// than were owed, since those of other workers stand among them.
const UNSURE_MAX: usize = 128;

/// Before each further look.
const LATER_LOOKS: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(1)];

/// Sequences that are looked through first, the highest ones; then twice as many, and so on.
const FIRST_STRETCH: u64 = 64;

/// What a search needs to know of its lane.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) target: PurutoName,
    pub(super) lane: Lane,
    pub(super) links: LaneLinks,
    /// Where what was found goes.
    pub(super) found: mpsc::UnboundedSender<Delivery>,
}

/// How far a consumer has delivered.
#[derive(Debug, Deserialize)]
pub(super) struct Standing {
    delivered: Position,
    ack_floor: Position,
    num_redelivered: u64,
    num_pending: u64,
}

#[derive(Debug, Deserialize)]
struct Position {
    consumer_seq: u64,
    stream_seq: u64,
}

/// What was found in a stretch of sequences.
#[derive(Debug, Default)]
struct Looked {
    /// Readable messages, behind the first unreadable one if there was one.
    readable: Vec<u64>,
    removed: bool,
}

impl Search {
    /// How far the broker has delivered; nothing when it does not say so in time.
    pub(super) async fn standing(&self) -> Option<Standing> {
        let (stream, consumer) = (self.stream(), self.consumer());
        let call = format!("CONSUMER.INFO.{}.{}", stream.as_str(), consumer.as_str());
        let asked = api::call_for(&self.links.control, &call, &Value::Null);
        timeout(STANDING_WITHIN, asked).await.ok()?.ok()
    }

    /// Searches what was delivered and not seen, and looks again after a while: until the broker
    /// has noticed that the connection is gone, it goes on delivering to it.
    pub(super) async fn run(self, seen: Seen, standing: Standing) {
        self.search_in_time(&seen, &standing, LOOKS_MAX).await;
        for pause in LATER_LOOKS {
            sleep(pause).await;
            if let Some(standing) = self.standing().await {
                self.search_in_time(&seen, &standing, UNSURE_MAX).await;
            }
        }
    }

    async fn search_in_time(&self, seen: &Seen, standing: &Standing, looks: usize) {
        match timeout(SEARCH_WITHIN, self.search(seen, standing, looks)).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                tracing::warn!(target = %self.target, %fault, "a broken pull was not searched");
            }
            Err(_) => {
                tracing::warn!(target = %self.target, "a broken pull was not searched in time")
            }
        }
    }

    async fn search(
        &self,
        seen: &Seen,
        standing: &Standing,
        mut looks: usize,
    ) -> Result<(), BrokerFault> {
        let floor = seen.floor().max(standing.ack_floor.stream_seq);
        let last = standing.delivered.stream_seq;
        let Looked { readable, removed } = self.look(floor, last, &mut looks).await?;
        // What was delivered before may stand anywhere above the ack floor.
        if !removed && standing.num_redelivered > 0 {
            self.look(standing.ack_floor.stream_seq, floor, &mut looks)
                .await?;
        }
        let most = match (removed, seen.owed()) {
            (true, _) => LOOKS_MAX,
            (false, 0) => 0,
            // Another worker's search may have removed what broke this connection.
            (false, owed) => owed.max(UNSURE_MAX),
        };
        let unseen = readable.into_iter().filter(|it| !seen.holds(*it));
        let unseen: Vec<_> = unseen.collect();
        for &sequence in unseen.iter().rev().take(most).rev() {
            self.hand_over(sequence, standing).await?;
        }
        Ok(())
    }

    /// Looks at what lies above `floor` up to `last`, from above, until something was removed.
    async fn look(&self, floor: u64, last: u64, looks: &mut usize) -> Result<Looked, BrokerFault> {
        let mut all = Looked::default();
        let (mut until, mut width) = (last, FIRST_STRETCH);
        while until > floor && *looks > 0 && !all.removed {
            let above = until.saturating_sub(width).max(floor);
            let mut stretch = self.look_through(above, until, looks).await?;
            stretch.readable.append(&mut all.readable);
            all = stretch;
            (until, width) = (above, width.saturating_mul(2));
        }
        Ok(all)
    }

    async fn look_through(
        &self,
        above: u64,
        until: u64,
        looks: &mut usize,
    ) -> Result<Looked, BrokerFault> {
        let mut looked = Looked::default();
        let (stream, filter) = (
            self.stream(),
            self.subjects().invoke(&self.target, self.lane),
        );
        let mut above = above;
        while above < until && *looks > 0 {
            *looks -= 1;
            let next = stored::next(&self.links.control, &stream, above + 1, &filter).await?;
            let Some(message) = next.filter(|it| it.sequence <= until) else {
                break;
            };
            above = message.sequence;
            match &message.headers {
                Ok(_) => looked.readable.push(message.sequence),
                Err(unreadable) => {
                    if !looked.removed {
                        looked.readable.clear();
                    }
                    looked.removed = true;
                    self.remove(&message, unreadable).await?;
                }
            }
        }
        Ok(looked)
    }

    /// Removes a message that came and cannot be read.
    pub(super) async fn remove_one(self, sequence: u64) {
        let removing = async {
            let stream = self.stream();
            let message = stored::read(&self.links.control, &stream, sequence).await?;
            match &message {
                Some(
                    message @ StoredMessage {
                        headers: Err(why), ..
                    },
                ) => self.remove(message, why).await,
                Some(_) | None => Ok(()),
            }
        };
        if let Err(fault) = removing.await {
            tracing::warn!(sequence, %fault, "an unreadable message is still there");
        }
    }

    /// First the letter: whoever dies in between leaves a message that is buried again, once.
    async fn remove(
        &self,
        message: &StoredMessage,
        unreadable: &UnreadableHeaders,
    ) -> Result<(), BrokerFault> {
        let letter = self.letter(message, unreadable);
        dead_letters::bury(&self.links.letters, self.subjects(), &letter).await?;
        let sequence = message.sequence;
        if stored::remove(&self.links.control, &self.stream(), sequence).await? {
            let fault = unreadable.fault;
            let incident = Incident::Unreadable { sequence, fault };
            self.links.pull.happened(&incident);
        }
        Ok(())
    }

    /// Its body may be a request all the same, with ids that its author knows.
    fn letter(&self, message: &StoredMessage, unreadable: &UnreadableHeaders) -> DeadLetter {
        let (request, correlation) = match Draft::parse(&message.body) {
            Ok(draft) => (draft.request_id, draft.correlation_id),
            Err(rejected) => (rejected.request_id, rejected.correlation_id),
        };
        DeadLetter {
            reason: DeadReason::Unreadable,
            detail: unreadable.fault.to_string().into(),
            target: Some(self.target.clone()),
            attempts: None,
            last_worker: Some(self.links.pull.options().worker.as_str().into()),
            request,
            correlation,
            message: message.clone(),
        }
    }

    /// Read once more: whoever had it may have finished it meanwhile.
    async fn hand_over(&self, sequence: u64, standing: &Standing) -> Result<(), BrokerFault> {
        let message = stored::read(&self.links.control, &self.stream(), sequence).await?;
        let delivery = message.and_then(|it| it.into_delivery(self.lane).ok());
        let Some(mut delivery) = delivery else {
            return Ok(());
        };
        delivery.delivered = Delivery::FOUND;
        delivery.ack = self.token(&delivery, standing);
        if let Err(refused) = self.found.send(delivery) {
            acks::nak(&self.links.settle, &refused.0.ack, Duration::ZERO).await;
        }
        Ok(())
    }

    /// The broker tells deliveries apart by their sequence in the stream alone; the consumer's own
    /// has to be one that it has reached.
    fn token(&self, delivery: &Delivery, standing: &Standing) -> AckToken {
        let (stream, consumer) = (self.stream(), self.consumer());
        let ack = AckSubject {
            stream: stream.as_str(),
            consumer: consumer.as_str(),
            delivered: 1,
            sequence: delivery.sequence,
            consumer_sequence: standing.delivered.consumer_seq,
            stored_at: delivery.stored_at,
            pending: standing.num_pending,
        };
        AckToken::new(ack.to_string())
    }

    fn subjects(&self) -> &Subjects {
        &self.links.pull.options().subjects
    }

    fn stream(&self) -> StreamName {
        StreamName::invoke(self.subjects())
    }

    fn consumer(&self) -> ConsumerName {
        ConsumerName::of(&self.target, self.lane)
    }
}
