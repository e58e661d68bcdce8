//! Tells a worker to drain, and hears it told: core NATS requests.

use bytes::Bytes;

use super::{
    super::BrokerFault, NatsBroker, api::CALL_BOUND, client::NatsClient,
    subscription::Subscription, unanswered::Unanswered,
};

const TELL: &str = "tell a worker to drain";

impl NatsClient {
    /// Tells a worker to drain; whether it heard.
    ///
    /// # Errors
    /// The broker did not answer in time; the worker may have heard all the same.
    pub async fn drain_worker(&self, worker: &str) -> Result<bool, BrokerFault> {
        let subject = self.subjects().control_drain(worker);
        let told = self
            .link()
            .request(&subject, None, Bytes::new(), CALL_BOUND);
        match told.await {
            Ok(_) => Ok(true),
            Err(Unanswered::NoResponders) => Ok(false),
            Err(unanswered) => Err(unanswered.into_fault(TELL)),
        }
    }
}

impl NatsBroker {
    /// Ends once this worker is told to drain.
    ///
    /// # Errors
    /// There is no connection to hear it on.
    pub async fn told_to_drain(&self, worker: &str) -> Result<(), BrokerFault> {
        let link = &self.links.control;
        let subject = self.subjects.control_drain(worker);
        let mut told = Subscription::open(link, subject).await?;
        // What was missed while the connection was broken is told again by whoever got no answer.
        let message = loop {
            if let Some(message) = told.next().await {
                break message;
            }
        };
        if let Some(reply) = message.reply {
            let sent = link.publish(&reply, None, Bytes::new(), CALL_BOUND).await;
            sent.map_err(|unanswered| unanswered.into_fault(TELL))?;
        }
        Ok(())
    }
}
