//! What a status message to a pull means.

use async_nats::{Message, StatusCode};

use super::{super::wire, ack_of};

/// What a message on a lane's inbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A delivery.
    Delivery,
    /// A delivery with a status of its own, which its author made up.
    Unreadable,
    /// The pull stands and there is nothing for it.
    Heartbeat,
    /// The pull ended with so many deliveries unfilled.
    Unfilled(usize),
    /// The consumer is not there.
    ConsumerGone,
    /// No pull can be relied on any more.
    Void,
}

/// Reads a message on a lane's inbox.
pub(super) fn read(message: &Message) -> Heard {
    let Some(status) = message.status else {
        return Heard::Delivery;
    };
    // The broker's own messages are not acked.
    if ack_of(message).is_some() {
        return Heard::Unreadable;
    }
    let description = message.description.as_deref().unwrap_or_default();
    let unfilled = wire::header(message, "Nats-Pending-Messages").and_then(|it| it.parse().ok());
    match (status, unfilled) {
        (StatusCode::IDLE_HEARTBEAT, _) => Heard::Heartbeat,
        (StatusCode::NO_RESPONDERS, _) => Heard::ConsumerGone,
        (StatusCode::REQUEST_TERMINATED, _) if description == "Consumer Deleted" => {
            Heard::ConsumerGone
        }
        (_, Some(unfilled)) => Heard::Unfilled(unfilled),
        (_, None) => Heard::Void,
    }
}

#[cfg(test)]
mod tests {
    use async_nats::HeaderMap;

    use super::*;

    fn status(code: u16, description: &str, pending: Option<&str>) -> Heard {
        read(&message(code, description, pending))
    }

    fn message(code: u16, description: &str, pending: Option<&str>) -> Message {
        let mut headers = HeaderMap::new();
        if let Some(pending) = pending {
            headers.insert("Nats-Pending-Messages", pending);
        }
        Message {
            subject: "_INBOX.w.x.1".into(),
            reply: None,
            payload: "".into(),
            headers: Some(headers),
            status: Some(StatusCode::from_u16(code).unwrap()),
            description: Some(description.into()),
            length: 0,
        }
    }

    #[test]
    fn a_stored_message_does_not_pass_for_the_brokers_word() {
        let mut message = message(409, "Consumer Deleted", None);
        message.reply = Some("$JS.ACK.S.c.1.2.3.4.5".into());
        assert_eq!(read(&message), Heard::Unreadable);
    }

    #[test]
    fn every_status_says_what_becomes_of_the_pull() {
        assert_eq!(status(100, "Idle Heartbeat", None), Heard::Heartbeat);
        assert_eq!(
            status(408, "Request Timeout", Some("3")),
            Heard::Unfilled(3)
        );
        assert_eq!(status(404, "No Messages", Some("0")), Heard::Unfilled(0));
        assert_eq!(
            status(409, "Leadership Change", Some("7")),
            Heard::Unfilled(7)
        );
        assert_eq!(status(409, "Consumer Deleted", None), Heard::ConsumerGone);
        assert_eq!(
            status(409, "Consumer Deleted", Some("2")),
            Heard::ConsumerGone
        );
        assert_eq!(status(503, "", None), Heard::ConsumerGone);
        assert_eq!(status(409, "Exceeded MaxWaiting", None), Heard::Void);
        assert_eq!(status(408, "Request Timeout", Some("many")), Heard::Void);
    }
}
