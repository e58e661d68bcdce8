//! A replay: the request of a dead letter as a new attempt.
//!
//! A request that has no result is published again as it was. A result never changes, so one that
//! was answered runs again only under an id of its own, in the same chain: without being asked twice
//! where the answer was that it is poisoned, else on demand. Id and message id are functions of the
//! letter: however often its replay is sent, it runs once.

use bytes::Bytes;

use super::super::{Client, ClientFault, Exchange, Letters, Standing};
use crate::{
    broker::{BuriedLetter, DeadReason, HeaderFault, Headers, Missing, StreamName},
    contract::{
        CorrelationId, Draft, Header, InvocationRequest, InvocationResult, IpcKind, MintedIds,
        Outcome, PurutoName, RequestId,
    },
    store::Records,
};

/// Between a request's id and the sequence of the letter that is replayed.
const MARK: &str = "-replay-";

/// Headers of this beginning command the broker.
const FOR_THE_BROKER: &str = "nats-";

/// How much a replay is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Where there is no doubt that it should be.
    Usual,
    /// Also where the request was answered or may still be.
    Forced,
}

/// A letter's request, ready to be published again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The letter's sequence.
    pub sequence: u64,
    /// Who is asked.
    pub target: PurutoName,
    /// The chain.
    pub correlation: CorrelationId,
    /// The request as it was.
    pub original: RequestId,
    /// The request as it will be.
    pub request: RequestId,
    subject: Box<str>,
    headers: Headers,
    body: Bytes,
}

/// Why a letter is not replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The message was too large for its letter.
    #[error("its letter does not hold the whole message")]
    Incomplete,
    /// A worker could read it no better than before.
    #[error("{0}: no worker could read it")]
    UnreadableHeaders(HeaderFault),
    /// It was published where no worker looks.
    #[error("it was published under {0:?}, which is the subject of no target")]
    ForeignSubject(Box<str>),
    /// A worker would answer it as it did before.
    #[error("it is no request: {0}")]
    NoRequest(String),
    /// It has a result.
    #[error(
        "request {request} has its result: {how}; --force runs it again, under an id of its own"
    )]
    Answered {
        /// The request.
        request: RequestId,
        /// What the result says, or that it is no longer kept.
        how: String,
    },
    /// It will have a result.
    #[error(
        "request {request} is not done: {how}; wait for its result, or --force runs it beside that, \
         under an id of its own"
    )]
    UnderWay {
        /// The request.
        request: RequestId,
        /// Where it stands.
        how: &'static str,
    },
}

/// Under which id a request runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Same,
    Fresh,
}

impl<E: Exchange + Letters, R: Records> Client<E, R> {
    /// What replaying a letter would publish, or why it is not replayed.
    ///
    /// # Errors
    /// Broker or store did not answer, or what stands at the result's place is no result.
    pub async fn replay_of(
        &self,
        buried: &BuriedLetter,
        demand: Demand,
    ) -> Result<Result<Replay, Refusal>, ClientFault> {
        let readable = match self.readable(buried) {
            Ok(readable) => readable,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let id = &readable.request.request_id;
        let mut known = self.status(id, Some(&readable.target)).await?;
        let standing = known.pop().map(|it| it.standing);
        let identity = judge(buried.letter.reason, id, standing.as_ref());
        Ok(match (identity, demand) {
            (Ok(identity), _) => Ok(self.replayed_as(buried, readable, identity)),
            (Err(_), Demand::Forced) => Ok(self.replayed_as(buried, readable, Identity::Fresh)),
            (Err(refusal), Demand::Usual) => Err(refusal),
        })
    }

    /// Publishes it, and removes its letter once the broker has it. Doing so again does no harm.
    ///
    /// # Errors
    /// The broker refused, or did not confirm: then the letter is still there, and the request may
    /// be published.
    pub async fn replay(&self, replay: &Replay) -> Result<(), ClientFault> {
        let body = replay.body.clone();
        self.publish_surely(&replay.subject, &replay.headers, body)
            .await?;
        self.remove_letter(replay.sequence).await?;
        Ok(())
    }

    fn readable<'l>(&self, buried: &'l BuriedLetter) -> Result<Readable<'l>, Refusal> {
        let subjects = &self.settings.subjects;
        let message = &buried.letter.message;
        if buried.missing != Missing::Nothing {
            return Err(Refusal::Incomplete);
        }
        let headers = message.headers.as_ref();
        let headers = headers.map_err(|it| Refusal::UnreadableHeaders(it.fault))?;
        let Some((target, _)) = subjects.parse_invoke(&message.subject) else {
            return Err(Refusal::ForeignSubject(message.subject.clone()));
        };
        let draft = Draft::parse(&message.body).map_err(|rejected| {
            let violation = rejected.violations.first().map(ToString::to_string);
            Refusal::NoRequest(violation.unwrap_or_default())
        })?;
        let is_named = draft.request_id.is_some() && draft.correlation_id.is_some();
        let stored_at = message.stored_at.unix_millis();
        let stream = StreamName::invoke(subjects);
        let minted = MintedIds::of_message(stream.as_str(), message.sequence, stored_at);
        Ok(Readable {
            headers,
            target,
            is_named,
            request: draft.complete(minted),
        })
    }

    fn replayed_as(
        &self,
        buried: &BuriedLetter,
        readable: Readable<'_>,
        identity: Identity,
    ) -> Replay {
        let Readable {
            headers,
            target,
            is_named,
            mut request,
        } = readable;
        let message = &buried.letter.message;
        let original = request.request_id.clone();
        if identity == Identity::Fresh {
            request.request_id = fresh_id(&original, buried.sequence);
        }
        let body = if is_named && identity == Identity::Same {
            message.body.clone()
        } else {
            request.to_json().into()
        };
        let stream = StreamName::dead_letters(&self.settings.subjects);
        Replay {
            sequence: buried.sequence,
            target,
            correlation: request.correlation_id,
            original,
            request: request.request_id,
            subject: message.subject.clone(),
            headers: headers_of(headers, &message_id(stream.as_str(), buried)),
            body,
        }
    }
}

