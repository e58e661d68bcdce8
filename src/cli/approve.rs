//! `puruto approve` and `puruto reject`: decides about a request that waits to be approved.

use clap::Args;
use serde_json::json;

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect_whole, explain},
    show::plain,
};
use crate::{
    client::Queued,
    contract::{PurutoName, RequestId},
    store::kin::{Verdict, VerdictAnswer},
};

/// Of a prompt a person is shown so many characters.
const PROMPT_SHOWN: usize = 2_000;

/// Flags of `puruto approve` and `puruto reject`.
#[derive(Args, Debug)]
pub(super) struct DecideArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Who decides
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Why; who asked is told
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Only the request of this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Lets it run.
pub(super) async fn approve(
    args: &DecideArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    decide(args, global, world, "approved").await
}

/// Refuses it.
pub(super) async fn reject(
    args: &DecideArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    decide(args, global, world, "rejected").await
}

async fn decide(
    args: &DecideArgs,
    global: &GlobalArgs,
    world: &World,
    word: &'static str,
) -> Result<Exit, Failure> {
    if args.by.trim().is_empty() {
        return Err(Failure::Usage("--by names whoever decides".to_owned()));
    }
    let gathered = global.gather(world, Vec::new())?;
    let client = connect_whole(world, &gathered).await?.client;
    let queued = client.to_decide(&args.id, args.target.as_ref()).await;
    let queued = queued.map_err(|fault| explain(&gathered, fault))?;
    let verdict = Verdict {
        approved: word == "approved",
        by: args.by.clone(),
        note: args.note.clone(),
        fingerprint: queued.request.fingerprint(),
    };
    let answer = client.decide(&queued.key(), &verdict).await;
    let answer = answer.map_err(|fault| explain(&gathered, fault))?;
    let outcome = Outcome::of(&answer, &verdict);
    world.output.answer(match world.output.reader(args.json) {
        Reader::Program => outcome.to_json(&queued, &verdict),
        Reader::Person => outcome.readable(&queued, &verdict),
    })?;
    Ok(outcome.exit)
}

/// What deciding came to, for whoever decided.
struct Outcome {
    word: &'static str,
    meaning: String,
    exit: Exit,
}

impl Outcome {
    fn of(answer: &VerdictAnswer, ours: &Verdict) -> Self {
        let (word, meaning, exit) = match answer {
            VerdictAnswer::Taken if ours.approved => {
                ("taken", "approved: it runs".into(), Exit::Ok)
            }
            VerdictAnswer::Taken => ("taken", "rejected: it ends".into(), Exit::Ok),
            VerdictAnswer::Decided(before) => (
                "decided_before",
                format!("{} decided before: {}", before.by, said(before)),
                if before.approved == ours.approved {
                    Exit::Ok
                } else {
                    Exit::Error
                },
            ),
            VerdictAnswer::Mismatch => (
                "mismatch",
                "another request with this id waits to be approved, not the one that lies here"
                    .into(),
                Exit::Error,
            ),
            VerdictAnswer::NotAsked => {
                let meaning = "it does not wait to be approved (yet)".into();
                ("not_asked", meaning, Exit::Error)
            }
        };
        Self {
            word,
            meaning,
            exit,
        }
    }

    fn to_json(&self, queued: &Queued, verdict: &Verdict) -> String {
        let request = &queued.request;
        let told = json!({
            "request_id": request.request_id,
            "correlation_id": request.correlation_id,
            "target": queued.target,
            "action": request.action,
            "verdict": said(verdict),
            "by": verdict.by,
            "note": verdict.note,
            "fingerprint": verdict.fingerprint.to_string(),
            "answer": self.word,
            "message": self.meaning,
        });
        told.to_string()
    }

    fn readable(&self, queued: &Queued, verdict: &Verdict) -> String {
        let request = &queued.request;
        let prompt: String = request.prompt.chars().take(PROMPT_SHOWN).collect();
        format!(
            "{}\n\nrequest      {}\nasks         {} {}\nasked by     {}\nfingerprint  {}\n\n{}",
            plain(&self.meaning),
            request.request_id,
            queued.target,
            request.action,
            request.caller,
            verdict.fingerprint,
            plain(&prompt),
        )
    }
}

const fn said(verdict: &Verdict) -> &'static str {
    if verdict.approved {
        "approved"
    } else {
        "rejected"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Fingerprint;

    fn verdict(approved: bool) -> Verdict {
        Verdict {
            approved,
            by: "ana".to_owned(),
            note: None,
            fingerprint: Fingerprint::of_bytes(b"x"),
        }
    }

    #[test]
    fn whoever_decides_against_an_earlier_verdict_is_told_of_it() {
        let outcome = Outcome::of(&VerdictAnswer::Decided(verdict(true)), &verdict(false));
        assert_eq!(outcome.exit, Exit::Error);
        assert_eq!(outcome.meaning, "ana decided before: approved");
        let same = Outcome::of(&VerdictAnswer::Decided(verdict(true)), &verdict(true));
        assert_eq!(same.exit, Exit::Ok);
    }

    #[test]
    fn what_waits_for_nobody_is_not_decided() {
        for answer in [VerdictAnswer::NotAsked, VerdictAnswer::Mismatch] {
            assert_eq!(Outcome::of(&answer, &verdict(true)).exit, Exit::Error);
        }
        let taken = Outcome::of(&VerdictAnswer::Taken, &verdict(true));
        assert_eq!((taken.word, taken.exit), ("taken", Exit::Ok));
    }
}
