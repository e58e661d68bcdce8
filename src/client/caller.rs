//! The client: what a caller holds, and how it asks.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    ClientFault, Exchange, Hearing, Invocation, Pending, invocation::Prepared, pending::Wait,
    reading::Asked,
};
use crate::{
    broker::{BrokerFault, Headers, PublishAck},
    clock::{Chance, Clock},
    contract::{
        ErrorCode, InvocationRequest, InvocationResult, PurutoName, ResultError, Subjects,
        TimeoutSec,
    },
    policy::LivePolicies,
    store::Records,
};

/// How often a publish whose confirmation does not come is sent, in all.
const PUBLISH_ATTEMPTS: u32 = 3;

/// How long a caller waits for what.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long beyond its deadline a result is waited for: it has to travel too.
    pub grace: Duration,
    /// How often a result that has not arrived is looked for in the stream.
    pub read_back: Duration,
}

/// What a client decides by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The grammar of subjects.
    pub subjects: Subjects,
    /// Who may ask whom for what.
    pub policies: LivePolicies,
    /// How long to wait for what.
    pub patience: Patience,
    /// The time of day.
    pub clock: Clock,
    /// Where fresh ids come from.
    pub chance: Chance,
}

/// What came of asking.
#[derive(Debug)]
pub enum Invoked<E: Exchange> {
    /// It was answered without being published: denied, or its target is not in the fleet.
    Refused(InvocationResult),
    /// It is stored at the broker, and its result is waited for.
    Pending(Pending<E>),
}

/// A caller's way to the fleet. A clone shares its connections.
pub struct Client<E, R> {
    pub(super) exchange: Arc<E>,
    pub(super) records: Arc<R>,
    pub(super) settings: Arc<Settings>,
    /// Targets that are in the fleet; a target never leaves it.
    known: Arc<Mutex<HashSet<PurutoName>>>,
}

impl<E, R> Clone for Client<E, R> {
    fn clone(&self) -> Self {
        Self {
            exchange: Arc::clone(&self.exchange),
            records: Arc::clone(&self.records),
            settings: Arc::clone(&self.settings),
            known: Arc::clone(&self.known),
        }
    }
}

impl<E, R> fmt::Debug for Client<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl<E: Exchange, R: Records> Client<E, R> {
    /// A client over these connections.
    pub fn new(exchange: E, records: R, settings: Settings) -> Self {
        Self {
            exchange: Arc::new(exchange),
            records: Arc::new(records),
            settings: Arc::new(settings),
            known: Arc::default(),
        }
    }

    /// Asks a target. It is checked first whether the caller may and whether there is such a
    /// target; then the result is subscribed to, and the request published.
    ///
    /// # Errors
    /// What a result cannot say: the message is too large, or broker or store did not answer.
    /// After a time-out of the broker the request may be stored all the same; asking again with
    /// the same `request_id` gets the same result.
    pub async fn invoke(&self, invocation: Invocation) -> Result<Invoked<E>, ClientFault> {
        let prepared = self.prepare(invocation)?;
        self.ask(prepared).await
    }

    /// As [`Client::invoke`], and hears the answer from its first word on while it is being
    /// written, should the target tell it.
    ///
    /// # Errors
    /// As [`Client::invoke`].
    pub async fn invoke_heard(
        &self,
        invocation: Invocation,
    ) -> Result<(Invoked<E>, Hearing<E>), ClientFault> {
        let prepared = self.prepare(invocation)?;
        let InvocationRequest {
            correlation_id,
            request_id,
            ..
        } = &prepared.request;
        let arrivals = self.exchange.listen(correlation_id, request_id).await?;
        let invoked = self.ask(prepared).await?;
        Ok((invoked, Hearing::new(arrivals)))
    }

    async fn ask(&self, prepared: Prepared) -> Result<Invoked<E>, ClientFault> {
        let request = &prepared.request;
        let asked = Asked::new(
            request.request_id.clone(),
            request.correlation_id.clone(),
            prepared.fingerprint,
            &self.settings.subjects,
        );
        if let Some(error) = self.refusal(request).await? {
            return Ok(Invoked::Refused(asked.answered(error)));
        }
        let within = self.time_for(&prepared);
        let arrivals = self.exchange.subscribe(&request.correlation_id).await?;
        let started = Instant::now();
        let ack = self.publish(&prepared).await?;
        let wait = Wait {
            within,
            started,
            patience: self.settings.patience,
            // A message that the broker knew may have been answered long ago.
            look_at_once: ack.duplicate,
        };
        let exchange = Arc::clone(&self.exchange);
        Ok(Invoked::Pending(Pending::new(
            exchange, arrivals, asked, wait,
        )))
    }

    /// Why the request would be refused without anything being published.
    pub(super) async fn refusal(
        &self,
        request: &InvocationRequest,
    ) -> Result<Option<ResultError>, ClientFault> {
        let InvocationRequest {
            caller,
            target,
            action,
            hop,
            ..
        } = request;
        let policies = self.settings.policies.current();
        if let Err(denial) = policies.decide(caller, target, action, *hop) {
            return Ok(Some(ResultError::new(
                ErrorCode::Denied,
                denial.to_string(),
            )));
        }
        if self.is_known(target).await? {
            return Ok(None);
        }
        let message = format!("no worker of this fleet ever served {target}");
        Ok(Some(ResultError::new(ErrorCode::TargetNotFound, message)))
    }

    /// Whether any worker ever served `target`.
    async fn is_known(&self, target: &PurutoName) -> Result<bool, ClientFault> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(target) {
            return Ok(true);
        }
        let exists = self.exchange.target_exists(target).await?;
        if exists {
            known().insert(target.clone());
        }
        Ok(exists)
    }

    /// How long the request may take from now on.
    pub(super) fn time_for(&self, prepared: &Prepared) -> Duration {
        let Prepared {
            request, deadline, ..
        } = prepared;
        let policies = self.settings.policies.current();
        let own = request.timeout_sec.map(TimeoutSec::duration);
        let own = own.unwrap_or_else(|| policies.default_timeout(&request.caller));
        let now = self.settings.clock.now();
        deadline.map_or(own, |deadline| own.min(deadline.since(now)))
    }

    pub(super) async fn publish(&self, prepared: &Prepared) -> Result<PublishAck, BrokerFault> {
        let subject = prepared.subject(&self.settings.subjects);
        self.publish_surely(&subject, &prepared.headers, prepared.body())
            .await
    }

    /// Publishes until the broker says that the request is stored; the message id keeps a copy
    /// from being stored.
    pub(super) async fn publish_surely(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        let mut attempt = 1;
        loop {
            let sent = self
                .exchange
                .publish_request(subject, headers, body.clone());
            match sent.await {
                Err(BrokerFault::TimedOut { .. }) if attempt < PUBLISH_ATTEMPTS => attempt += 1,
                other => return other,
            }
        }
    }
}
