//! Which dead letters a verb is about.

use std::{str::FromStr, time::Duration};

use clap::Args;

use crate::{
    broker::DeadReason,
    cli::{
        failure::Failure,
        session::{FleetClient, GlobalArgs, World, connect, explain},
    },
    client::{ClientFault, LetterFilter},
    clock::WallTime,
    config::Gathered,
    contract::{CorrelationId, PurutoName, RequestId},
    policy::PolicySet,
};

/// Flags that say which letters are meant: those that fit all of them.
#[derive(Args, Debug, Default)]
pub(super) struct FilterArgs {
    /// Letters of requests to this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Letters that are dead for this reason
    #[arg(long, value_parser = reason, value_name = "poisoned|unreadable|malformed")]
    reason: Option<DeadReason>,
    /// Letters from then on: a time such as 2026-01-31T12:00:00Z, or so long ago, such as 2h
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Letters from before then, said in the same way
    #[arg(long, value_name = "TIME")]
    before: Option<Moment>,
    /// Letters of this request
    #[arg(long, value_name = "ID")]
    request_id: Option<RequestId>,
    /// Letters of this chain
    #[arg(long, value_name = "ID")]
    correlation_id: Option<CorrelationId>,
}

impl FilterArgs {
    /// The filter, at `now`.
    pub(super) fn at(&self, now: WallTime) -> LetterFilter {
        LetterFilter {
            target: self.target.clone(),
            reason: self.reason,
            since: self.since.map(|it| it.at(now)),
            before: self.before.map(|it| it.at(now)),
            request: self.request_id.clone(),
            correlation: self.correlation_id.clone(),
        }
    }

    const fn says_something(&self) -> bool {
        self.target.is_some()
            || self.reason.is_some()
            || self.since.is_some()
            || self.before.is_some()
            || self.request_id.is_some()
            || self.correlation_id.is_some()
    }
}

fn reason(text: &str) -> Result<DeadReason, String> {
    let found = DeadReason::ALL.into_iter().find(|it| it.as_str() == text);
    found.ok_or_else(|| {
        let known: Vec<_> = DeadReason::ALL.map(DeadReason::as_str).into();
        format!("expected one of {}", known.join(", "))
    })
}

/// A moment as a person says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    At(WallTime),
    Ago(Duration),
}

impl Moment {
    fn at(self, now: WallTime) -> WallTime {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => {
                let ago = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
                WallTime::from_unix_millis(now.unix_millis().saturating_sub(ago))
            }
        }
    }
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let at = WallTime::parse_rfc3339(text).map(Self::At);
        let ago = || humantime::parse_duration(text).ok().map(Self::Ago);
        at.or_else(ago)
            .ok_or("expected a time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h")
    }
}

/// The letters that were chosen, and who sees to them.
pub(super) struct Chosen {
    /// Their sequences, oldest first unless they were named.
    pub(super) sequences: Vec<u64>,
    pub(super) client: FleetClient,
    pub(super) gathered: Gathered,
}

/// Arguments of the verbs that do something to letters.
#[derive(Args, Debug, Default)]
pub(super) struct ChoiceArgs {
    /// These letters, by the sequence that `puruto dlq list` shows
    #[arg(value_name = "SEQ")]
    sequences: Vec<u64>,
    #[command(flatten)]
    filter: FilterArgs,
    /// All letters
    #[arg(long)]
    all: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON on a terminal as well
    #[arg(long)]
    pub(super) json: bool,
}

impl ChoiceArgs {
    /// Connects, and finds the letters that are meant.
    ///
    /// # Errors
    ///
    /// It is not said in one way which those are, or the fleet gives no answer.
    pub(super) async fn find(&self, global: &GlobalArgs, world: &World) -> Result<Chosen, Failure> {
        self.check()?;
        let gathered = global.gather(world, Vec::new())?;
        let client = connect(world, &gathered, PolicySet::default()).await?;
        let sequences = self.sequences(&client, world.clock.now()).await;
        Ok(Chosen {
            sequences: sequences.map_err(|fault| explain(&gathered, fault))?,
            client,
            gathered,
        })
    }

    /// That it is said in one way which letters are meant.
    fn check(&self) -> Result<(), Failure> {
        let ways = [
            !self.sequences.is_empty(),
            self.filter.says_something(),
            self.all,
        ];
        match ways.into_iter().filter(|way| *way).count() {
            1 => Ok(()),
            0 => Err(Failure::Usage(
                "which letters? name them by SEQ, by a filter such as --target, or say --all"
                    .to_owned(),
            )),
            _ => Err(Failure::Usage(
                "say which letters in one way: by SEQ, by filters, or by --all".to_owned(),
            )),
        }
    }

    /// The sequences of the letters that are there now; those that were named, as named.
    async fn sequences(
        &self,
        client: &FleetClient,
        now: WallTime,
    ) -> Result<Vec<u64>, ClientFault> {
        if self.sequences.is_empty() {
            return client.letter_sequences(&self.filter.at(now)).await;
        }
        Ok(self.sequences.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_how_long_ago() {
        let now = WallTime::from_unix_millis(1_700_000_000_000);
        let moment = |text: &str| text.parse::<Moment>().map(|it| it.at(now).to_string());
        assert_eq!(moment("2h"), Ok("2023-11-14T20:13:20Z".to_owned()));
        let time = "2026-01-31T12:00:00Z";
        assert_eq!(moment(time), Ok(time.to_owned()));
        assert!(moment("yesterday").is_err());
    }

    #[test]
    fn letters_are_chosen_in_one_way() {
        let by_sequence = || ChoiceArgs {
            sequences: vec![1],
            ..ChoiceArgs::default()
        };
        assert!(by_sequence().check().is_ok());
        assert!(ChoiceArgs::default().check().is_err());
        let both = ChoiceArgs {
            all: true,
            ..by_sequence()
        };
        assert!(both.check().is_err());
    }
}
