//! The callers' side of a run: their connections, and the requests that wait for a result.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::sleep;

use super::{
    asks::Ask,
    errand::Foreseen,
    history::{At, Digest, Event},
    recorder::Recorder,
};
use crate::{
    broker::{
        BrokerFault, StoredResult,
        nats::{NatsClient, NatsOptions, ResultSubscription},
    },
    clock::{Chance, Clock},
    contract::{InvocationResult, RequestId, Subjects},
    dev::pair::Pair,
    store::{
        StoreFault,
        redis::{RedisOptions, RedisStore},
    },
};

/// Between two tries to subscribe.
const AGAIN: Duration = Duration::from_millis(200);

/// Where callers stand. They reach the servers directly, not through a line that is cut.
pub(super) struct Desk {
    pub(super) nats: NatsClient,
    pub(super) store: RedisStore,
    pub(super) recorder: Recorder,
    pub(super) clock: Clock,
    pub(super) subjects: Subjects,
    /// Accepted requests and the places of their results, and whether one was heard.
    asked: Mutex<BTreeMap<RequestId, Asked>>,
    /// Those that may be delegated because of them, and the places of their results.
    foreseen: Mutex<BTreeMap<RequestId, String>>,
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) place: String,
    pub(super) heard: bool,
}

/// A server could not be connected to.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeskFault {
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    #[error(transparent)]
    Store(#[from] StoreFault),
}

impl Desk {
    pub(super) async fn open(
        servers: &Pair,
        recorder: Recorder,
        clock: Clock,
        chance: &Chance,
    ) -> Result<Arc<Self>, DeskFault> {
        let mut options = NatsOptions::new(servers.nats.url(), "chaos", "chaos");
        options.chance = chance.clone();
        let url = servers.redis.url().parse();
        let url = url.map_err(|error| StoreFault::Unsuitable(format!("redis: {error}")))?;
        Ok(Arc::new(Self {
            nats: Box::pin(NatsClient::connect(options)).await?,
            store: RedisStore::connect(RedisOptions::new(url), chance.clone()).await?,
            recorder,
            clock,
            subjects: Subjects::default(),
            asked: Mutex::default(),
            foreseen: Mutex::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RequestId, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The broker has confirmed that it stored a request.
    pub(super) fn accepted(&self, ask: &Ask, sent: At, sequence: u64) {
        let request = ask.request.clone();
        self.recorder.note(Event::Accepted {
            request: request.clone(),
            sent,
            within: ask.within(),
            expected: ask.expected(),
            sequence,
        });
        for foreseen in ask.foresee() {
            self.foresee(ask, foreseen);
        }
        let place = self.subjects.result(&ask.correlation, &request);
        // Its result may have been heard before the confirmation came.
        self.lock().entry(request).or_insert(Asked {
            place,
            heard: false,
        });
    }

    fn foresee(&self, ask: &Ask, foreseen: Foreseen) {
        let Foreseen {
            request,
            parent,
            expected,
        } = foreseen;
        let place = self.subjects.result(&ask.correlation, &request);
        self.recorder.note(Event::Foreseen {
            request: request.clone(),
            parent,
            expected,
        });
        let mut all = self.foreseen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(request, place);
    }

    /// Requests that may have been delegated, with the places of their results.
    pub(super) fn foreseen(&self) -> Vec<(RequestId, String)> {
        let all = self.foreseen.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.iter();
        all.map(|(request, place)| (request.clone(), place.clone()))
            .collect()
    }

    /// Every accepted request.
    pub(super) fn asked(&self) -> Vec<(RequestId, Asked)> {
        let asked = self.lock();
        asked
            .iter()
            .map(|(request, asked)| (request.clone(), asked.clone()))
            .collect()
    }

    /// Notes that a result was found where it has to be.
    pub(super) fn found(&self, request: &RequestId) {
        if let Some(asked) = self.lock().get_mut(request) {
            asked.heard = true;
        }
    }

    /// Hears results until the run ends.
    pub(super) async fn listen(&self) {
        loop {
            match self.nats.all_results().await {
                Ok(results) => self.hear(results).await,
                Err(_) => sleep(AGAIN).await,
            }
        }
    }

    async fn hear(&self, mut results: ResultSubscription) {
        loop {
            // What was missed stands in the stream, and is read at the end.
            if let Some((subject, stored)) = results.next().await {
                self.heard(&subject, &stored);
            }
        }
    }

    fn heard(&self, subject: &str, stored: &StoredResult) {
        let Ok(result) = serde_json::from_slice::<InvocationResult>(&stored.body) else {
            return;
        };
        let (correlation, request) = (&result.correlation_id, &result.request_id);
        // An answer to a contradiction stands elsewhere.
        if self.subjects.result(correlation, request) != subject {
            return;
        }
        self.recorder.note(Event::Heard {
            request: request.clone(),
            digest: Digest::of(&stored.body),
        });
        let mut asked = self.lock();
        let entry = asked.entry(request.clone()).or_insert_with(|| Asked {
            place: subject.to_owned(),
            heard: false,
        });
        entry.heard = true;
    }
}
