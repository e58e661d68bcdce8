//! Hears an answer while it is being written.
//!
//! Never: a promise that all of it is heard; the result has all of it.

use std::{fmt, mem};

use super::{Arrival, Arrivals, Exchange};
use crate::contract::{Says, TokenMessage};

/// What is heard of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// What it says next.
    Says(TokenMessage),
    /// Something was missed: what is heard from now on is not all of it, until it starts again.
    Gap,
}

/// What is told of one answer. Dropping it ends it.
pub struct Hearing<E: Exchange> {
    arrivals: E::Arrivals,
    order: Order,
}

impl<E: Exchange> fmt::Debug for Hearing<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hearing").field(&self.order).finish()
    }
}

impl<E: Exchange> Hearing<E> {
    pub(super) fn new(arrivals: E::Arrivals) -> Self {
        Self::from_index(arrivals, 0)
    }

    /// The message with index `next` is the first that has not been heard.
    pub(super) const fn from_index(arrivals: E::Arrivals, next: u64) -> Self {
        let order = Order {
            next,
            missed: false,
        };
        Self { arrivals, order }
    }

    /// What comes next; stays pending while nothing does. Safe to drop and call again.
    pub async fn next(&mut self) -> Heard {
        loop {
            match self.arrivals.next().await {
                // A message that was missed shows by the index of the next.
                Arrival::Reconnected => {}
                Arrival::Result(message) => match serde_json::from_slice(&message.body) {
                    Ok(message) => {
                        if let Some(heard) = self.order.take(message) {
                            return heard;
                        }
                    }
                    Err(error) => tracing::debug!(%error, "a token that is not understood"),
                },
            }
        }
    }
}

/// Which index comes next.
#[derive(Debug, Default)]
struct Order {
    next: u64,
    /// What was missed is to be said once.
    missed: bool,
}

impl Order {
    /// What `message` means in its place; nothing when it belongs behind a gap.
    fn take(&mut self, message: TokenMessage) -> Option<Heard> {
        let in_place = message.index == self.next;
        self.next = message.index + 1;
        if matches!(message.says, Says::Restart(_)) {
            self.missed = false;
            return Some(Heard::Says(message));
        }
        if in_place && !self.missed {
            return Some(Heard::Says(message));
        }
        let first = !mem::replace(&mut self.missed, true);
        first.then_some(Heard::Gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::True;

    fn message(index: u64, says: Says) -> TokenMessage {
        TokenMessage { index, says }
    }

    fn content(index: u64) -> TokenMessage {
        message(index, Says::Content(index.to_string()))
    }

    #[test]
    fn what_follows_a_gap_is_left_out_until_the_answer_starts_again() {
        let restart = |index| message(index, Says::Restart(True));
        let mut order = Order::default();
        for (message, heard) in [
            (content(0), Some(Heard::Says(content(0)))),
            (content(2), Some(Heard::Gap)),
            (content(3), None),
            (restart(4), Some(Heard::Says(restart(4)))),
            (content(5), Some(Heard::Says(content(5)))),
            (restart(0), Some(Heard::Says(restart(0)))),
            (content(1), Some(Heard::Says(content(1)))),
        ] {
            assert_eq!(order.take(message), heard);
        }
    }

    #[test]
    fn whoever_listens_too_late_hears_of_a_gap() {
        assert_eq!(Order::default().take(content(3)), Some(Heard::Gap));
    }
}
