//! What keeps a request from being finished, in plain words. Decided from what was found, and from
//! nothing else.

use std::time::Duration;

use serde_json::{Value, json};

use super::facts::{Ahead, Ending, Facts, Stands};
use crate::{
    contract::Lane,
    inspect::{Server, Trouble},
};

/// One reason, as deep below the request that was asked about as the chain goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// How deep.
    pub depth: usize,
    /// A stable word for programs.
    pub kind: &'static str,
    /// The reason in words, for people.
    pub text: String,
    request: String,
    target: String,
}

impl Reason {
    /// The request that it is about.
    #[must_use]
    pub fn of(&self) -> String {
        format!("{} of {}", self.request, self.target)
    }

    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "depth": self.depth,
            "request_id": self.request,
            "target": self.target,
            "reason": self.kind,
            "message": self.text,
        })
    }
}

/// Every reason, from the request itself down to the root causes.
#[must_use]
pub fn reasons(facts: &Facts) -> Vec<Reason> {
    let mut reasons = Vec::new();
    explain(facts, 0, &mut reasons);
    reasons
}

fn explain(facts: &Facts, depth: usize, reasons: &mut Vec<Reason>) {
    let mut say = |kind: &'static str, text: String| {
        reasons.push(Reason {
            depth,
            kind,
            text,
            request: facts.key.request.to_string(),
            target: facts.key.target.to_string(),
        });
    };
    let (kind, text) = stands(facts);
    say(kind, text);
    if matters(&facts.stands) {
        for server in &facts.servers {
            say(trouble_kind(server.trouble), trouble(server));
        }
    }
    if let (Some(left), false) = (facts.left, matches!(facts.stands, Stands::Done(_))) {
        say("deadline", deadline(left));
    }
    if let Stands::Waiting { running, more, .. } = &facts.stands {
        running
            .iter()
            .for_each(|child| explain(child, depth + 1, reasons));
        if *more > 0 {
            reasons.push(Reason {
                depth: depth + 1,
                kind: "more",
                text: format!("and {more} more"),
                request: facts.key.request.to_string(),
                target: facts.key.target.to_string(),
            });
        }
    }
}

/// Whether trouble at a model server can be what holds it up.
const fn matters(stands: &Stands) -> bool {
    match stands {
        Stands::Running { .. } | Stands::GivenBack { .. } | Stands::Queued { .. } => true,
        Stands::Done(_)
        | Stands::Unknown
        | Stands::Cancelling
        | Stands::Orphaned { .. }
        | Stands::Waiting { .. }
        | Stands::AwaitingVerdict => false,
    }
}

fn stands(facts: &Facts) -> (&'static str, String) {
    let target = &facts.key.target;
    match &facts.stands {
        Stands::Done(ending) => done(ending),
        Stands::Unknown => (
            "unknown",
            "nothing is known of it: it was never published, or all of it is forgotten".to_owned(),
        ),
        Stands::Queued { workers: 0, .. }
        | Stands::GivenBack { workers: 0 }
        | Stands::Orphaned { workers: 0 } => {
            let text = format!("it lies in the queue and no worker of {target} is alive");
            ("no_worker", text)
        }
        Stands::Queued {
            lane,
            ahead,
            workers,
        } => queued(*lane, *ahead, *workers),
        Stands::GivenBack { .. } => (
            "backing_off",
            "a worker gave it back; it is delivered again within moments".to_owned(),
        ),
        Stands::Cancelling => (
            "cancelling",
            "somebody cancelled it; it ends as soon as its worker hears of it".to_owned(),
        ),
        Stands::Running {
            worker,
            since,
            attempt,
        } => running(worker.as_deref(), *since, *attempt),
        Stands::Orphaned { .. } => (
            "orphaned",
            "the worker that had it is dead; another one takes it over".to_owned(),
        ),
        Stands::Waiting { wanted, ended, .. } => {
            let text =
                format!("it waits for requests that it made: {ended} of {wanted} have ended");
            ("waiting", text)
        }
        Stands::AwaitingVerdict => {
            let text = format!(
                "it waits to be approved: `puruto approve {} --by NAME`, or `reject`",
                facts.key.request
            );
            ("approval", text)
        }
    }
}

fn done(ending: &Ending) -> (&'static str, String) {
    match ending {
        Ending::Ok => ("done", "it is finished: its result is ok".to_owned()),
        Ending::Forgotten => (
            "done",
            "it is finished; its result is no longer kept".to_owned(),
        ),
        Ending::Error {
            message,
            good: Some(good),
            ..
        } => (
            "budget",
            format!("it is finished: its budget of {good} is used up: {message}"),
        ),
        Ending::Error {
            code,
            message,
            good: None,
        } => (
            "done",
            format!("it is finished: its result is {}: {message}", code.as_str()),
        ),
    }
}

fn queued(lane: Lane, ahead: Ahead, workers: usize) -> (&'static str, String) {
    let workers = counted(workers as u64, "worker");
    let lane = lane.as_str();
    let text = match ahead {
        Ahead::Exactly(0) => format!("it is the next of its lane ({lane}); {workers} alive"),
        Ahead::Exactly(ahead) => {
            let before = counted(ahead, "request");
            format!("it is queued behind {before} of its lane ({lane}); {workers} alive")
        }
        Ahead::AtLeast(ahead) => format!(
            "it is queued behind more than {ahead} requests of its lane ({lane}); {workers} alive"
        ),
        Ahead::Delivered => "it was delivered, and whoever got it has not claimed it (yet)".into(),
        Ahead::NoLane => "no worker ever pulled from its lane".into(),
    };
    ("queued", text)
}

