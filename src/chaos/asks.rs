//! What is asked of the fleet: a pure function of the seed.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    history::Expected,
    prompt::{Prompt, Takes},
};
use crate::{
    broker::Headers,
    clock::{Chance, WallTime},
    contract::{CorrelationId, ErrorCode, Header, Lane, PurutoName, RequestId},
};

/// Who asks; its policy lets it ask all targets for [`ACTION`].
pub(super) const CALLER: &str = "puruto-chaos";
/// A scripted model answers.
pub(super) const CLERK: &str = "chaos-clerk";
/// Our own stub of a model answers.
pub(super) const SCRIBE: &str = "chaos-scribe";
/// A program answers.
pub(super) const TOOL: &str = "chaos-tool";
/// Nobody answers.
pub(super) const NOBODY: &str = "chaos-nobody";
/// What may be asked for.
pub(super) const ACTION: &str = "do";

/// How many requests a chain has.
const CHAIN: u64 = 10;
/// A time-out that ends while the request is still thought about.
const SHORT: Duration = Duration::from_secs(3);

/// What is odd about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twist {
    /// Nothing.
    None,
    /// It is cancelled so long after it was accepted.
    Cancelled(Duration),
    /// It is published a second time so long after.
    Twice(Duration),
    /// Another payload is published under its id so long after.
    Contradicted(Duration),
    /// The policy says no.
    Forbidden,
    /// It breaks the contract.
    Broken,
    /// Its deadline had passed before it was sent.
    Expired,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) request: RequestId,
    pub(super) correlation: CorrelationId,
    pub(super) target: PurutoName,
    pub(super) lane: Lane,
    pub(super) timeout: Duration,
    pub(super) takes: Takes,
    pub(super) twist: Twist,
}

impl Ask {
    /// How it has to end.
    pub(super) fn expected(&self) -> Expected {
        match (self.twist, self.takes) {
            _ if self.target.as_str() == NOBODY => Expected::Refused(ErrorCode::TargetNotFound),
            (Twist::Forbidden, _) => Expected::Refused(ErrorCode::Denied),
            (Twist::Broken, _) => Expected::Refused(ErrorCode::IpcError),
            (Twist::Expired, _) | (_, Takes::Ages) => Expected::Refused(ErrorCode::Timeout),
            (
                Twist::None | Twist::Cancelled(_) | Twist::Twice(_) | Twist::Contradicted(_),
                Takes::Moments | Takes::Seconds,
            ) => Expected::Done,
        }
    }

    /// How long it may take.
    pub(super) fn within(&self) -> Duration {
        match self.twist {
            Twist::Expired => Duration::ZERO,
            _ => self.timeout,
        }
    }

    /// The message of its first publish.
    pub(super) fn message(&self, now: WallTime) -> (Headers, Vec<u8>) {
        let mut headers = Headers::new();
        headers.push(Header::MessageId, self.request.as_str());
        if self.twist == Twist::Expired {
            headers.push(Header::Deadline, &now.to_string());
        }
        (headers, self.body(&self.prompt()))
    }

    /// The message of its second publish, which the broker must not take for the first.
    pub(super) fn again(&self) -> Vec<u8> {
        match self.twist {
            Twist::Contradicted(_) => self.body(&format!("{} and more", self.prompt())),
            _ => self.body(&self.prompt()),
        }
    }

    fn prompt(&self) -> String {
        let (request, takes) = (self.request.clone(), self.takes);
        Prompt { request, takes }.to_string()
    }

    fn body(&self, prompt: &str) -> Vec<u8> {
        let action = match self.twist {
            Twist::Forbidden => "destroy",
            _ => ACTION,
        };
        let mut body = json!({
            "request_id": self.request, "correlation_id": self.correlation, "caller": CALLER,
            "target": self.target, "action": action, "prompt": prompt,
            "timeout_sec": self.timeout.as_secs(),
        });
        if let (Twist::Broken, Some(fields)) = (self.twist, body.as_object_mut()) {
            fields.insert("hop".to_owned(), Value::from(-1));
        }
        body.to_string().into_bytes()
    }
}

/// Draws requests, one after the other.
#[derive(Debug)]
pub(super) struct Asks {
    chance: Chance,
    /// The time-out of most.
    timeout: Duration,
    next: u64,
}

impl Asks {
    pub(super) fn new(seed: u64, timeout: Duration) -> Self {
        Self {
            // Not the draws of the schedule.
            chance: Chance::seeded(!seed),
            timeout,
            next: 0,
        }
    }

    fn below(&self, bound: u64) -> u64 {
        let drawn = self.chance.bits128() % u128::from(bound);
        u64::try_from(drawn).unwrap_or_default()
    }

    fn twist(&self) -> Twist {
        let soon = Duration::from_millis(self.below(600));
        match self.below(100) {
            0..7 => Twist::Cancelled(soon),
            7..12 => Twist::Twice(soon),
            12..15 => Twist::Contradicted(soon),
            15..17 => Twist::Forbidden,
            17..19 => Twist::Broken,
            19..21 => Twist::Expired,
            _ => Twist::None,
        }
    }

    /// The next one.
    pub(super) fn draw(&mut self) -> Ask {
        let number = self.next;
        self.next += 1;
        let twist = self.twist();
        let takes = match self.below(100) {
            0..3 if twist == Twist::None => Takes::Ages,
            3..15 => Takes::Seconds,
            _ => Takes::Moments,
        };
        let target = match self.below(100) {
            0..2 if twist == Twist::None && takes == Takes::Moments => NOBODY,
            0..55 => CLERK,
            55..85 => SCRIBE,
            _ => TOOL,
        };
        let lane = match self.below(10) {
            0 => Lane::High,
            1 => Lane::Low,
            _ => Lane::Normal,
        };
        Ask {
            request: id(format!("r-{number}")),
            correlation: id(format!("c-{}", number / CHAIN)),
            target: target.parse().expect("our own names are names"),
            lane,
            timeout: match takes {
                Takes::Ages => SHORT,
                Takes::Moments | Takes::Seconds => self.timeout,
            },
            takes,
            twist,
        }
    }
}

fn id<T: std::str::FromStr<Err = crate::contract::InvalidId>>(text: String) -> T {
    text.parse().expect("letters and digits are an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_what_is_asked() {
        let drawn = |seed| {
            let mut asks = Asks::new(seed, Duration::from_secs(60));
            let asks: Vec<_> = (0..200).map(|_| format!("{:?}", asks.draw())).collect();
            asks
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn a_contradiction_differs_from_what_it_contradicts_and_a_repetition_does_not() {
        let mut ask = Asks::new(1, Duration::from_secs(60)).draw();
        let now = WallTime::from_unix_millis(1);
        ask.twist = Twist::Twice(Duration::ZERO);
        assert_eq!(ask.message(now).1, ask.again());
        ask.twist = Twist::Contradicted(Duration::ZERO);
        assert_ne!(ask.message(now).1, ask.again());
    }
}
