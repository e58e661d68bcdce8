//! What a folder of Purutos gives, the shipped one included.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::{
    contract::Hop,
    policy::Level,
    puruto::{Work, WorkerSpec},
};

const SERVED: &str = "actions = ['pay']\n[model]\nprovider = 'simulated'\n";

/// A workers folder with these files in it.
fn workers(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (path, content) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, content).expect("written");
    }
    dir
}

/// Level, code and path, within the workers folder, of each finding.
fn marks(dir: &TempDir) -> Vec<(Level, &'static str, String)> {
    let prefix = format!("{}/", dir.path().display());
    check(dir.path())
        .into_iter()
        .map(|it| {
            let path = it.path.strip_prefix(&prefix).expect("in the folder");
            (it.level, it.code.as_str(), path.to_owned())
        })
        .collect()
}

fn name(raw: &str) -> PurutoName {
    raw.parse().expect("a name")
}

#[test]
fn a_folder_is_read_whole() {
    let dir = workers(&[
        ("bank/worker.toml", SERVED.as_bytes()),
        ("bank/prompt.md", "Sé breve.".as_bytes()),
        ("bank/docs/b.md", b"b"),
        ("bank/docs/a.md", b"a"),
        ("bank/docs/.draft.md", b"hidden"),
        ("bank/docs/old/c.md", b"deeper"),
        (
            "rich/.puruto-ipc.json",
            br#"{"owner":"rich","allowed_targets":["bank"]}"#,
        ),
        ("README.md", b"no folder"),
        (".git/config", b"hidden"),
    ]);
    let fleet = Fleet::load(dir.path()).expect("no error");
    let names: Vec<_> = fleet.purutos().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["bank", "rich"]);
    let targets: Vec<_> = fleet.targets().map(|it| it.name.as_str()).collect();
    assert_eq!(targets, ["bank"]);

    let bank = fleet.get(&name("bank")).expect("read");
    assert_eq!(&*bank.prompt.as_ref().expect("read").text(), "Sé breve.");
    let docs = bank.folder.join("docs");
    assert_eq!(bank.docs, [docs.join("a.md"), docs.join("b.md")]);
    assert_eq!(bank.policy, None);
    assert_eq!(fleet.warnings(), []);
}

#[test]
fn an_action_that_a_target_does_not_list_is_denied_by_its_file() {
    let dir = workers(&[
        ("bank/worker.toml", SERVED.as_bytes()),
        ("open/worker.toml", SERVED.replace("'pay'", "").as_bytes()),
    ]);
    let fleet = Fleet::load(dir.path()).expect("no error");
    let serves = |puruto: &str, action: &str| {
        let puruto = fleet.get(&name(puruto)).expect("read");
        puruto.serves(&action.parse().expect("an action"))
    };
    assert_eq!(serves("bank", "pay"), Ok(()));
    assert_eq!(serves("open", "anything"), Ok(()));
    assert_eq!(
        serves("bank", "refund").expect_err("denied").to_string(),
        "bank/worker.toml#actions does not list refund"
    );
}

#[test]
fn the_policies_of_a_fleet_are_those_of_its_folders() {
    let dir = workers(&[
        (
            "rich/.puruto-ipc.json",
            br#"{"owner":"rich","allowed_targets":["bank"]}"#,
        ),
        ("bank/worker.toml", SERVED.as_bytes()),
    ]);
    let fleet = Fleet::load(dir.path()).expect("no error");
    assert_eq!(fleet.policies(), PolicySet::load(dir.path()).0);
}

#[test]
fn the_mistakes_of_all_folders_come_at_once() {
    let dir = workers(&[
        ("a/worker.toml", b"[model]\nprovider = 'oracle'\n"),
        ("a/.puruto-ipc.json", b"{"),
        ("b/prompt.md", b"\xff"),
        ("b/docs", b"no folder"),
        ("c c/worker.toml", SERVED.as_bytes()),
        ("d/worker.toml/x", b"a folder where a file should be"),
        ("e/other", b""),
        ("f/.puruto-ipc.json", b"{}"),
    ]);
    use Level::{Error, Warning};
    let expected = [
        (
            Error,
            "invalid-worker-config",
            "a/worker.toml#model.provider",
        ),
        (Error, "invalid-ipc-config", "a/.puruto-ipc.json"),
        (Error, "invalid-puruto-folder", "b/prompt.md"),
        (Error, "invalid-puruto-folder", "b/docs"),
        (Error, "invalid-puruto-folder", "c c"),
        (Error, "invalid-worker-config", "d/worker.toml"),
        (Warning, "invalid-puruto-folder", "e"),
        (
            Warning,
            "ipc-config-missing-key",
            "f/.puruto-ipc.json#owner",
        ),
        (
            Warning,
            "ipc-config-missing-key",
            "f/.puruto-ipc.json#allowed_targets",
        ),
    ];
    let expected = expected.map(|(level, code, path)| (level, code, path.to_owned()));
    assert_eq!(marks(&dir), expected);
    let findings = Fleet::load(dir.path()).expect_err("errors");
    assert_eq!(findings, check(dir.path()));
}

