//! A dead letter is kept as it was written, and whatever does not fit is said to be missing.

use super::*;

const LIMIT: usize = 64 * 1024;

fn letter(headers: Result<Headers, UnreadableHeaders>, body: impl Into<Bytes>) -> DeadLetter {
    DeadLetter {
        reason: DeadReason::Poisoned,
        detail: "its workers died 5 times".into(),
        target: Some("puruto-echo".parse().unwrap()),
        attempts: Some(Attempt::new(5)),
        last_worker: Some("host-1".into()),
        request: Some("réq 1".parse().unwrap()),
        correlation: Some("corr-1".parse().unwrap()),
        message: StoredMessage {
            sequence: 7,
            subject: "puruto.invoke.puruto-echo".into(),
            headers,
            body: body.into(),
            stored_at: WallTime::from_unix_millis(1_700_000_000_123),
        },
    }
}

fn readable(headers: &[(&str, &str)]) -> Result<Headers, UnreadableHeaders> {
    let mut all = Headers::new();
    for (name, value) in headers {
        all.push_named(name, value);
    }
    Ok(all)
}

fn unreadable(raw: impl Into<Bytes>) -> Result<Headers, UnreadableHeaders> {
    let fault = HeaderFault::LineBreak;
    Err(UnreadableHeaders {
        fault,
        raw: raw.into(),
    })
}

fn size(record: &(Headers, Bytes)) -> usize {
    BLOCK_BYTES + bytes_of(&record.0) + record.1.len()
}

/// The record as somebody finds it in the stream.
fn found((headers, body): (Headers, Bytes)) -> StoredMessage {
    StoredMessage {
        sequence: 3,
        subject: "puruto.dlq.puruto-echo".into(),
        headers: Ok(headers),
        body,
        stored_at: WallTime::from_unix_millis(9),
    }
}

fn kept(letter: &DeadLetter, limit: usize) -> BuriedLetter {
    let record = letter.to_record("S", limit);
    assert!(size(&record) <= limit, "{} bytes", size(&record));
    BuriedLetter::read(found(record)).expect("a dead letter")
}

#[test]
fn a_letter_reads_as_it_was_written() {
    let headers = [
        ("traceparent", "00-a"),
        ("Puruto-Deadline", "x"),
        ("a", "b"),
    ];
    for headers in [
        readable(&headers),
        unreadable(&b"NATS/1.0\r\nX: a\rb\r\n\r\n"[..]),
    ] {
        let letter = letter(headers, &b"\x00\xffbody"[..]);
        let buried = kept(&letter, LIMIT);
        assert_eq!((buried.sequence, buried.missing), (3, Missing::Nothing));
        assert_eq!(buried.letter, letter);
    }
}

#[test]
fn what_is_not_known_of_a_message_is_left_out() {
    let mut letter = letter(readable(&[]), "");
    letter.target = None;
    letter.attempts = None;
    letter.last_worker = None;
    letter.request = None;
    letter.correlation = None;
    assert_eq!(kept(&letter, LIMIT).letter, letter);
}

#[test]
fn no_header_of_the_message_commands_the_broker_or_passes_for_the_records_own() {
    let hostile = [
        ("Nats-Msg-Id", "7"),
        ("nats-rollup", "all"),
        ("Puruto-Dead-Reason", "fun"),
        ("Puruto-Dead-Original-Nats-Msg-Id", "8"),
    ];
    let letter = letter(readable(&hostile), "");
    let (headers, _) = letter.to_record("S", LIMIT);
    assert_eq!(headers.get_named("Nats-Msg-Id"), Some("S:7:1700000000123"));
    assert_eq!(headers.get_named("nats-rollup"), None);
    assert_eq!(headers.get_named(REASON), Some("poisoned"));
    assert_eq!(kept(&letter, LIMIT).letter, letter);
}

#[test]
fn what_does_not_fit_is_the_end_of_the_headers_first_and_is_said() {
    let long = "x".repeat(LIMIT);
    let letter_of = |headers| letter(headers, "body");
    let buried = kept(&letter_of(readable(&[("A", "b"), ("C", &long)])), LIMIT);
    assert_eq!(buried.missing, Missing::Headers);
    assert_eq!(buried.letter, letter_of(readable(&[("A", "b")])));
    let buried = kept(&letter_of(unreadable(long.clone())), LIMIT);
    assert_eq!(buried.missing, Missing::Headers);
    let raw = buried.letter.message.headers.unwrap_err().raw;
    assert!(raw.len() > LIMIT / 2 && long.as_bytes().starts_with(&raw));
    assert_eq!(&*buried.letter.message.body, b"body");
}

#[test]
fn a_body_that_does_not_fit_is_cut_and_the_reason_stays() {
    let body = vec![b'x'; LIMIT - 100];
    for headers in [readable(&[("A", "b")]), unreadable("NATS")] {
        let buried = kept(&letter(headers, body.clone()), LIMIT);
        assert_eq!(buried.missing, Missing::Body);
        assert_eq!(buried.letter.reason, DeadReason::Poisoned);
        let cut = buried.letter.message.body.len();
        assert!(cut > LIMIT - 2_000 && cut < body.len(), "{cut}");
    }
}

#[test]
fn words_about_the_reason_are_bounded() {
    let mut letter = letter(readable(&[]), "");
    letter.detail = "é".repeat(WORDS_MAX + 1).into();
    let kept = kept(&letter, LIMIT).letter;
    assert_eq!(*kept.detail, "é".repeat(WORDS_MAX));
}

#[test]
fn what_is_no_letter_says_what_it_lacks() {
    let (headers, _) = letter(readable(&[]), "").to_record("S", LIMIT);
    let without = |name: &str, instead: Option<&str>| {
        let others = headers.iter().filter(|(it, _)| *it != name);
        let others: Vec<_> = others.chain(instead.map(|value| (name, value))).collect();
        let stored = found((readable(&others).unwrap(), Bytes::new()));
        BuriedLetter::read(stored).unwrap_err().why
    };
    assert_eq!(without(SEQUENCE, None), "it has no Puruto-Dead-Sequence");
    let not_understood = "its Puruto-Dead-Reason is not understood";
    assert_eq!(without(REASON, Some("fun")), not_understood);
    let mut stored = found((headers.clone(), Bytes::new()));
    stored.headers = unreadable("NATS");
    assert!(BuriedLetter::read(stored).is_err());
}
