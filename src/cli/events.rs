//! `puruto events`: what happened to a request, and what happens to it now.

use std::{io, time::Duration};

use clap::Args;
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, Whole, World, connect_whole, explain},
    show::plain,
};
use crate::{
    broker::nats::NatsClient,
    client::{ClientFault, Following},
    contract::{Event, EventKind, InvocationResult, PurutoName, RequestId},
};

/// How often it is looked whether there is a result of which nothing was told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long events are waited for that are on their way when the result is there.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Flags of `puruto events`.
#[derive(Args, Debug)]
pub(super) struct EventsArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Only the request of this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Go on until the request has its result, and end as `invoke` would
    #[arg(long)]
    follow: bool,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Shows the events that are kept, oldest first; then those that come, if that is asked for.
pub(super) async fn run(
    args: &EventsArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let fleet = connect_whole(world, &gathered).await?;
    let telling = Telling { args, world, fleet };
    let told = if args.follow {
        telling.follow().await
    } else {
        telling.stored().await
    };
    told.map_err(|stopped| match stopped {
        Stopped::Client(fault) => explain(&gathered, fault),
        Stopped::Io(error) => error.into(),
    })
}

/// Why nothing more is told.
enum Stopped {
    Client(ClientFault),
    Io(io::Error),
}

impl From<ClientFault> for Stopped {
    fn from(fault: ClientFault) -> Self {
        Self::Client(fault)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct Telling<'t> {
    args: &'t EventsArgs,
    world: &'t World,
    fleet: Whole,
}

impl Telling<'_> {
    async fn stored(&self) -> Result<Exit, Stopped> {
        let EventsArgs { id, target, .. } = self.args;
        let events = self.fleet.client.events(id, target.as_ref()).await?;
        for event in &events {
            self.show(event)?;
        }
        if events.is_empty() {
            self.world.output.error(format_args!(
                "puruto: nothing was told of {id}: events are kept for a day, and `events.of` says \
                 of which requests there are any; `puruto status` tells where it stands"
            ));
            return Ok(Exit::Error);
        }
        Ok(Exit::Ok)
    }

    async fn follow(&self) -> Result<Exit, Stopped> {
        let EventsArgs { id, target, .. } = self.args;
        let mut following = self.fleet.client.follow(id, target.as_ref()).await?;
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let result = loop {
            tokio::select! {
                biased;
                event = following.next() => {
                    let event = event?;
                    self.show(&event)?;
                    if event.kind == EventKind::Done {
                        break self.result().await?;
                    }
                }
                _ = looks.tick() => if let Some(result) = self.result().await? {
                    self.last_words(&mut following).await?;
                    break Some(result);
                }
            }
        };
        // Told of, and not kept any longer: it was there.
        Ok(result.as_ref().map_or(Exit::Ok, Exit::of))
    }

    async fn result(&self) -> Result<Option<InvocationResult>, ClientFault> {
        let EventsArgs { id, target, .. } = self.args;
        self.fleet.client.result(id, target.as_ref()).await
    }

    /// What was told before the result and is still on its way.
    async fn last_words(&self, following: &mut Following<NatsClient>) -> Result<(), Stopped> {
        while let Ok(event) = timeout(LAST_WORDS, following.next()).await {
            let event = event?;
            self.show(&event)?;
            if event.kind == EventKind::Done {
                break;
            }
        }
        Ok(())
    }

    fn show(&self, event: &Event) -> io::Result<()> {
        let output = &self.world.output;
        match output.reader(self.args.json) {
            Reader::Program => output.answer(String::from_utf8_lossy(&event.to_json())),
            Reader::Person => output.answer(readable(event)),
        }
    }
}

fn readable(event: &Event) -> String {
    let Event {
        at, kind, target, ..
    } = event;
    let attempt = event.attempt.map(|it| format!("  attempt {it}"));
    let details = event.details.iter().map(|(key, value)| {
        let value = match value {
            Value::String(text) => plain(text),
            value => value.to_string(),
        };
        format!("  {key} {value}")
    });
    let details: String = details.collect();
    let attempt = attempt.unwrap_or_default();
    format!("{at}  {:<15}  {target}{attempt}{details}", kind.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::WallTime;

    #[test]
    fn a_person_reads_when_what_happened_to_whom() {
        let details = json!({"worker": "w\u{1b}[2J", "children": 2});
        let event = Event {
            kind: EventKind::Delegated,
            at: WallTime::from_unix_millis(1_780_000_000_250),
            target: "puruto-research".parse().unwrap(),
            request_id: "r".parse().unwrap(),
            correlation_id: "c".parse().unwrap(),
            attempt: Some(2),
            details: details.as_object().unwrap().clone(),
        };
        assert_eq!(
            readable(&event),
            "2026-05-28T20:26:40.25Z  delegated        puruto-research  attempt 2  worker w[2J  \
             children 2"
        );
    }
}
