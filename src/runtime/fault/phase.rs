//! The parts of an attempt that have a bound of their own.

use std::time::Duration;

use humantime::format_duration;

/// What took longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for leave to use one of our connections.
    Acquire,
    /// Making a connection: name, TCP, TLS.
    Connect,
    /// From the request to the head of its answer.
    FirstByte,
    /// From one piece of the answer to the next.
    BetweenBytes,
    /// Everything together.
    Attempt,
}

impl Phase {
    /// What it means that this part was not over `after` so long.
    pub(super) fn overrun(self, after: Duration) -> String {
        let after = format_duration(after);
        match self {
            Self::Acquire => format!(
                "none of our connections to the model server became free within {after}; \
                 raise runtime.connections_per_host or runtime.connections"
            ),
            Self::Connect => format!("no connection to the model server was made within {after}"),
            Self::FirstByte => format!("the model server began no answer within {after}"),
            Self::BetweenBytes => {
                format!("the model server fell silent for {after} in the middle of its answer")
            }
            Self::Attempt => format!("the model server gave no answer within {after}"),
        }
    }

    /// The fault in one word.
    pub(super) const fn error_type(self) -> &'static str {
        match self {
            // Tells an operator that the pool is too small, not that a server is slow.
            Self::Acquire => "acquire_timeout",
            Self::Connect | Self::FirstByte | Self::BetweenBytes | Self::Attempt => "timeout",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_own_words_and_names_its_bound() {
        let after = Duration::from_secs(90);
        let said = [
            Phase::Acquire,
            Phase::Connect,
            Phase::FirstByte,
            Phase::BetweenBytes,
            Phase::Attempt,
        ]
        .map(|phase| phase.overrun(after));
        for (nth, words) in said.iter().enumerate() {
            assert!(words.contains("1m 30s"), "{words}");
            assert!(!said[..nth].contains(words), "twice: {words}");
        }
    }
}
