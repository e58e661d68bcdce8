//! The workers folder of the demo: the Purutos that ship, and two of the demo's own.
//!
//! Owns that folder's making. The shipped folders are copied, never changed; in the copy one of them
//! takes longer for one request, to be caught at it.

use std::{fs, io, path::Path};

use toml::{Table, Value};

use crate::puruto::Puruto;

/// A Puruto of the demo that takes its time.
pub(super) const SLOW: &str = "puruto-slow";
/// The one of those that ship who is caught at work.
pub(super) const CAUGHT: &str = "puruto-financial";
/// What it takes its time for: requests with these words.
pub(super) const LONG: &str = "A suite for Eva";
/// The one that may ask [`SLOW`].
pub(super) const ASKER: &str = "puruto-demo";

/// Longer than the shortest time-out, which is a second; short enough to be watched.
const SLOW_WORKER: &str = "\
description = \"Takes its time\"

[model]
provider = \"simulated\"
answer = \"Done at last: {prompt}\"
latency = \"1200ms\"
";

/// Long enough to look at the fleet and to kill somebody meanwhile.
const LONG_LATENCY: &str = "1s";

const ASKER_POLICY: &str = r#"{
  "enabled": true,
  "owner": "puruto-demo",
  "allowed_targets": ["puruto-slow"]
}
"#;

const POLICY_FILE: &str = ".puruto-ipc.json";
const WORKER_FILE: &str = "worker.toml";

/// Which model answers for the shipped ones.
#[derive(Clone, Debug)]
pub(super) enum Voice {
    /// The one of their own `worker.toml`.
    Own,
    /// This provider's table instead.
    Instead(Table),
}

/// Makes `folder` from the `shipped` Purutos.
pub(super) fn assemble<'p>(
    folder: &Path,
    shipped: impl Iterator<Item = &'p Puruto>,
    voice: &Voice,
) -> io::Result<()> {
    for puruto in shipped {
        copy(puruto, &folder.join(puruto.name.as_str()), voice)?;
    }
    write(&folder.join(SLOW).join(WORKER_FILE), SLOW_WORKER)?;
    write(&folder.join(ASKER).join(POLICY_FILE), ASKER_POLICY)
}

fn copy(puruto: &Puruto, to: &Path, voice: &Voice) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in puruto.folder.read_dir()? {
        let entry = entry?;
        // A program's own files among them.
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    if asks_a_model(puruto) {
        let file = to.join(WORKER_FILE);
        let mut worker: Table = fs::read_to_string(&file)?
            .parse()
            .map_err(io::Error::other)?;
        recast(&mut worker, puruto, voice);
        fs::write(file, worker.to_string())?;
    }
    for document in &puruto.docs {
        let inside = document
            .strip_prefix(&puruto.folder)
            .map_err(io::Error::other)?;
        write(&to.join(inside), &fs::read_to_string(document)?)?;
    }
    Ok(())
}

/// Whether a model answers for it.
pub(super) fn asks_a_model(puruto: &Puruto) -> bool {
    let worker = puruto.worker.as_ref();
    worker.is_some_and(|it| !it.work.models().is_empty())
}

/// Another model, or one that takes its time.
fn recast(worker: &mut Table, puruto: &Puruto, voice: &Voice) {
    match (voice, worker.get_mut("model")) {
        (Voice::Instead(model), _) => {
            worker.insert("model".to_owned(), model.clone().into());
        }
        (Voice::Own, Some(Value::Table(model))) if puruto.name.as_str() == CAUGHT => slow(model),
        (Voice::Own, _) => {}
    }
}

/// Only a simulated model can be told to take its time.
fn slow(model: &mut Table) {
    if model.get("provider").and_then(Value::as_str) != Some("simulated") {
        return;
    }
    let rules = model
        .entry("rules")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(rules) = rules {
        let rule = [("when", LONG), ("latency", LONG_LATENCY)];
        let rule = rule.map(|(key, value)| (key.to_owned(), value.into()));
        rules.push(Value::Table(rule.into_iter().collect()));
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::demo::scenes::SHIPPED,
        puruto::{Fleet, Work},
    };

    fn assembled(voice: &Voice) -> Fleet {
        let folder = tempfile::tempdir().expect("a folder");
        let workers = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers");
        let shipped = Fleet::load(&workers).expect("no mistakes");
        assemble(folder.path(), shipped.purutos(), voice).expect("assembled");
        Fleet::load(folder.path()).expect("no mistakes")
    }

    #[test]
    fn the_cast_is_what_ships_and_two_of_our_own() {
        let cast = assembled(&Voice::Own);
        let targets: Vec<_> = cast.targets().map(|it| it.name.as_str()).collect();
        for name in SHIPPED.map(|line| line.target).into_iter().chain([SLOW]) {
            assert!(targets.contains(&name), "{name} is not in {targets:?}");
        }
        assert!(cast.get(&ASKER.parse().expect("a name")).is_some());
    }

    #[test]
    fn a_recast_puruto_keeps_everything_but_its_model_if_it_has_one() {
        let table = "provider = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\nmodel = 'm'";
        let recast = assembled(&Voice::Instead(table.parse().expect("a table")));
        let own = assembled(&Voice::Own);
        for line in SHIPPED {
            let name = line.target.parse().expect("a name");
            let of = |fleet: &Fleet| fleet.get(&name).expect("there").clone();
            let (before, after) = (of(&own), of(&recast));
            assert_eq!(before.prompt, after.prompt);
            let (before, after) = (
                before.worker.expect("a worker"),
                after.worker.expect("a worker"),
            );
            assert_eq!(before.actions, after.actions);
            match before.work {
                Work::Chat(_) => assert_ne!(before.work, after.work),
                Work::Command(_) | Work::Agent(_) => assert_eq!(before.work, after.work),
            }
        }
    }
}
