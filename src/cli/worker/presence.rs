//! The worker as a NATS service: found by NATS tools, and asked for results over core NATS.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{compose::Shared, fault::WorkerFault, parts};
use crate::{
    broker::{
        Headers,
        micro::{Endpoint, Service, ServiceId, WORKER_SERVICE},
        nats::{Announced, Call, Calls, NatsBroker, NatsClient},
    },
    cli::session::{FleetClient, fleet_client},
    contract::{
        ErrorCode, Header, InvocationResult, IpcKind, Outcome, PurutoName, ResultError, Subjects,
    },
    pipeline::{InFlight, Served, SessionWatch, Slots},
    policy::LivePolicies,
    worker::Presence,
};

/// Calls whose results are waited for at once; those beyond are told so.
const PENDING_MAX: usize = 1_024;

/// How long a stopping worker may take to tell those that still wait.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// What the rest of the composition hands over.
pub(super) struct Known {
    pub(super) broker: Arc<NatsBroker>,
    pub(super) caller: NatsClient,
    pub(super) policies: LivePolicies,
    pub(super) served: Vec<(Arc<Served>, Slots)>,
    pub(super) in_flight: InFlight,
    pub(super) sessions: SessionWatch,
}

/// A worker that can be found; while it is kept, whoever asks is answered.
pub(super) struct Present {
    _announced: Announced,
    calls: TaskTracker,
    closing: CancellationToken,
}

impl Present {
    /// Tells those that still wait that they wait for nothing here.
    pub(super) async fn end(self) {
        self.closing.cancel();
        self.calls.close();
        if timeout(LAST_WORDS_WITHIN, self.calls.wait()).await.is_err() {
            tracing::debug!("not everybody who waits for a result could be told of the end");
        }
    }
}

/// Begins to answer. No further calls are taken once `drain` ends.
pub(super) async fn announce(
    shared: &Shared<'_>,
    known: Known,
    drain: &CancellationToken,
) -> Result<Present, WorkerFault> {
    let subjects = &shared.config.nats.prefix;
    let Known {
        broker,
        caller,
        policies,
        served,
        in_flight,
        sessions,
    } = known;
    let (calls, closing) = (TaskTracker::new(), CancellationToken::new());
    let desk = Desk {
        client: fleet_client(
            caller.clone(),
            shared.config,
            policies,
            &shared.clock,
            &shared.chance,
        )?,
        nats: caller,
        room: Arc::new(Semaphore::new(PENDING_MAX)),
        calls: calls.clone(),
        closing: closing.clone(),
    };
    let mut endpoints = Vec::new();
    for (served, _) in &served {
        let endpoint = Endpoint::new(served.name.as_str(), subjects.rpc(&served.name));
        let endpoint = Arc::new(endpoint);
        let taken = desk.nats.calls(endpoint.subject()).await?;
        let counter = Counter {
            target: served.name.clone(),
            endpoint: Arc::clone(&endpoint),
        };
        calls.spawn(desk.clone().serve(counter, taken, drain.clone()));
        endpoints.push(endpoint);
    }
    let presence = Presence {
        worker: shared.worker.clone(),
        host: parts::host(),
        served,
        in_flight,
        sessions,
        metrics: shared.metrics.clone(),
    };
    let service = service(shared, subjects, presence, endpoints);
    let announced = broker.announce_service(service).await?;
    Ok(Present {
        _announced: announced,
        calls,
        closing,
    })
}

fn service(
    shared: &Shared<'_>,
    subjects: &Subjects,
    presence: Presence,
    endpoints: Vec<Arc<Endpoint>>,
) -> Service {
    let metadata = [("prefix", subjects.prefix()), ("worker", &shared.worker)];
    Service {
        name: WORKER_SERVICE,
        id: ServiceId::of(&shared.worker),
        version: env!("CARGO_PKG_VERSION"),
        description: "a worker of the fleet; each endpoint answers a request with its result",
        metadata: metadata
            .map(|(key, it)| (key.to_owned(), it.to_owned()))
            .into(),
        started: shared.clock.now(),
        endpoints,
        report: Box::new(move |target| {
            serde_json::to_value(presence.report(target)).unwrap_or(Value::Null)
        }),
    }
}

/// Where calls come in and results go out. A clone is the same desk.
#[derive(Clone)]
struct Desk {
    client: FleetClient,
    nats: NatsClient,
    room: Arc<Semaphore>,
    calls: TaskTracker,
    closing: CancellationToken,
}

/// One target at the desk.
#[derive(Clone)]
struct Counter {
    target: PurutoName,
    endpoint: Arc<Endpoint>,
}

