//! Asking others, on the twin.
//!
//! Never: a message id that it knows again. The real one's memory is short and ends with a restart,
//! so nothing may rest on it.

use bytes::Bytes;

use super::{
    super::{Asking, BrokerFault, Headers, PublishAck, StoredMessage},
    BrokerTwin, Operation, timed_out,
};
use crate::store::RequestKey;

impl Asking for BrokerTwin {
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        let stored_at = self.shared.clock.now();
        let message = |sequence| StoredMessage {
            sequence,
            subject: subject.into(),
            headers: Ok(headers.clone()),
            body,
            stored_at,
        };
        let stored = self.change(|state| {
            state.attempt(Operation::PublishRequest, |state| {
                state.queue.store(message)
            })
        });
        let sequence = stored.map_err(|()| timed_out("publish request"))?;
        Ok(PublishAck {
            sequence,
            duplicate: false,
        })
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        Self::announce_cancel(self, request.clone());
        Ok(())
    }
}

/// What a test commands.
impl BrokerTwin {
    /// Announces a cancel to every connection.
    pub fn announce_cancel(&self, request: RequestKey) {
        self.change(|state| state.cancels.push(request));
    }
}
