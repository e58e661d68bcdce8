//! A caller's side of the broker: publish a request, get its result, announce a cancel.

use std::sync::Arc;

use serde_json::Value;

use super::{
    api::{self, code},
    link::Link,
    options::NatsOptions,
    results::{self, check_pattern},
    service, stored,
    subscription::Subscription,
    wire,
};
use crate::{
    broker::{
        BrokerFault, StoredMessage, StoredResult, SubjectCount, micro,
        names::{ConsumerName, StreamName},
    },
    contract::{CorrelationId, Lane, PurutoName, RequestId, Subjects},
};

/// What a broker is asked about to see whether it answers.
const READINESS: &str = "readiness";

/// A caller's one connection. A clone shares it.
#[derive(Clone, Debug)]
pub struct NatsClient {
    link: Arc<Link>,
    subjects: Subjects,
    requests: StreamName,
    results: StreamName,
}

impl NatsClient {
    /// Connects.
    ///
    /// # Errors
    /// [`BrokerFault::Unreachable`].
    pub async fn connect(options: NatsOptions) -> Result<Self, BrokerFault> {
        let options = Arc::new(options);
        Ok(Self {
            link: Arc::new(Link::open(&options, "client").await?),
            requests: StreamName::invoke(&options.subjects),
            results: StreamName::results(&options.subjects),
            subjects: options.subjects.clone(),
        })
    }

    /// Whether any worker ever served the target.
    ///
    /// # Errors
    /// The broker did not answer in time, or there is no stream of requests at all.
    pub async fn target_exists(&self, target: &PurutoName) -> Result<bool, BrokerFault> {
        let consumer = ConsumerName::of(target, Lane::Normal);
        let call = format!(
            "CONSUMER.INFO.{}.{}",
            self.requests.as_str(),
            consumer.as_str()
        );
        match api::call(&self.link, &call, &Value::Null).await {
            Ok(_) => Ok(true),
            Err(fault) if fault.code() == Some(code::CONSUMER_NOT_FOUND) => Ok(false),
            Err(fault) => Err(fault.into_fault("look up target")),
        }
    }

    /// Whether it answers: a question about a target that nobody serves, which every caller may ask.
    ///
    /// # Errors
    /// There is no connection, or the broker did not answer in time.
    pub async fn answers(&self) -> Result<(), BrokerFault> {
        if !self.is_connected() {
            return Err(self.link.broken().into_fault(READINESS));
        }
        let call = format!("CONSUMER.INFO.{}.{READINESS}", self.requests.as_str());
        match api::call(&self.link, &call, &Value::Null).await {
            Ok(_) => Ok(()),
            Err(fault) if fault.code().is_some_and(is_not_there) => Ok(()),
            Err(fault) => Err(fault.into_fault(READINESS)),
        }
    }

    /// Hears the results of a chain as they are published. Whatever this client publishes or reads
    /// afterwards, it does with the subscription standing.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn results(
        &self,
        correlation: &CorrelationId,
    ) -> Result<ResultSubscription, BrokerFault> {
        self.subscribe(self.subjects.results_of(correlation)).await
    }

    /// Hears what is told of an answer while it is being written, as [`NatsClient::results`] does.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn tokens(
        &self,
        correlation: &CorrelationId,
        request: &RequestId,
    ) -> Result<ResultSubscription, BrokerFault> {
        let subject = self.subjects.token(correlation, request);
        self.subscribe(subject).await
    }

    /// Hears every result as it is published, as [`NatsClient::results`] does.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn all_results(&self) -> Result<ResultSubscription, BrokerFault> {
        self.subscribe(self.subjects.results_all()).await
    }

    /// Hears what is told of requests under `filter`, as [`NatsClient::results`] does.
    ///
    /// # Errors
    /// There is no connection, or `filter` is no subject.
    pub async fn events(&self, filter: &str) -> Result<ResultSubscription, BrokerFault> {
        check_pattern(filter)?;
        self.subscribe(filter.to_owned()).await
    }

    /// What is kept of what was told of requests under `filter`, each with its subject, oldest
    /// first.
    ///
    /// # Errors
    /// The broker did not answer in time, or there is no stream of events.
    pub async fn stored_events(
        &self,
        filter: &str,
    ) -> Result<Vec<(String, StoredResult)>, BrokerFault> {
        let stream = StreamName::events(&self.subjects);
        results::replay(&self.link, &stream, filter).await
    }

    /// The first message in the stream of requests from sequence `from` on that lies under
    /// `filter`.
    ///
    /// # Errors
    /// The broker did not answer in time, or there is no stream of requests.
    pub async fn next_request(
        &self,
        from: u64,
        filter: &str,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        stored::next(&self.link, &self.requests, from, filter).await
    }

    async fn subscribe(&self, pattern: String) -> Result<ResultSubscription, BrokerFault> {
        let subscription = Subscription::open(&self.link, pattern).await?;
        Ok(ResultSubscription(subscription))
    }

    /// What stands under a result subject.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        results::read_result(&self.link, &self.results, subject).await
    }

    /// The result of a request in whatever chain it belongs to, and its subject.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn find_result(
        &self,
        request: &RequestId,
    ) -> Result<Option<(String, StoredResult)>, BrokerFault> {
        let pattern = self.subjects.result_in_any_chain(request);
        results::last_result(&self.link, &self.results, &pattern).await
    }

    /// Every stored result of a chain with its subject, oldest first.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn stored_results(
        &self,
        correlation: &CorrelationId,
    ) -> Result<Vec<(String, StoredResult)>, BrokerFault> {
        let pattern = self.subjects.results_of(correlation);
        results::replay(&self.link, &self.results, &pattern).await
    }

    /// How many dead letters are kept, by their subjects; nothing where no worker ever ran.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn dead_letter_counts(&self) -> Result<Vec<SubjectCount>, BrokerFault> {
        let stream = StreamName::dead_letters(&self.subjects);
        let all = self.subjects.dead_letters_all();
        stored::subjects(&self.link, &stream, &all).await
    }

    /// The statistics of every service of this name that answers within two seconds, by id.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn services(&self, name: &str) -> Result<Vec<micro::Stats>, BrokerFault> {
        service::stats_of(&self.link, name).await
    }

    /// Whether its connection stands at this moment.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.link.stable_for().is_zero()
    }

    pub(super) const fn requests(&self) -> &StreamName {
        &self.requests
    }

    pub(super) const fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

/// Whether JetStream says by this code that it has nothing of that name.
const fn is_not_there(code: u64) -> bool {
    matches!(code, code::CONSUMER_NOT_FOUND | code::STREAM_NOT_FOUND)
}

/// What is published, as it is. What is published while the connection is broken is missed; a
/// result stands in the stream. Dropping it ends it.
#[derive(Debug)]
pub struct ResultSubscription(Subscription);

impl ResultSubscription {
    /// The next message and its subject; `None` when the connection may have missed some: read
    /// results from the stream and go on. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<(String, StoredResult)> {
        let message = self.0.next().await?;
        Some((message.subject.to_string(), wire::stored_result(&message)))
    }
}
