//! `puruto invoke`: asks a Puruto and waits for the result.

use std::{
    io::{self, Read},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use clap::Args;
use serde_json::json;

use super::{
    asker::{Asker, asker},
    exit::Exit,
    failure::Failure,
    output::{Output, Reader},
    progress,
    session::{GlobalArgs, World, connect, explain, workers_dir_flag},
    show,
    streaming::{self, Shown},
};
use crate::{
    client::{Exchange, Invocation, Invoked, Pending},
    clock::WallTime,
    config::{Environment, Gathered},
    contract::{
        ActionName, CorrelationId, Hop, InvalidId, Lane, PROMPT_BYTES_MAX, PurutoName, RequestId,
        TimeoutSec,
    },
    policy::PolicySet,
    telemetry::propagation::{self, TraceContext},
};

/// Flags of `puruto invoke`.
#[derive(Args, Debug)]
pub(super) struct InvokeArgs {
    /// TARGET ACTION PROMPT, in this order; those given by flag are left out. `-` as the prompt
    /// reads it from standard input
    #[arg(value_name = "TARGET ACTION PROMPT", num_args = 0..=3)]
    words: Vec<String>,
    /// Who is asked
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// What it is asked to do
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// The instruction; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Who asks (default: the owner of ./.puruto-ipc.json, else client.caller)
    #[arg(long, value_name = "NAME")]
    caller: Option<PurutoName>,
    /// How long it may take, 1s to 24h (default: the caller's policy)
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    timeout: Option<TimeoutSec>,
    /// A moment that can only shorten that, in RFC 3339
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    deadline: Option<WallTime>,
    /// The chain to which it belongs (default: a fresh one)
    #[arg(long, value_name = "ID")]
    correlation_id: Option<CorrelationId>,
    /// Its id (default: a fresh one); the same id with the same content is the same request
    #[arg(long, value_name = "ID")]
    request_id: Option<RequestId>,
    /// How urgent it is: high, normal or low
    #[arg(long, value_name = "LANE", default_value = "normal")]
    priority: Lane,
    /// How deep in a chain of delegations it stands, 0 to 64
    #[arg(long, value_name = "N", default_value = "0", value_parser = hop)]
    hop: Hop,
    /// Print the ids and do not wait for the result
    #[arg(long)]
    detach: bool,
    /// Show the answer while it is being written, if its target tells it (`stream = true`)
    #[arg(long, conflicts_with = "detach")]
    stream: bool,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
    /// The folder of the fleet's Purutos, where the caller's policy stands
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<PathBuf>,
}

/// What `--timeout` takes.
const TIMES: &str = "expected 1s to 24h, such as 90s or 2m";

/// Seconds, or a time with its unit; a part of a second counts as a whole one.
fn timeout(text: &str) -> Result<TimeoutSec, String> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let time = humantime::parse_duration(text).map_err(|_unread| TIMES.to_owned())?;
            time.as_secs() + u64::from(time > Duration::from_secs(time.as_secs()))
        }
    };
    TimeoutSec::new(seconds).ok_or_else(|| TIMES.to_owned())
}

fn moment(text: &str) -> Result<WallTime, &'static str> {
    WallTime::parse_rfc3339(text).ok_or("expected RFC 3339, such as 2026-11-30T04:22:35Z")
}

fn hop(text: &str) -> Result<Hop, &'static str> {
    let hop = text.parse().ok().and_then(Hop::new);
    hop.ok_or("expected an integer from 0 to 64")
}

/// An invocation that is ready to go, and how its answer is shown.
#[derive(Debug)]
pub(super) struct Prepared {
    invocation: Invocation,
    policies: PolicySet,
    gathered: Gathered,
    wait: Wait,
    json: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The result.
    Result,
    /// The result, and every word of the answer before.
    EachWord,
    /// Nothing.
    Nothing,
}

impl InvokeArgs {
    /// Reads and checks everything that needs no server.
    pub(super) fn prepare(
        self,
        global: &GlobalArgs,
        world: &mut World,
    ) -> Result<Prepared, Failure> {
        let flags = workers_dir_flag(self.workers_dir.as_deref());
        let gathered = global.gather(world, flags)?;
        let [target, action, prompt] = words(self.words, [self.target, self.action, self.prompt])?;
        let (target, action) = (
            name::<PurutoName>("target", &target)?,
            name::<ActionName>("action", &action)?,
        );
        let prompt = match prompt.as_str() {
            "-" => read_prompt(&mut *world.stdin)?,
            _ => prompt,
        };
        let Asker { caller, policies } = asker(self.caller, &world.folder, &gathered.config)?;
        let invocation = Invocation {
            timeout: self.timeout,
            deadline: self.deadline,
            hop: self.hop,
            lane: self.priority,
            request_id: self.request_id,
            correlation_id: self.correlation_id,
            trace: trace_of(&world.environment),
            ..Invocation::new(caller, target, action, prompt)
        };
        Ok(Prepared {
            invocation,
            policies,
            gathered,
            wait: match (self.detach, self.stream) {
                (true, _) => Wait::Nothing,
                (false, true) => Wait::EachWord,
                (false, false) => Wait::Result,
            },
            json: self.json,
        })
    }
}

