//! What an error of the client means to the seam, and what the link does about it.
//!
//! Never: acts. One table, read from top to bottom.

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use super::super::StoreFault;

/// How much of a server's words is shown, in characters.
const WORDS_MAX: usize = 200;

/// What the link does about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing: the connection is fine.
    Report,
    /// Loads the script, then asks again.
    LoadScript,
    /// Replaces the connection, which leads to the wrong server.
    Replace,
    /// Replaces the broken connection, then asks again: whether the call was carried out is
    /// unknown, and each of ours may be carried out twice.
    ReplaceAndRetry,
}

/// Codes of a server that will serve later, with this connection or another.
const UNREADY: [(&str, Remedy); 9] = [
    ("READONLY", Remedy::Replace),
    ("MASTERDOWN", Remedy::Replace),
    ("LOADING", Remedy::Report),
    ("OOM", Remedy::Report),
    ("BUSY", Remedy::Report),
    ("MISCONF", Remedy::Report),
    ("NOREPLICAS", Remedy::Report),
    ("CLUSTERDOWN", Remedy::Report),
    ("TRYAGAIN", Remedy::Report),
];

/// Codes of a server that needs a person.
const UNSUITABLE: [&str; 4] = ["NOAUTH", "NOPERM", "WRONGPASS", "DENIED"];

/// What `error`, the answer to `operation` from the server at `address`, means.
pub(super) fn classify(
    error: &RedisError,
    operation: &'static str,
    address: &str,
) -> (StoreFault, Remedy) {
    let words = words(error);
    if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) {
        let answer = words;
        return (
            StoreFault::Nonsense { operation, answer },
            Remedy::LoadScript,
        );
    }
    if let Some(remedy) = unready(error) {
        return (StoreFault::Unready { reason: words }, remedy);
    }
    if is_refusal(error) {
        let text =
            format!("redis at {address} refuses {operation}: {words}; check user and rights");
        return (StoreFault::Unsuitable(text), Remedy::Report);
    }
    if is_broken(error) {
        return (unreachable(address, words), Remedy::ReplaceAndRetry);
    }
    let answer = words;
    (StoreFault::Nonsense { operation, answer }, Remedy::Report)
}

/// An answer that no script of ours gives. It is described, not shown: it may hold a payload.
pub(super) fn nonsense(operation: &'static str, answer: &Value) -> StoreFault {
    let answer = match answer {
        Value::Nil => "nothing".into(),
        Value::Int(number) => format!("the number {number}"),
        Value::BulkString(bytes) => format!("{} bytes", bytes.len()),
        Value::Array(items) => format!("an array of {}", items.len()),
        _ => "an unusual type".into(),
    };
    StoreFault::Nonsense { operation, answer }
}

pub(super) fn unreachable(address: &str, reason: impl Into<String>) -> StoreFault {
    StoreFault::Unreachable {
        address: address.into(),
        reason: reason.into(),
    }
}

fn unready(error: &RedisError) -> Option<Remedy> {
    let code = error.code()?;
    // Redis before 7 wraps what a command inside a script was answered.
    let words = error.detail().filter(|_| code == "ERR").unwrap_or_default();
    let is_inside = |it: &str| words.contains(&format!("-{it} "));
    UNREADY
        .iter()
        .find(|(it, _)| *it == code || is_inside(it))
        .map(|(_, remedy)| *remedy)
}

fn is_refusal(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || error.code().is_some_and(|code| UNSUITABLE.contains(&code))
}

fn is_broken(error: &RedisError) -> bool {
    // What cannot be parsed leaves the connection out of step.
    error.is_io_error() || error.is_connection_dropped() || error.kind() == ErrorKind::Parse
}

/// The server's own words, or else the client's.
fn words(error: &RedisError) -> String {
    let all = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        (Some(code), None) => code.into(),
        (None, _) => error.to_string(),
    };
    all.chars().take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> (StoreFault, Remedy) {
        let error = match redis::parse_redis_value(line.as_bytes()) {
            Ok(Value::ServerError(error)) => RedisError::from(error),
            other => panic!("{line:?} gives {other:?}"),
        };
        classify(&error, "claim", "db:6379")
    }

    #[test]
    fn a_server_that_will_not_serve_for_now_is_unready() {
        for (line, remedy) in [
            (
                "-LOADING Redis is loading the dataset in memory\r\n",
                Remedy::Report,
            ),
            (
                "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
                Remedy::Report,
            ),
            (
                "-READONLY You can't write against a read only replica.\r\n",
                Remedy::Replace,
            ),
            ("-MASTERDOWN Link with MASTER is down\r\n", Remedy::Replace),
            (
                "-ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You can't write against a read only replica. \r\n",
                Remedy::Replace,
            ),
        ] {
            let (fault, chosen) = answered(line);
            assert_eq!(fault.kind(), "unready", "{line}");
            assert!(fault.to_string().contains(line[1..].trim_end()), "{fault}");
            assert_eq!(chosen, remedy, "{line}");
        }
    }

    #[test]
    fn a_missing_script_is_loaded_and_a_broken_connection_replaced() {
        assert_eq!(
            answered("-NOSCRIPT No matching script.\r\n").1,
            Remedy::LoadScript
        );
        let broken = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        let (fault, remedy) = classify(&broken, "claim", "db:6379");
        assert_eq!(
            (fault.kind(), remedy),
            ("unreachable", Remedy::ReplaceAndRetry)
        );
    }

    #[test]
    fn a_refusal_needs_a_person_and_anything_else_is_nonsense() {
        assert_eq!(
            answered("-NOAUTH Authentication required.\r\n").0.kind(),
            "unsuitable"
        );
        assert_eq!(answered("-ERR unknown command\r\n").0.kind(), "nonsense");
    }
}
