//! Asking others, on the twin.
//!
//! It knows a message id again only where a test commands it: the real one's memory is short and
//! ends with a restart, so nothing may rest on it, in neither way.

use std::collections::HashMap;

use bytes::Bytes;

use super::{
    super::{Asking, BrokerFault, Headers, PublishAck, StoredMessage},
    BrokerTwin, Operation, timed_out,
};
use crate::{contract::Header, store::RequestKey};

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
        let id = headers.get(Header::MessageId);
        let stored = self.change(|state| {
            state.attempt(Operation::PublishRequest, |state| {
                let known = state.known_ids.as_ref().zip(id);
                let known = known.and_then(|(ids, id)| ids.get(id).copied());
                let sequence = known.unwrap_or_else(|| state.queue.store(message));
                if let Some((ids, id)) = state.known_ids.as_mut().zip(id) {
                    ids.insert(id.to_owned(), sequence);
                }
                let duplicate = known.is_some();
                PublishAck {
                    sequence,
                    duplicate,
                }
            })
        });
        stored.map_err(|()| timed_out("publish request"))
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        Self::announce_cancel(self, request.clone());
        Ok(())
    }
}

/// What a test commands.
impl BrokerTwin {
    /// From now on a message whose id was published before is not stored again.
    pub fn know_message_ids(&self) {
        self.change(|state| state.known_ids = Some(HashMap::new()));
    }

    /// Announces a cancel to every connection.
    pub fn announce_cancel(&self, request: RequestKey) {
        self.change(|state| state.cancels.push(request));
    }
}
