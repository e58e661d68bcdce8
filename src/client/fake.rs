//! A broker in memory, as far as a caller sees one: what stands in the stream of results, who
//! subscribed, what was published. It answers at once, or fails as told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Arrival, Arrivals, Exchange, SequencedResult};
use crate::{
    broker::{BrokerFault, Headers, PublishAck, ResultMessage, StoredResult},
    store::RequestKey,
};

/// A request as it was published.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) subject: String,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
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
    looks: usize,
}

/// A clone is the same broker.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeExchange(Arc<Mutex<State>>);

pub(super) fn timed_out() -> BrokerFault {
    BrokerFault::TimedOut {
        operation: "publish",
        after: Duration::from_secs(5),
    }
}

impl FakeExchange {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panicked with it")
    }

    /// Puts a result into the stream without a word to any subscriber.
    pub(super) fn store(&self, message: ResultMessage) {
        self.state().stored.push(message);
    }

    /// Publishes a result: stores it and tells the subscribers.
    pub(super) fn publish(&self, message: &ResultMessage) {
        self.store(message.clone());
        let mut state = self.state();
        let hears = |filter: &str| message.subject.starts_with(filter.trim_end_matches('>'));
        state.subscribers.retain(|(filter, to)| {
            !hears(filter) || to.send(Arrival::Result(message.clone())).is_ok()
        });
    }

    /// The worker answers while the publish is still being confirmed.
    pub(super) fn answer_on_publish(&self, message: ResultMessage) {
        self.state().on_publish.push(message);
    }

    /// What the next publishes are answered, before the ordinary answer.
    pub(super) fn answer_publish(&self, answer: Result<PublishAck, BrokerFault>) {
        self.state().publish_answers.push_back(answer);
    }

    pub(super) fn reconnect(&self) {
        for (_, to) in &self.state().subscribers {
            to.send(Arrival::Reconnected).expect("a subscriber");
        }
    }

    /// The stream cannot be read from now on.
    pub(super) fn go_away(&self) {
        self.state().away = true;
    }

    pub(super) fn published(&self) -> Vec<Published> {
        self.state().published.clone()
    }

    pub(super) fn announced(&self) -> Vec<RequestKey> {
        self.state().announced.clone()
    }

    /// How often the stream was read.
    pub(super) fn looks(&self) -> usize {
        self.state().looks
    }

    fn find(
        &self,
        matches: impl Fn(u64, &ResultMessage) -> bool,
    ) -> Result<Option<SequencedResult>, BrokerFault> {
        let mut state = self.state();
        state.looks += 1;
        if state.away {
            return Err(timed_out());
        }
        let numbered = (1..).zip(&state.stored);
        let mut found = numbered.filter(|(sequence, it)| matches(*sequence, it));
        Ok(found.next().map(|(sequence, message)| SequencedResult {
            sequence,
            message: message.clone(),
        }))
    }
}

pub(super) struct FakeArrivals(mpsc::UnboundedReceiver<Arrival>);

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

    async fn subscribe(&self, subjects: &str) -> Result<FakeArrivals, BrokerFault> {
        let (to, from) = mpsc::unbounded_channel();
        self.state().subscribers.push((subjects.to_owned(), to));
        Ok(FakeArrivals(from))
    }

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

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        let found = self.find(|_, it| it.subject == subject)?;
        Ok(found.map(|it| StoredResult {
            headers: it.message.headers,
            body: it.message.body,
        }))
    }

    async fn next_result(
        &self,
        subjects: &str,
        after: u64,
    ) -> Result<Option<SequencedResult>, BrokerFault> {
        self.find(|sequence, it| sequence > after && fits(subjects, &it.subject))
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        self.state().announced.push(request.clone());
        Ok(())
    }
}

/// Whether a subject fits a filter, as the broker has it.
fn fits(filter: &str, subject: &str) -> bool {
    let (mut filter, mut subject) = (filter.split('.'), subject.split('.'));
    loop {
        match (filter.next(), subject.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(wanted), Some(token)) if wanted == token => {}
            _ => return false,
        }
    }
}
