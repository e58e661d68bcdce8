//! The Purutos of a run: one that a scripted model answers for, one that our own stub answers for,
//! one that a program answers for, and the caller that may ask them.

use std::{fs, io, path::Path};

use serde_json::json;

use super::asks::{ACTION, CALLER, CLERK, NOBODY, SCRIBE, TOOL};

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

/// Writes their folders under `workers`.
pub(super) fn assemble(workers: &Path, base_url: &str) -> io::Result<()> {
    let scribe = format!(
        "concurrency = 8\n[model]\nprovider = \"openai\"\nbase_url = \"{base_url}\"\n\
         model = \"stub\"\napi_key_env = \"{KEY_VARIABLE}\"\n"
    );
    let targets = [CLERK, SCRIBE, TOOL, NOBODY];
    let policy = json!({
        "owner": CALLER, "allowed_targets": targets,
        "allowed_actions": targets.map(|it| (it, [ACTION])).into_iter()
            .collect::<std::collections::BTreeMap<_, _>>(),
    });
    write(&workers.join(CLERK).join("worker.toml"), CLERK_WORKER)?;
    write(&workers.join(SCRIBE).join("worker.toml"), &scribe)?;
    write(&workers.join(TOOL).join("worker.toml"), TOOL_WORKER)?;
    write(&workers.join(TOOL).join("program"), PROGRAM)?;
    write(
        &workers.join(CALLER).join(".puruto-ipc.json"),
        &policy.to_string(),
    )
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