impl Desk {
    async fn serve(self, counter: Counter, mut taken: Calls, drain: CancellationToken) {
        while let Some(call) = drain.run_until_cancelled(taken.next()).await {
            match Arc::clone(&self.room).try_acquire_owned() {
                Ok(room) => {
                    let answering = self.clone().relay(counter.clone(), call, room);
                    self.calls.spawn(answering);
                }
                Err(_) => self.turn_away(&counter, &call).await,
            }
        }
    }

    /// Publishes what was asked and answers with the result. The request is durable: it goes on
    /// when nobody waits here any more.
    async fn relay(self, counter: Counter, call: Call, _room: OwnedSemaphorePermit) {
        let began = Instant::now();
        let read = self
            .client
            .read_message(&counter.target, &call.headers, &call.body);
        let answered = self.closing.run_until_cancelled(self.client.relay(&read));
        let result = Box::pin(answered).await.unwrap_or_else(|| {
            let message = "the worker that waited for the result stops; the request goes on, and \
                           its result will stand under its ids";
            read.answered(ResultError::ipc(IpcKind::Internal, message))
        });
        self.answer(&counter, &call, &result, began).await;
    }

    async fn turn_away(&self, counter: &Counter, call: &Call) {
        let began = Instant::now();
        let read = self
            .client
            .read_message(&counter.target, &call.headers, &call.body);
        let message = format!(
            "this worker waits for {PENDING_MAX} results already and has not published the \
             request: try again, or publish it and subscribe to its result"
        );
        let result = read.answered(ResultError::ipc(IpcKind::Internal, message));
        self.answer(counter, call, &result, began).await;
    }

    async fn answer(
        &self,
        counter: &Counter,
        call: &Call,
        result: &InvocationResult,
        began: Instant,
    ) {
        let error = match &result.outcome {
            Outcome::Ok(_) => None,
            Outcome::Error(error) => Some(error),
        };
        let code = error.map(|error| error.code.as_str());
        counter.endpoint.answered(began.elapsed(), code);
        if let Some(reply) = call.reply.as_deref().filter(|it| is_inbox(it)) {
            let headers = headers(counter, result, error);
            self.nats
                .answer(reply, &headers, result.to_json().into())
                .await;
        }
    }
}

/// Whether an answer may go there: who asks chooses the subject, and must not have us publish what
/// they could not.
fn is_inbox(reply: &str) -> bool {
    reply.starts_with("_INBOX.")
}

/// What NATS services say beside an answer: clients of theirs find an error by its headers.
fn headers(counter: &Counter, result: &InvocationResult, error: Option<&ResultError>) -> Headers {
    let mut headers = Headers::new();
    headers.push(Header::Status, result.outcome.status());
    headers.push(Header::Target, counter.target.as_str());
    if let Some(error) = error {
        headers.push_named("Nats-Service-Error", error.code.as_str());
        headers.push_named("Nats-Service-Error-Code", service_code(error));
    }
    headers
}

/// The error as HTTP would have it, as NATS services do.
fn service_code(error: &ResultError) -> &'static str {
    match error.code {
        ErrorCode::TargetNotFound => "404",
        ErrorCode::Denied => "403",
        ErrorCode::Timeout => "504",
        ErrorCode::Cancelled => "499",
        ErrorCode::InvalidResponse => "502",
        ErrorCode::BudgetExhausted => "429",
        ErrorCode::IpcError if error.kind() == Some(IpcKind::InvalidRequest.as_str()) => "400",
        ErrorCode::IpcError => "500",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_an_inbox_and_nowhere_else() {
        assert!(is_inbox("_INBOX.abc.1"));
        for elsewhere in [
            "puruto.result.c.r",
            "puruto.invoke.t",
            "$JS.API.STREAM.PURGE.S",
        ] {
            assert!(!is_inbox(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn a_client_of_services_sees_an_error_in_the_headers() {
        let counter = Counter {
            target: "t".parse().unwrap(),
            endpoint: Arc::new(Endpoint::new("t", "puruto.rpc.t")),
        };
        let error = ResultError::invalid_request(&[]);
        let result = InvocationResult {
            request_id: "r".parse().unwrap(),
            correlation_id: "c".parse().unwrap(),
            duration: Duration::ZERO,
            outcome: Outcome::Error(error.clone()),
        };
        let headers = headers(&counter, &result, Some(&error));
        assert_eq!(headers.get(Header::Status), Some("error"));
        assert_eq!(headers.get_named("Nats-Service-Error-Code"), Some("400"));
    }
}