fn running(worker: Option<&str>, since: Duration, attempt: u32) -> (&'static str, String) {
    let worker = worker.map_or_else(|| "a worker".to_owned(), |it| format!("worker {it}"));
    let since = rough(since);
    let text = if attempt > 1 {
        format!("{worker} has it, in its attempt {attempt}; first claimed {since} ago")
    } else {
        format!("{worker} has had it for {since}")
    };
    ("running", text)
}

const fn trouble_kind(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::Open { .. } => "circuit_open",
        Trouble::Throttled { .. } => "rate_limited",
    }
}

fn trouble(server: &Server) -> String {
    let name = &server.name;
    match server.trouble {
        Trouble::Open {
            failed_percent,
            retry_in,
            ..
        } => format!(
            "the circuit breaker of its model ({name}) is open, {failed_percent} % of the calls \
             failed; it is tried again in {}",
            rough(retry_in)
        ),
        Trouble::Throttled { wait } => {
            format!(
                "its model ({name}) is rate limited; the next call goes in {}",
                rough(wait)
            )
        }
    }
}

fn deadline(left: Duration) -> String {
    if left.is_zero() {
        "its deadline has passed: it ends as TIMEOUT as soon as somebody looks".to_owned()
    } else {
        format!("its deadline is in {}", rough(left))
    }
}

fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// Whole seconds, unless there is less than one.
fn rough(time: Duration) -> String {
    let time = match time.as_secs() {
        0 => Duration::from_millis(u64::from(time.subsec_millis())),
        seconds => Duration::from_secs(seconds),
    };
    humantime::format_duration(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{circuit::BreakerState, contract::ErrorCode, store::RequestKey};

    fn facts(id: &str, stands: Stands) -> Facts {
        Facts {
            key: RequestKey {
                target: "puruto-financial".parse().unwrap(),
                request: id.parse().unwrap(),
            },
            stands,
            left: Some(Duration::from_secs(60)),
            servers: Vec::new(),
        }
    }

    fn kinds(facts: &Facts) -> Vec<(usize, &'static str)> {
        reasons(facts)
            .iter()
            .map(|it| (it.depth, it.kind))
            .collect()
    }

    fn queued(ahead: Ahead, workers: usize) -> Stands {
        Stands::Queued {
            lane: Lane::Normal,
            ahead,
            workers,
        }
    }

    #[test]
    fn a_queued_request_says_what_is_before_it_and_who_could_take_it() {
        let said = |stands| reasons(&facts("r", stands)).remove(0);
        let behind = said(queued(Ahead::Exactly(3), 1));
        assert_eq!(
            behind.text,
            "it is queued behind 3 requests of its lane (normal); 1 worker alive"
        );
        let alone = said(queued(Ahead::Exactly(0), 0));
        assert_eq!(alone.kind, "no_worker");
        assert!(
            alone
                .text
                .contains("no worker of puruto-financial is alive")
        );
    }

    #[test]
    fn a_waiting_request_is_followed_to_its_root_causes() {
        let deepest = facts("deepest", queued(Ahead::Exactly(0), 0));
        let verdict = facts("verdict", Stands::AwaitingVerdict);
        let child = facts(
            "child",
            Stands::Waiting {
                wanted: 1,
                ended: 0,
                running: vec![deepest],
                more: 0,
            },
        );
        let root = facts(
            "root",
            Stands::Waiting {
                wanted: 3,
                ended: 1,
                running: vec![child, verdict],
                more: 0,
            },
        );
        let told = kinds(&root);
        let expected = [
            (0, "waiting"),
            (0, "deadline"),
            (1, "waiting"),
            (1, "deadline"),
            (2, "no_worker"),
            (2, "deadline"),
            (1, "approval"),
            (1, "deadline"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_server_in_trouble_is_named_where_it_can_hold_a_request_up() {
        let server = Server {
            name: "openai host m".to_owned(),
            trouble: Trouble::Open {
                state: BreakerState::Open,
                failed_percent: 80,
                retry_in: Duration::from_millis(7_400),
            },
        };
        let mut running = facts(
            "r",
            Stands::Running {
                worker: Some("w-1".to_owned()),
                since: Duration::from_secs(5),
                attempt: 2,
            },
        );
        running.servers.push(server);
        let told = reasons(&running);
        assert_eq!(
            told[0].text,
            "worker w-1 has it, in its attempt 2; first claimed 5s ago"
        );
        assert_eq!(told[1].kind, "circuit_open");
        assert!(
            told[1].text.contains("tried again in 7s"),
            "{}",
            told[1].text
        );
        let mut waiting = facts("r", Stands::AwaitingVerdict);
        waiting.servers = running.servers;
        assert_eq!(kinds(&waiting), [(0, "approval"), (0, "deadline")]);
    }

    #[test]
    fn a_finished_request_says_so_and_nothing_of_a_deadline() {
        let ok = facts("r", Stands::Done(Ending::Ok));
        assert_eq!(kinds(&ok), [(0, "done")]);
        let exhausted = Ending::Error {
            code: ErrorCode::BudgetExhausted,
            message: "8 of 8".to_owned(),
            good: Some("steps".to_owned()),
        };
        assert_eq!(kinds(&facts("r", Stands::Done(exhausted))), [(0, "budget")]);
    }

    #[test]
    fn a_deadline_that_has_passed_is_told_as_such() {
        let mut late = facts("r", queued(Ahead::Delivered, 1));
        late.left = Some(Duration::ZERO);
        let told = reasons(&late);
        assert!(told[1].text.contains("has passed"), "{}", told[1].text);
    }
}
