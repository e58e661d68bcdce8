//! What is asked of a target: whose request it is and how long it shall take, as a text that model
//! and program read back.

use std::{fmt, str::FromStr, time::Duration};

use crate::contract::RequestId;

/// How long an execution takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// As long as most do.
    Moments,
    /// Some seconds.
    Seconds,
    /// Longer than any request may take.
    Ages,
}

impl Takes {
    const ALL: [Self; 3] = [Self::Moments, Self::Seconds, Self::Ages];

    /// As it stands in a prompt.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Moments => "moments",
            Self::Seconds => "seconds",
            Self::Ages => "ages",
        }
    }

    /// How long at our own model, whose answers are numbered.
    pub(super) const fn at_model(self, number: u64) -> Duration {
        match self {
            Self::Moments => Duration::from_millis(20 + 37 * number % 380),
            Self::Seconds => Duration::from_millis(2_000 + 370 * number % 2_000),
            Self::Ages => Duration::from_secs(600),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) request: RequestId,
    pub(super) takes: Takes,
}

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} takes {}", self.request, self.takes.as_str())
    }
}

impl FromStr for Prompt {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (request, takes) = text.split_once(" takes ").ok_or(())?;
        let named = |it: &Takes| takes.starts_with(it.as_str());
        Ok(Self {
            request: request.parse().map_err(drop)?,
            takes: Takes::ALL.into_iter().find(named).ok_or(())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_reads_back() {
        for takes in Takes::ALL {
            let request = "r-7".parse().expect("an id");
            let prompt = Prompt { request, takes };
            assert_eq!(prompt.to_string().parse(), Ok(prompt));
        }
        assert_eq!("hello".parse::<Prompt>(), Err(()));
    }
}
