//! The Purutos of a run: one that a scripted model answers for, one that our own stub answers for,
//! one that a program answers for, three that ask others, and the caller that may ask them.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde_json::{Value, json};

use super::{
    asks::{ACTION, CALLER, CLERK, MIRROR, NOBODY, PLANNER, RELAY, SCRIBE, TOOL},
    errand::HOPS_MAX,
};

/// The variable with the stub's key.
pub(super) const KEY_VARIABLE: &str = "PURUTO_CHAOS_KEY";

/// Its text and the words in prompts come from `prompt`.
const CLERK_WORKER: &str = r#"
concurrency = 8

[model]
provider = "simulated"
answer = "Answer to {prompt}"
latency = { min = "20ms", max = "400ms" }

[[model.rules]]
when = "takes seconds"
latency = { min = "2s", max = "4s" }

[[model.rules]]
when = "takes ages"
latency = "10m"
"#;

const TOOL_WORKER: &str = r#"
kind = "command"
concurrency = 4

[command]
argv = ["sh", "program"]
"#;

/// Its process id makes each answer another one.
const PROGRAM: &str = r#"
read -r request
id=${request#*'"request_id":"'} id=${id%%'"'*}
chain=${request#*'"correlation_id":"'} chain=${chain%%'"'*}
case $request in
  *"takes ages"*) exec sleep 600 ;;
  *"takes seconds"*) sleep 2 ;;
  *) sleep 0.1 ;;
esac
printf '{"request_id":"%s","correlation_id":"%s","status":"ok","duration_ms":1,' "$id" "$chain"
printf '"result":{"summary":"answer of %s"}}' $$
"#;

/// How many run slots a relay has in one worker: few, so that one that kept them while it waits
/// would soon stand still.
pub(super) const RELAY_SLOTS: usize = 2;

/// Its prompt is a script of decisions.
const PLANNER_WORKER: &str = r#"
kind = "agent"
concurrency = 2
tools = ["delegate", "report"]

[model]
provider = "policy"
"#;

/// Says what it is told to ask, then answers. Each of its turns is another process.
const RELAY_PROGRAM: &str = r#"
read -r request
id=${request#*'"request_id":"'} id=${id%%'"'*}
chain=${request#*'"correlation_id":"'} chain=${chain%%'"'*}
prompt=${request#*'"prompt":"'} prompt=${prompt%%'"'*}
case $request in
  *'"delegated":['*) turn=second ;;
  *) turn=first ;;
esac
case $turn$prompt in
  first*' asks '*) plan=${prompt#*' asks '} plan=${plan%%' then '*} ;;
  second*' then '*) plan=${prompt#*' then '} ;;
  *) plan= ;;
esac
case $request in
  *'"delegated":['*'"step":1,'*) plan= ;;
esac
if [ -n "$plan" ]; then
  printf '{"delegate":%s}' "$(printf %s "$plan" | base64 -d)"
  exit
fi
case $request in
  *'"target":"chaos-relay"'*) other=chaos-mirror ;;
  *) other=chaos-relay ;;
esac
case $turn$prompt in
  first*' echoes louder'*) echo=$prompt! ;;
  first*' echoes'*) echo=$prompt ;;
  *) echo= ;;
esac
if [ -n "$echo" ]; then
  printf '{"delegate":{"children":[{"target":"%s","action":"do","prompt":"%s"}]}}' "$other" "$echo"
  exit
fi
printf '{"request_id":"%s","correlation_id":"%s","status":"ok","duration_ms":1,' "$id" "$chain"
printf '"result":{"summary":"answer of %s"}}' $$
"#;

/// Writes their folders under `workers`.
pub(super) fn assemble(workers: &Path, base_url: &str) -> io::Result<()> {
    let scribe = format!(
        "concurrency = 8\n[model]\nprovider = \"openai\"\nbase_url = \"{base_url}\"\n\
         model = \"stub\"\napi_key_env = \"{KEY_VARIABLE}\"\n"
    );
    let relay = format!(
        "kind = \"command\"\nconcurrency = {RELAY_SLOTS}\n[command]\nargv = [\"sh\", \"program\"]\n"
    );
    write(&workers.join(CLERK).join("worker.toml"), CLERK_WORKER)?;
    write(&workers.join(SCRIBE).join("worker.toml"), &scribe)?;
    write(&workers.join(TOOL).join("worker.toml"), TOOL_WORKER)?;
    write(&workers.join(TOOL).join("program"), PROGRAM)?;
    for asker in [RELAY, MIRROR] {
        write(&workers.join(asker).join("worker.toml"), &relay)?;
        write(&workers.join(asker).join("program"), RELAY_PROGRAM)?;
    }
    let planner = workers.join(PLANNER).join("worker.toml");
    write(&planner, PLANNER_WORKER)?;
    for asker in [CALLER, RELAY, MIRROR, PLANNER] {
        let path = workers.join(asker).join(".puruto-ipc.json");
        write(&path, &policy(asker).to_string())?;
    }
    Ok(())
}

/// Everybody may ask everybody for one thing.
fn policy(owner: &str) -> Value {
    let targets = [CLERK, SCRIBE, TOOL, RELAY, MIRROR, PLANNER, NOBODY];
    let actions: BTreeMap<_, _> = targets.map(|it| (it, [ACTION])).into();
    json!({
        "owner": owner, "max_hops": HOPS_MAX,
        "allowed_targets": targets, "allowed_actions": actions,
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