/// Target, action and prompt: each by its flag, else by the next word.
fn words(given: Vec<String>, flags: [Option<String>; 3]) -> Result<[String; 3], Failure> {
    let mut rest = given.into_iter();
    let [target, action, prompt] = flags.map(|flag| flag.or_else(|| rest.next()));
    if let Some(extra) = rest.next() {
        return Err(Failure::Usage(format!(
            "{extra:?} is one word too many: quote a prompt of several words"
        )));
    }
    let missing = |what: &str| {
        Failure::Usage(format!(
            "the {what} is missing: puruto invoke TARGET ACTION PROMPT"
        ))
    };
    Ok([
        target.ok_or_else(|| missing("target"))?,
        action.ok_or_else(|| missing("action"))?,
        prompt.ok_or_else(|| missing("prompt"))?,
    ])
}

fn name<T: FromStr<Err = InvalidId>>(what: &str, text: &str) -> Result<T, Failure> {
    let wrong = |error| Failure::Usage(format!("the {what} is no name: {error}"));
    text.parse().map_err(wrong)
}

/// Reads no more than a prompt can hold, and one byte to see that there is more.
fn read_prompt(stdin: &mut dyn Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(PROMPT_BYTES_MAX).unwrap_or(u64::MAX);
    stdin.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > PROMPT_BYTES_MAX {
        let text = format!("the prompt on standard input has more than {PROMPT_BYTES_MAX} bytes");
        return Err(Failure::Usage(text));
    }
    let no_text = |_| Failure::Usage("the prompt on standard input is no UTF-8".to_owned());
    String::from_utf8(bytes).map_err(no_text)
}

/// Where the calling program stands in a trace, by the variables that shells pass on.
fn trace_of(environment: &Environment) -> TraceContext {
    propagation::parent_of(|header| environment.get(&header.as_str().to_uppercase()))
}

/// Asks, waits, shows.
pub(super) async fn run(prepared: Prepared, world: &World) -> Result<Exit, Failure> {
    let Prepared {
        invocation,
        policies,
        gathered,
        wait,
        json,
    } = prepared;
    let client = connect(world, &gathered, policies).await?;
    let asked = format!("{} {}", invocation.target, invocation.action);
    let target = invocation.target.clone();
    let explain = |fault| explain(&gathered, fault);
    let (output, reader) = (&world.output, world.output.reader(json));
    let (invoked, hearing) = match wait {
        Wait::EachWord => {
            let both = client.invoke_heard(invocation).await;
            both.map(|(invoked, hearing)| (invoked, Some(hearing)))
        }
        Wait::Result | Wait::Nothing => {
            let invoked = client.invoke(invocation).await;
            invoked.map(|invoked| (invoked, None))
        }
    }
    .map_err(explain)?;
    let (result, shown) = match (invoked, hearing) {
        (Invoked::Refused(result), _) => (result, Shown::Partly),
        (Invoked::Pending(pending), _) if wait == Wait::Nothing => {
            show_ids(&pending, output, reader)?;
            return Ok(Exit::Ok);
        }
        (Invoked::Pending(pending), Some(hearing)) => {
            let both = (pending, hearing);
            streaming::wait(&client, both, &target, (output, reader), &gathered).await?
        }
        (Invoked::Pending(pending), None) => {
            let spinner = progress::spinner(reader);
            let waited = progress::wait(&client, pending, &target, spinner.as_ref());
            (waited.await.map_err(explain)?, Shown::Partly)
        }
    };
    match shown {
        Shown::Partly => show::result(output, reader, Some(&asked), &result)?,
        Shown::Wholly => show::ending(output, &asked, &result)?,
    }
    Ok(Exit::of(&result))
}

/// By these the result is found.
fn show_ids<E: Exchange>(pending: &Pending<E>, output: &Output, reader: Reader) -> io::Result<()> {
    let (request, chain) = (pending.request_id(), pending.correlation_id());
    output.answer(match reader {
        Reader::Program => json!({"request_id": request, "correlation_id": chain}).to_string(),
        Reader::Person => format!("request      {request}\ncorrelation  {chain}"),
    })
}
