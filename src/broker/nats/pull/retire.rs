//! Gives up an inbox without losing what is on its way to it.
//!
//! The broker drops the pulls of an inbox that nobody listens to any more, but what it has sent
//! before counts as delivered and would wait for its ack wait. So the rest is read in the
//! background and handed to the lane, or given back at once when the lane is gone.

use std::{sync::Arc, time::Duration};

use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::{runtime::Handle, sync::mpsc, time::timeout};

use super::super::{acks, link::Link};
use crate::store::AckToken;

/// How long the rest of an inbox may take; on a broken connection nothing more will come.
const RETIRE_BOUND: Duration = Duration::from_secs(2);

/// What still comes to an inbox that was given up. Bounded by what had been asked for.
pub(super) type Late = mpsc::UnboundedReceiver<Message>;

/// Gives up an inbox; `settle` is where deliveries are given back when nobody takes them.
pub(super) fn retire(inbox: Subscriber, settle: &Arc<Link>) -> Late {
    let (sender, late) = mpsc::unbounded_channel();
    // Outside of a runtime the process is ending: nothing can be given back any more.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(empty(inbox, sender, Arc::clone(settle)));
    }
    late
}

async fn empty(mut inbox: Subscriber, lane: mpsc::UnboundedSender<Message>, settle: Arc<Link>) {
    let rest = async {
        // Fails only on a connection that has died: what it had read is still here.
        inbox.drain().await.ok();
        while let Some(message) = inbox.next().await {
            if let Err(refused) = lane.send(message) {
                give_back(refused.0, &settle).await;
            }
        }
    };
    if timeout(RETIRE_BOUND, rest).await.is_err() {
        tracing::debug!("an inbox was given up before it was known to be empty");
    }
}

/// Gives back whatever a lane had not taken when it went away.
pub(super) fn abandon(mut late: Late, settle: &Arc<Link>) {
    late.close();
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    let settle = Arc::clone(settle);
    runtime.spawn(async move {
        while let Some(message) = late.recv().await {
            give_back(message, &settle).await;
        }
    });
}

async fn give_back(message: Message, settle: &Link) {
    if let Some(reply) = message.reply.filter(|_| message.status.is_none()) {
        let token = AckToken::new(reply.as_str());
        acks::nak(settle, &token, Duration::ZERO).await;
    }
}
