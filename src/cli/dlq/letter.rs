//! A dead letter as its reader wants it.

use serde_json::{Map, Value, json};

use crate::{
    broker::{BuriedLetter, Headers, Missing, UnreadableHeaders},
    cli::show::plain,
    store::Attempt,
};

/// The head of a table of letters.
pub(super) const HEAD: &[&str] = &[
    "seq",
    "buried",
    "reason",
    "target",
    "request",
    "attempts",
    "last worker",
];

/// A row under [`HEAD`].
pub(super) fn cells(buried: &BuriedLetter) -> Vec<String> {
    let letter = &buried.letter;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    vec![
        buried.sequence.to_string(),
        buried.buried_at.to_string(),
        letter.reason.as_str().to_owned(),
        or_none(letter.target.as_ref().map(ToString::to_string)),
        or_none(letter.request.as_ref().map(ToString::to_string)),
        letter.attempts.map_or(0, Attempt::number).to_string(),
        or_none(letter.last_worker.as_deref().map(str::to_owned)),
    ]
}

/// What is said of a letter, but for its message.
pub(super) fn summary(buried: &BuriedLetter) -> Map<String, Value> {
    let letter = &buried.letter;
    let message = &letter.message;
    let fields = [
        ("sequence", json!(buried.sequence)),
        ("buried_at", json!(buried.buried_at.to_string())),
        ("reason", json!(letter.reason.as_str())),
        ("detail", json!(letter.detail)),
        ("target", json!(letter.target)),
        ("request_id", json!(letter.request)),
        ("correlation_id", json!(letter.correlation)),
        (
            "attempts",
            json!(letter.attempts.map_or(0, Attempt::number)),
        ),
        ("last_worker", json!(letter.last_worker)),
        ("subject", json!(message.subject)),
        ("stream_sequence", json!(message.sequence)),
        ("stored_at", json!(message.stored_at.to_string())),
        ("body_bytes", json!(message.body.len())),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// All of a letter.
pub(super) fn whole(buried: &BuriedLetter) -> Map<String, Value> {
    let message = &buried.letter.message;
    let mut all = summary(buried);
    all.insert("missing".to_owned(), json!(missing(buried.missing)));
    match &message.headers {
        Ok(headers) => all.insert("headers".to_owned(), pairs(headers)),
        Err(unreadable) => all.insert("headers_escaped".to_owned(), json!(escaped(unreadable))),
    };
    match std::str::from_utf8(&message.body) {
        Ok(text) => all.insert("body".to_owned(), json!(text)),
        Err(_) => all.insert(
            "body_escaped".to_owned(),
            json!(message.body.escape_ascii().to_string()),
        ),
    };
    all
}

/// All of a letter, for a person.
pub(super) fn readable(buried: &BuriedLetter) -> String {
    let message = &buried.letter.message;
    let lines = summary(buried).into_iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => plain(&text),
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        format!("{:17}{text}", name.replace('_', " "))
    });
    let mut lines: Vec<_> = lines.collect();
    if let Some(what) = missing(buried.missing) {
        lines.push(format!("{:17}{what}: the message was too large", "missing"));
    }
    lines.push("\nheaders".to_owned());
    match &message.headers {
        Ok(headers) => lines.extend(
            headers
                .iter()
                .map(|(name, value)| format!("  {}: {}", plain(name), plain(value))),
        ),
        Err(unreadable) => lines.push(format!("  {}\n  {}", unreadable.fault, escaped(unreadable))),
    }
    lines.push("\nbody".to_owned());
    lines.push(match std::str::from_utf8(&message.body) {
        Ok(text) => plain(text),
        Err(_) => message.body.escape_ascii().to_string(),
    });
    lines.join("\n")
}

/// A name may stand twice, so this is no object.
fn pairs(headers: &Headers) -> Value {
    headers
        .iter()
        .map(|(name, value)| json!([name, value]))
        .collect()
}

fn escaped(unreadable: &UnreadableHeaders) -> String {
    unreadable.raw.escape_ascii().to_string()
}

const fn missing(missing: Missing) -> Option<&'static str> {
    match missing {
        Missing::Nothing => None,
        Missing::Headers => Some("headers"),
        Missing::Body => Some("the end of the body, and headers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        broker::{DeadLetter, DeadReason, HeaderFault, StoredMessage},
        clock::WallTime,
    };

    fn hostile() -> BuriedLetter {
        BuriedLetter {
            sequence: 7,
            buried_at: WallTime::from_unix_millis(2_000),
            missing: Missing::Nothing,
            letter: DeadLetter {
                reason: DeadReason::Unreadable,
                detail: "a header value holds a carriage return".into(),
                target: None,
                attempts: None,
                last_worker: None,
                request: None,
                correlation: None,
                message: StoredMessage {
                    sequence: 70,
                    subject: "puruto.invoke.\u{1b}[2J".into(),
                    headers: Err(UnreadableHeaders {
                        fault: HeaderFault::LineBreak,
                        raw: b"NATS/1.0\r\nX: a\rb\r\n\r\n"[..].into(),
                    }),
                    body: b"\xff\x1b[2J"[..].into(),
                    stored_at: WallTime::from_unix_millis(1_000),
                },
            },
        }
    }

    #[test]
    fn a_hostile_letter_is_shown_to_the_last_byte_and_commands_no_terminal() {
        let text = readable(&hostile());
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains(r"  NATS/1.0\r\nX: a\rb\r\n\r\n"), "{text}");
        assert!(text.ends_with(r"\xff\x1b[2J"), "{text}");
        let json = Value::Object(whole(&hostile()));
        assert_eq!(json["body_escaped"], r"\xff\x1b[2J");
        assert_eq!(json["headers_escaped"], r"NATS/1.0\r\nX: a\rb\r\n\r\n");
        assert_eq!(json["request_id"], Value::Null);
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(cells(&hostile()).len(), HEAD.len());
    }
}
