//! The scenes of the demo in which one request says it all.

use super::{
    cast::{ASKER, SLOW},
    expected::{Expected, tokens},
    report::Report,
    stage::Caller,
};
use crate::{
    client::Invocation,
    contract::{ErrorCode, InvocationResult, Outcome, TimeoutSec},
};

/// A request of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) caller: &'static str,
    pub(super) target: &'static str,
    pub(super) action: &'static str,
    pub(super) prompt: &'static str,
    pub(super) expected: Expected,
}

/// The person at a terminal, as the shipped Purutos have it.
pub(super) const PERSON: &str = "puruto-cli";

/// One for each Puruto that the person may ask.
pub(super) const SHIPPED: [Line; 5] = [
    Line {
        caller: PERSON,
        target: "puruto-financial",
        action: "pay_invoice",
        prompt: "Paga la factura #123",
        expected: Expected::Says("Factura #123 pagada"),
    },
    Line {
        caller: PERSON,
        target: "puruto-reservations",
        action: "book_room",
        prompt: "A room for Ana, 3 to 5 May",
        expected: Expected::Says("A room for Ana, 3 to 5 May. Payment: "),
    },
    Line {
        caller: PERSON,
        target: "puruto-research",
        action: "find_cause",
        prompt: "api db 5433",
        expected: Expected::Says("5432"),
    },
    Line {
        caller: PERSON,
        target: "puruto-echo",
        action: "echo",
        prompt: "Is anybody there?",
        expected: Expected::Says("Is anybody there?"),
    },
    Line {
        caller: PERSON,
        target: "puruto-data",
        action: "read",
        prompt: "Lee el registro",
        expected: Expected::Says("R-101"),
    },
];

/// What no policy of the shipped ones allows.
const DENIED: Line = Line {
    caller: PERSON,
    target: "puruto-financial",
    action: "refund_invoice",
    prompt: "Refund #123",
    expected: Expected::Error(ErrorCode::Denied),
};

/// What cannot be done in a second.
const LATE: Line = Line {
    caller: ASKER,
    target: SLOW,
    action: "work",
    prompt: "Be quick",
    expected: Expected::Error(ErrorCode::Timeout),
};

impl Line {
    /// As the client takes it.
    pub(super) fn invocation(self) -> Invocation {
        let valid = "the names of the demo are valid, as its test holds";
        Invocation::new(
            self.caller.parse().expect(valid),
            self.target.parse().expect(valid),
            self.action.parse().expect(valid),
            self.prompt,
        )
    }

    /// As a person reads it.
    pub(super) fn in_words(self) -> String {
        let Self {
            target,
            action,
            prompt,
            ..
        } = self;
        format!("{target} {action} {prompt:?}")
    }
}

/// Each shipped Puruto is asked for something.
pub(super) async fn shipped(caller: &Caller, lines: &[Line], report: &mut Report) {
    report.part("Each Puruto that ships is asked for something");
    for line in lines {
        play(caller, *line, None, report).await;
    }
}

/// A call that the caller's policy does not allow.
pub(super) async fn denied(caller: &Caller, report: &mut Report) {
    report.part("A caller asks for what its policy does not allow");
    play(caller, DENIED, None, report).await;
}

/// A request that cannot be answered in time.
pub(super) async fn late(caller: &Caller, report: &mut Report) {
    report.part("A request with a time-out of 1 s goes to a Puruto that takes 1.2 s");
    play(caller, LATE, TimeoutSec::new(1), report).await;
}

async fn play(caller: &Caller, line: Line, timeout: Option<TimeoutSec>, report: &mut Report) {
    let invocation = Invocation {
        timeout,
        ..line.invocation()
    };
    let answer = caller.ask(invocation).await;
    let judged = match &answer {
        Ok(result) => line.expected.judge(result),
        Err(fault) => Err(fault.to_string()),
    };
    let costs = answer.as_ref().map_or_else(|_| String::new(), costs);
    let asked = format!("{}{costs}", line.in_words());
    match &judged {
        Ok(_) => report.right(&asked),
        Err(_) => report.wrong(&asked),
    }
    report.detail(&judged.unwrap_or_else(|wrong| wrong));
}

/// What the answer took.
fn costs(result: &InvocationResult) -> String {
    let took = format!("{} ms", result.duration.as_millis());
    let tokens = match &result.outcome {
        Outcome::Ok(value) => tokens(value),
        Outcome::Error(_) => None,
    };
    match tokens {
        Some(tokens) => format!("  [{took}, {tokens} tokens]"),
        None => format!("  [{took}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_demo_is_a_valid_request() {
        for line in SHIPPED.into_iter().chain([DENIED, LATE]) {
            assert_eq!(line.invocation().prompt, line.prompt);
        }
    }
}
