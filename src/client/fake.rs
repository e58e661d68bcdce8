//! A broker in memory, as far as a caller sees one: what stands in the stream of results, who
//! subscribed, what was published, what is dead. It answers at once, or fails as told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Arrival, Arrivals, Exchange, Happenings, Letters, Queue};
use crate::{
    broker::{
        Asking, BrokerFault, DeadLetter, DeadLetters as _, Headers, PublishAck, ResultMessage,
        StoredMessage, StoredResult, twin::BrokerTwin,
    },
    clock::{Clock, WallTime},
    contract::{CorrelationId, PurutoName, RequestId, Subjects},
    store::RequestKey,
};

/// The one target that a worker ever served.
pub(crate) const SERVED: &str = "puruto-financial";

/// A request as it was published.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) subject: String,
    pub(crate) headers: Headers,
    pub(crate) body: Bytes,
}

#[derive(Debug, Default)]
struct State {
    stored: Vec<ResultMessage>,
    subscribers: Vec<(String, mpsc::UnboundedSender<Arrival>)>,
    published: Vec<Published>,
    announced: Vec<RequestKey>,
    publish_answers: VecDeque<Result<PublishAck, BrokerFault>>,
    on_publish: Vec<ResultMessage>,
    away: bool,
    unreadable: Option<String>,
    looks: usize,
}

/// A clone is the same broker.
#[derive(Clone, Debug)]
pub(crate) struct FakeExchange {
    state: Arc<Mutex<State>>,
    letters: BrokerTwin,
}

pub(super) fn timed_out() -> BrokerFault {
    BrokerFault::TimedOut {
        operation: "publish",
        after: Duration::from_secs(5),
    }
}

impl FakeExchange {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            state: Arc::default(),
            letters: BrokerTwin::new(clock),
        }
    }

    /// Keeps a dead letter.
    pub(super) async fn bury(&self, letter: &DeadLetter) {
        self.letters.bury(letter).await.expect("kept");
    }

    /// The sequences of the dead letters.
    pub(super) fn letters(&self) -> Vec<u64> {
        let letters = self.letters.dead_letters();
        letters.iter().map(|it| it.sequence).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panicked with it")
    }

    /// Puts a result into the stream without a word to any subscriber.
    pub(crate) fn store(&self, message: ResultMessage) {
        self.state().stored.push(message);
    }

    /// Publishes a result: stores it and tells the subscribers.
    pub(crate) fn publish(&self, message: &ResultMessage) {
        self.store(message.clone());
        let mut state = self.state();
        state.subscribers.retain(|(filter, to)| {
            !lies_under(&message.subject, filter)
                || to.send(Arrival::Result(message.clone())).is_ok()
        });
    }

    /// The worker answers while the publish is still being confirmed.
    pub(super) fn answer_on_publish(&self, message: ResultMessage) {
        self.state().on_publish.push(message);
    }

    /// How many subscriptions there are.
    pub(crate) fn subscriptions(&self) -> usize {
        self.state().subscribers.len()
    }

    /// The next publishes are not confirmed.
    pub(crate) fn go_away_for_publishes(&self, publishes: usize) {
        for _ in 0..publishes {
            self.answer_publish(Err(timed_out()));
        }
    }

    /// What the next publishes are answered, before the ordinary answer.
    pub(super) fn answer_publish(&self, answer: Result<PublishAck, BrokerFault>) {
        self.state().publish_answers.push_back(answer);
    }

    pub(crate) fn reconnect(&self) {
        for (_, to) in &self.state().subscribers {
            to.send(Arrival::Reconnected).expect("a subscriber");
        }
    }

    /// The stream cannot be read from now on.
    pub(super) fn go_away(&self) {
        self.state().away = true;
    }

    /// What stands under this subject breaks the connection of whoever reads it.
    pub(super) fn break_readers_of(&self, subject: &str) {
        self.state().unreadable = Some(subject.to_owned());
    }

    pub(crate) fn published(&self) -> Vec<Published> {
        self.state().published.clone()
    }

    pub(super) fn announced(&self) -> Vec<RequestKey> {
        self.state().announced.clone()
    }

    /// How often the stream was read.
    pub(super) fn looks(&self) -> usize {
        self.state().looks
    }

    fn look(&self, fits: impl Fn(&str) -> bool) -> Result<Vec<ResultMessage>, BrokerFault> {
        let mut state = self.state();
        state.looks += 1;
        if state.away || state.unreadable.as_deref().is_some_and(&fits) {
            return Err(timed_out());
        }
        let stored = state.stored.iter().filter(|it| fits(&it.subject));
        Ok(stored.cloned().collect())
    }
}