#[test]
fn warnings_alone_leave_a_fleet_usable() {
    let dir = workers(&[("f/.puruto-ipc.json", b"{}")]);
    let fleet = Fleet::load(dir.path()).expect("no error");
    assert_eq!(fleet.warnings().len(), 2);
}

#[test]
fn a_prompt_has_a_bound() {
    let longest = vec![b'x'; 256 * 1024];
    let too_long = [longest.as_slice(), b"x"].concat();
    let dir = workers(&[
        ("a/prompt.md", &longest),
        ("a/worker.toml", SERVED.as_bytes()),
        ("b/prompt.md", &too_long),
    ]);
    let expected = (
        Level::Error,
        "invalid-puruto-folder",
        "b/prompt.md".to_owned(),
    );
    assert_eq!(marks(&dir), [expected]);
}

#[test]
fn a_workers_folder_that_is_not_there_is_a_finding() {
    let findings = Fleet::load(Path::new("/nowhere/workers")).expect_err("no folder");
    assert_eq!(findings[0].path, "/nowhere/workers");
}

/// The folders that come with the fleet.
fn shipped() -> Fleet {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers");
    Fleet::load(&dir).expect("the shipped folders have no error")
}

#[test]
fn the_shipped_folders_check_clean() {
    let fleet = shipped();
    assert_eq!(fleet.warnings(), []);
    let targets: Vec<_> = fleet.targets().map(|it| it.name.as_str()).collect();
    let callers = fleet.purutos().filter(|it| it.worker.is_none());
    assert_eq!(
        targets,
        [
            "puruto-data",
            "puruto-echo",
            "puruto-financial",
            "puruto-research",
            "puruto-reservations",
            "puruto-translate"
        ]
    );
    assert_eq!(
        callers.map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["puruto-cli", "puruto-gateway"]
    );
    let is_a_program = |it: &Puruto| {
        matches!(
            it.worker,
            Some(WorkerSpec {
                work: Work::Command(_),
                ..
            })
        )
    };
    assert!(
        fleet
            .targets()
            .all(|it| it.policy.is_some() && it.prompt.is_some() != is_a_program(it))
    );
    let research = fleet.get(&name("puruto-research")).expect("shipped");
    assert_eq!(research.docs.len(), 2);
}

#[test]
fn the_shipped_policies_say_what_their_readme_says() {
    let policies = shipped().policies();
    let allows = |caller: &str, target: &str, action: &str| {
        let action = action.parse().expect("an action");
        policies
            .decide(&name(caller), &name(target), &action, Hop::default())
            .is_ok()
    };
    let (cli, desk) = ("puruto-cli", "puruto-reservations");
    let (money, facts, echo) = ("puruto-financial", "puruto-research", "puruto-echo");
    let data = "puruto-data";
    assert!(allows(cli, data, "read") && !allows(desk, data, "read"));
    assert!(
        [desk, money, facts, echo]
            .iter()
            .all(|it| allows(cli, it, "read_invoice") || allows(cli, it, "book"))
    );
    assert!(allows(cli, money, "pay_invoice") && !allows(cli, money, "refund_invoice"));
    assert!(allows(desk, money, "pay_invoice") && !allows(desk, money, "read_invoice"));
    assert!(allows(desk, facts, "search") && !allows(desk, echo, "echo"));
    assert!(allows(facts, money, "read_invoice") && !allows(facts, money, "pay_invoice"));
    assert!(!allows(money, facts, "search") && !allows(echo, money, "pay_invoice"));
    assert!(!allows(data, money, "read_invoice"));
    assert!(!allows("anonymous", money, "pay_invoice"));
}
