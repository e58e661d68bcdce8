//! Gives up an inbox without losing what is on its way to it.
//!
//! The broker drops the pulls of an inbox that nobody listens to any more, but what it has sent
//! before counts as delivered and would wait for its ack wait. So the rest is read in the
//! background and handed to the lane, or given back at once when the lane is gone. When the
//! connection broke, the search for what was lost begins where that ends.

use std::{sync::Arc, time::Duration};

use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::{runtime::Handle, sync::mpsc, time::timeout};

use super::{
    super::{acks, link::Link},
    ack_of,
    inbox::Inbox,
    search::Search,
    seen::{Came, Seen},
};
use crate::store::AckToken;

/// How long the rest of an inbox may take; on a broken connection nothing more will come.
const RETIRE_BOUND: Duration = Duration::from_secs(2);

/// A connection that is there again so soon after it broke was not broken by its server's going: a
/// delivery may have done it.
const SUSPICIOUS_GAP: Duration = Duration::from_secs(1);

/// What still comes to an inbox that was given up. Bounded by what had been asked for.
pub(super) type Late = mpsc::UnboundedReceiver<Message>;

/// How an inbox is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// As far as is known its connection is whole.
    Whole,
    /// Its connection has broken.
    Broken,
}

/// Gives up an inbox. What the lane hears ends once it is known what was lost with a broken
/// connection, so that nothing that is pulled afterwards is taken for that.
pub(super) fn retire(inbox: Inbox, leaving: Leaving, search: Search, seen: Seen) -> Late {
    let (sender, late) = mpsc::unbounded_channel();
    // Outside of a runtime the process is ending: nothing can be given back any more.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(leave(inbox, leaving, search, seen, sender));
    }
    late
}

async fn leave(
    inbox: Inbox,
    leaving: Leaving,
    search: Search,
    mut seen: Seen,
    lane: mpsc::UnboundedSender<Message>,
) {
    let (messages, life) = inbox.close();
    empty(messages, &lane, &mut seen, &search.links.settle).await;
    if seen.owed() > 0 && is_suspicious(&search.links.pull, life, leaving).await {
        let standing = search.standing().await;
        drop(lane);
        if let Some(standing) = standing {
            search.run(seen, standing).await;
        }
    }
}

/// Whether a connection has broken, and was there again at once.
async fn is_suspicious(link: &Link, life: u64, leaving: Leaving) -> bool {
    let mut lives = link.lives();
    if leaving == Leaving::Broken {
        let successor = lives.wait_for(|wire| wire.life > life);
        timeout(SUSPICIOUS_GAP, successor).await.ok();
    }
    let wire = lives.borrow();
    wire.life > life && wire.gap < SUSPICIOUS_GAP
}

/// Hands on what still comes.
async fn empty(
    mut inbox: Subscriber,
    lane: &mpsc::UnboundedSender<Message>,
    seen: &mut Seen,
    settle: &Link,
) {
    let rest = async {
        // Fails only on a connection that has died: what it had read is still here.
        inbox.drain().await.ok();
        while let Some(message) = inbox.next().await {
            if let Some(ack) = ack_of(&message) {
                seen.saw(ack.sequence, Came::Later);
            }
            if let Err(refused) = lane.send(message) {
                give_back(refused.0, settle).await;
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
