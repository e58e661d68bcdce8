//! Calls that wait for their reply, by the number in their reply subject.
//!
//! Never: a call that outlives its caller; a ticket takes its entry away when it is dropped.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_nats::Message;
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    next: AtomicU64,
    calls: Mutex<HashMap<u64, oneshot::Sender<Message>>>,
}

/// One call's place.
#[derive(Debug)]
pub(super) struct Ticket<'w> {
    waiting: &'w Waiting,
    number: u64,
    reply: oneshot::Receiver<Message>,
}

impl Waiting {
    /// A place for one more call.
    pub(super) fn ticket(&self) -> Ticket<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        self.calls().insert(number, sender);
        Ticket {
            waiting: self,
            number,
            reply,
        }
    }

    /// Hands a reply to whoever waits for it; one that nobody waits for any more is dropped.
    pub(super) fn answer(&self, message: Message) {
        let number = message.subject.rsplit('.').next();
        let Some(number) = number.and_then(|token| token.parse().ok()) else {
            return;
        };
        let caller = self.calls().remove(&number);
        if let Some(caller) = caller {
            caller.send(message).ok();
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Message>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// The last token of the call's reply subject.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The reply. Never comes if it was lost; the caller has a bound.
    pub(super) async fn reply(&mut self) -> Message {
        match (&mut self.reply).await {
            Ok(message) => message,
            // The sender goes only with the entry, and the entry only with this ticket.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.waiting.calls().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn reply(subject: &str) -> Message {
        Message {
            subject: subject.into(),
            reply: None,
            payload: "yes".into(),
            headers: None,
            status: None,
            description: None,
            length: 0,
        }
    }

    #[test]
    fn a_reply_reaches_its_caller_and_no_other() {
        let waiting = Waiting::default();
        let (mut one, mut other) = (waiting.ticket(), waiting.ticket());
        waiting.answer(reply(&format!("_INBOX.w.x.{}", other.number())));
        assert_eq!(other.reply().now_or_never().unwrap().payload, "yes");
        assert!(one.reply().now_or_never().is_none());
    }

    #[test]
    fn nothing_is_left_of_a_call_that_was_given_up() {
        let waiting = Waiting::default();
        let ticket = waiting.ticket();
        let subject = format!("_INBOX.w.x.{}", ticket.number());
        drop(ticket);
        assert!(waiting.calls().is_empty());
        waiting.answer(reply(&subject));
        waiting.answer(reply("_INBOX.w.x.no-number"));
    }
}