/// What a worker can read of a letter's message.
struct Readable<'l> {
    headers: &'l Headers,
    target: PurutoName,
    /// Whether the ids are its author's, and not made of where the message lay.
    is_named: bool,
    request: InvocationRequest,
}

/// Under which id the request runs again, by where it stands.
fn judge(
    reason: DeadReason,
    request: &RequestId,
    standing: Option<&Standing>,
) -> Result<Identity, Refusal> {
    let under_way = |how| {
        let request = request.clone();
        Err(Refusal::UnderWay { request, how })
    };
    let answered = |how| {
        let request = request.clone();
        Err(Refusal::Answered { request, how })
    };
    match standing {
        // Should somebody answer it all the same, the two are the same request.
        None => Ok(Identity::Same),
        Some(Standing::Done(Some(result))) if is_poisoned(result) => Ok(Identity::Fresh),
        Some(Standing::Done(Some(result))) => answered(told(result)),
        Some(Standing::Done(None)) => answered("it is no longer kept".to_owned()),
        Some(Standing::Flagged) => under_way("it ends as cancelled when a worker takes it"),
        Some(Standing::Claimed {
            owner_alive: true, ..
        }) => under_way("a worker runs it"),
        Some(Standing::Intended) => under_way("it is written down and about to be asked"),
        Some(Standing::Waiting { .. }) => under_way("it waits for others"),
        Some(Standing::Claimed { .. } | Standing::Released) => match reason {
            // Its message is still there until it is answered.
            DeadReason::Poisoned => under_way("it waits for a worker that answers it"),
            DeadReason::Unreadable | DeadReason::Malformed => Ok(Identity::Same),
        },
    }
}

fn is_poisoned(result: &InvocationResult) -> bool {
    match &result.outcome {
        Outcome::Ok(_) => false,
        Outcome::Error(error) => error.kind() == Some(IpcKind::Poisoned.as_str()),
    }
}

fn told(result: &InvocationResult) -> String {
    match &result.outcome {
        Outcome::Ok(_) => "ok".to_owned(),
        Outcome::Error(error) => format!("error {}", error.code.as_str()),
    }
}

/// `<id>-replay-<sequence>`, the id without the mark of an earlier replay, and cut where the whole
/// would be too long.
fn fresh_id(original: &RequestId, sequence: u64) -> RequestId {
    let mark = format!("{MARK}{sequence}");
    let base = match original.as_str().rsplit_once(MARK) {
        Some((base, number)) if number.bytes().all(|it| it.is_ascii_digit()) => base,
        Some(_) | None => original.as_str(),
    };
    RequestId::marked(base, &mark).expect("an id with a short mark behind it is an id")
}

/// Names the replay of a letter for good: a stream that was made anew counts from 1 again.
fn message_id(stream: &str, buried: &BuriedLetter) -> String {
    let buried_at = buried.buried_at.unix_millis();
    format!("replay.{stream}.{}.{buried_at}", buried.sequence)
}

/// The headers as they were, but for those that commanded the broker, and for a deadline, which is
/// over: the replay has the request's own time-out from now on.
fn headers_of(original: &Headers, message_id: &str) -> Headers {
    let mut headers = Headers::new();
    headers.push(Header::MessageId, message_id);
    let deadline = Header::Deadline.as_str();
    for (name, value) in original.iter() {
        let commands = name.to_ascii_lowercase().starts_with(FOR_THE_BROKER);
        if !commands && name != deadline {
            headers.push_named(name, value);
        }
    }
    headers
}