pub(crate) struct FakeArrivals(mpsc::UnboundedReceiver<Arrival>);

impl Arrivals for FakeArrivals {
    async fn next(&mut self) -> Arrival {
        match self.0.recv().await {
            Some(arrival) => arrival,
            None => std::future::pending().await,
        }
    }
}

impl Exchange for FakeExchange {
    type Arrivals = FakeArrivals;

    async fn subscribe(&self, chain: &CorrelationId) -> Result<FakeArrivals, BrokerFault> {
        let (to, from) = mpsc::unbounded_channel();
        let filter = Subjects::default().results_of(chain);
        self.state().subscribers.push((filter, to));
        Ok(FakeArrivals(from))
    }

    async fn listen(
        &self,
        chain: &CorrelationId,
        request: &RequestId,
    ) -> Result<FakeArrivals, BrokerFault> {
        let (to, from) = mpsc::unbounded_channel();
        let subject = Subjects::default().token(chain, request);
        self.state().subscribers.push((subject, to));
        Ok(FakeArrivals(from))
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        let found = self.look(|it| it == subject)?.pop();
        Ok(found.map(|it| StoredResult {
            headers: it.headers,
            body: it.body,
        }))
    }

    async fn find_result(&self, request: &RequestId) -> Result<Option<ResultMessage>, BrokerFault> {
        let end = format!(".{request}");
        Ok(self.look(|subject| subject.ends_with(&end))?.pop())
    }

    async fn stored_results(
        &self,
        chain: &CorrelationId,
    ) -> Result<Vec<ResultMessage>, BrokerFault> {
        let filter = Subjects::default().results_of(chain);
        self.look(|subject| lies_under(subject, &filter))
    }

    async fn target_exists(&self, target: &PurutoName) -> Result<bool, BrokerFault> {
        Ok(target.as_str() == SERVED)
    }
}

impl Asking for FakeExchange {
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        let (answer, results) = {
            let mut state = self.state();
            state.published.push(Published {
                subject: subject.to_owned(),
                headers: headers.clone(),
                body,
            });
            let sequence = state.published.len() as u64;
            let ordinary = Ok(PublishAck {
                sequence,
                duplicate: false,
            });
            let answer = state.publish_answers.pop_front().unwrap_or(ordinary);
            (answer, std::mem::take(&mut state.on_publish))
        };
        for result in results {
            self.publish(&result);
        }
        answer
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        self.state().announced.push(request.clone());
        Ok(())
    }
}

impl Happenings for FakeExchange {
    async fn hear(&self, filter: &str) -> Result<FakeArrivals, BrokerFault> {
        let (to, from) = mpsc::unbounded_channel();
        self.state().subscribers.push((filter.to_owned(), to));
        Ok(FakeArrivals(from))
    }

    async fn stored_events(&self, filter: &str) -> Result<Vec<ResultMessage>, BrokerFault> {
        self.look(|subject| lies_under(subject, filter))
    }
}

impl Queue for FakeExchange {
    async fn next_queued(
        &self,
        from: u64,
        filter: &str,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        let state = self.state();
        let mut under = (1..)
            .zip(&state.published)
            .filter(|(number, it)| *number >= from && lies_under(&it.subject, filter));
        Ok(under.next().map(|(sequence, it)| StoredMessage {
            sequence,
            subject: it.subject.as_str().into(),
            headers: Ok(it.headers.clone()),
            body: it.body.clone(),
            stored_at: WallTime::from_unix_millis(1_700_000_000_000),
        }))
    }
}

impl Letters for FakeExchange {
    async fn next_letter(
        &self,
        from: u64,
        target: Option<&PurutoName>,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        self.letters.next_dead_letter(from, target)
    }

    async fn remove_letter(&self, sequence: u64) -> Result<bool, BrokerFault> {
        self.letters.remove_dead_letter(sequence)
    }
}

/// Whether a subject lies under a filter, as a server sees it.
fn lies_under(subject: &str, filter: &str) -> bool {
    let mut subject = subject.split('.');
    for token in filter.split('.') {
        let here = subject.next();
        match token {
            ">" => return here.is_some(),
            "*" if here.is_some() => {}
            token if here == Some(token) => {}
            _ => return false,
        }
    }
    subject.next().is_none()
}
