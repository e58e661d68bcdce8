//! Every rule against a project in which it was broken on purpose, and against one near to that
//! in which it was kept.

use std::fs;

use tempfile::TempDir;

use crate::{crates, files, layers, manifest, project::Project, promises, unfinished};

type Rule = fn(&Project) -> Vec<String>;

/// The faults of a project with just these files.
pub(crate) fn faults(rule: Rule, planted: &[(&str, &str)]) -> Vec<String> {
    let folder = TempDir::new().expect("a temporary folder");
    for (path, text) in planted {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    rule(&Project::read(folder.path()))
}

#[track_caller]
pub(crate) fn broken(rule: Rule, path: &str, text: &str, fault: &str) {
    let found = faults(rule, &[(path, text)]);
    assert_eq!(found, [format!("{path}: {fault}")], "{text}");
}

#[track_caller]
pub(crate) fn kept(rule: Rule, path: &str, text: &str) {
    let found = faults(rule, &[(path, text)]);
    assert_eq!(found, [""; 0], "{text}");
}

#[test]
fn a_promise_without_its_test_is_found() {
    let readme = "## What is promised\n| it works | `e2e: it_works_well`, `policy::`, `x` |\n";
    let found = faults(promises::unheld, &[("README.md", readme)]);
    assert_eq!(found, ["README.md: no test is called `it_works_well`"]);
    let test = ("src/x.rs", "#[test]\nfn it_works_well() {}\n");
    assert_eq!(
        faults(promises::unheld, &[("README.md", readme), test]),
        [""; 0]
    );
    broken(
        promises::unheld,
        "README.md",
        "# Nothing\n",
        "has no table of promises",
    );
}

#[test]
fn a_fault_of_others_without_its_test_is_found() {
    let list =
        "| seen | here | tests |\n|---|---|---|\n| a | b | `e2e: it_goes_well` |\n| c | d | |\n";
    let servers = ("config/failures.md", "| what fails | tests |\n");
    let models = ("tests/models.md", "| what a server does | here | tests |\n");
    let all = [("tests/faults.md", list), models, servers];
    let found = faults(promises::untested, &all);
    let expected = [
        "tests/faults.md: a row without a test: | c | d | |",
        "tests/faults.md: no test is called `it_goes_well`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_layer_that_looks_down_is_found_however_it_is_spelt() {
    let fault = "`contract` may not name `store`";
    for (path, text) in [
        ("src/contract/mod.rs", "use crate::store::Claims;"),
        (
            "src/contract/mod.rs",
            "use crate::{clock::WallTime, store::{self, Claims}};",
        ),
        ("src/contract/mod.rs", "use {crate::{store as kept}};"),
        ("src/contract/mod.rs", "use super::{clock, store};"),
        (
            "src/contract/ids.rs",
            "fn f() -> Vec<super::super::store::Epoch> { g() }",
        ),
        (
            "src/contract/ids.rs",
            "mod tests { use super::super::super::store::Epoch; }",
        ),
        (
            "src/contract/ids.rs",
            "fn f() { assert_eq!(crate::store::X, 1); }",
        ),
        (
            "src/contract.rs",
            "fn f(c: &impl self::super::store::Claims) {}",
        ),
    ] {
        broken(layers::faults, path, text, fault);
    }
}

#[test]
fn a_layer_may_be_spoken_of_and_a_module_may_be_called_like_one() {
    for (path, text) in [
        (
            "src/contract/mod.rs",
            "//! See [`crate::store`].\n/* crate::store::X */",
        ),
        (
            "src/contract/mod.rs",
            "const A: &str = \"crate::store::X\";",
        ),
        (
            "src/contract/mod.rs",
            "mod store; use self::store::X; fn f() { store::g() }",
        ),
        ("src/contract/ids.rs", "use super::store::X;"),
        ("src/contract/mod.rs", "mod tests { use super::store::X; }"),
        ("src/contract/ids.rs", "use crate::clock::WallTime;"),
        ("src/contract/ids.rs", "use crate::contract::json;"),
    ] {
        kept(layers::faults, path, text);
    }
}

#[test]
fn the_walk_is_named_by_the_worker_and_by_its_composition_alone() {
    let text = "use crate::pipeline::Pipeline;";
    for path in [
        "src/worker/run.rs",
        "src/cli/worker.rs",
        "src/cli/worker/compose.rs",
    ] {
        kept(layers::faults, path, text);
    }
    for (path, layer) in [
        ("src/cli/invoke.rs", "cli"),
        ("src/client/mod.rs", "client"),
    ] {
        let fault = format!("`{layer}` may not name `pipeline`");
        broken(layers::faults, path, text, &fault);
    }
    let text = "use puruto_fleet::pipeline::Pipeline;";
    broken(
        layers::faults,
        "src/main.rs",
        text,
        "`main` may not name `pipeline`",
    );
}

#[test]
fn a_layer_that_is_not_in_the_table_is_found() {
    let fault = "`basement` is no layer of tests/tidy/layers.rs";
    broken(layers::faults, "src/basement/mod.rs", "//! New.", fault);
}

#[test]
fn modules_out_of_the_walks_order_are_found() {
    let ours = include_str!("../../src/lib.rs");
    kept(layers::order_faults, "src/lib.rs", ours);
    let mixed = ours
        .replace("pub mod store;", "pub mod x;")
        .replace("pub mod broker;", "pub mod store;");
    let found = faults(layers::order_faults, &[("src/lib.rs", &mixed)]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_crate_named_away_from_its_seam_is_found() {
    for (path, text, fault) in [
        (
            "src/broker/mod.rs",
            "use async_nats::Client;",
            "`async_nats` is named only in src/broker/nats",
        ),
        (
            "src/runtime/retry.rs",
            "use ::backoff::{self};",
            "`backoff` is named only in src/runtime/backoff.rs",
        ),
        (
            "src/worker/run.rs",
            "fn f() -> redis::Value { g() }",
            "`redis` is named only in src/store/redis",
        ),
        (
            "src/worker/run.rs",
            "use redis::*;",
            "`redis` is named only in src/store/redis",
        ),
    ] {
        broken(crates::faults, path, text, fault);
    }
}

#[test]
fn a_crate_behind_its_seam_and_a_module_called_like_it_are_not() {
    for (path, text) in [
        ("src/broker/nats/mod.rs", "use async_nats::Client;"),
        ("src/runtime/backoff.rs", "use backoff::ExponentialBackoff;"),
        ("src/store/redis/mod.rs", "use redis::Value;"),
        ("src/store/mod.rs", "mod redis; pub use redis::Store;"),
        (
            "src/cli/dev.rs",
            "use crate::{dev::redis::{self, Ask}}; fn f() { redis::ask() }",
        ),
        (
            "src/worker/mod.rs",
            "use crate::store::redis::Store; // redis::Value",
        ),
    ] {
        kept(crates::faults, path, text);
    }
}

#[test]
fn a_file_without_a_head_is_found_in_sources_and_in_tests() {
    let fault = "does not open with a `//!` that says what it owns";
    for path in ["src/clock.rs", "tests/sim/main.rs", "benches/floor.rs"] {
        broken(files::unheaded, path, "use std::fs;\n//! Late.", fault);
        broken(files::unheaded, path, "//!\nuse std::fs;", fault);
        kept(files::unheaded, path, "//! Owns this.\n");
    }
}

#[test]
fn a_file_of_more_than_four_hundred_lines_is_found() {
    let path = "src/clock.rs";
    broken(
        files::overlong,
        path,
        &"\n".repeat(401),
        "401 lines; 400 are allowed",
    );
    kept(files::overlong, path, &"\n".repeat(400));
}

#[test]
fn a_folder_of_one_machine_is_found_in_what_people_read() {
    let home = ["/ho", "me/"].concat();
    let fault = format!("names a folder under {home}");
    for path in [
        "README.md",
        "config/README.md",
        "config/fleet.toml",
        "workers/a/docs/b.md",
    ] {
        broken(
            files::machine_paths,
            path,
            &format!("see `{home}ada/fleet`"),
            &fault,
        );
        kept(
            files::machine_paths,
            path,
            &format!("see https://example.org{home}ada"),
        );
    }
}

#[test]
fn a_test_program_that_the_readme_leaves_out_is_found() {
    let program = ("tests/sim/main.rs", "");
    let part = ("tests/sim/world.rs", "");
    let readme = "tests/README.md";
    let told = [program, part, (readme, "| `sim` | the walk |")];
    let untold = [program, part, (readme, "| `e2e` | the walk |")];

    assert_eq!(faults(files::untold, &told), [""; 0]);
    let fault = "tests/README.md: does not say what `sim` proves";
    assert_eq!(faults(files::untold, &untold), [fault]);
}

#[test]
fn a_mark_of_unfinished_work_is_found_in_every_kind_of_file() {
    let mark = ["TO", "DO"].concat();
    for path in [
        "src/clock.rs",
        "Cargo.toml",
        "README.md",
        ".ci/run",
        "src/store/scripts/claim.lua",
    ] {
        let fault = format!("line 2 has `{mark}`");
        broken(
            unfinished::marks,
            path,
            &format!("\n# {mark}: later"),
            &fault,
        );
        kept(
            unfinished::marks,
            path,
            &format!("METHOD{mark}S and {mark}S"),
        );
    }
    let stub = ["todo", "!"].concat();
    let fault = format!("line 1 has `{stub}`");
    broken(
        unfinished::marks,
        "src/clock.rs",
        &format!("fn f() {{ {stub}() }}"),
        &fault,
    );
}

#[test]
fn a_test_that_is_switched_off_is_found() {
    for text in [
        "#[test] #[ignore] fn f() {}",
        "#[ignore = \"slow\"] fn f() {}",
        "mod tests { #[cfg_attr(not(unix), ignore)] fn f() {} }",
    ] {
        broken(
            unfinished::ignored,
            "tests/sim/main.rs",
            text,
            "has an ignored test",
        );
    }
    let text = "// #[ignore]\nfn ignore() { f(\"#[ignore]\"); g([ignore]) }";
    kept(unfinished::ignored, "tests/sim/main.rs", text);
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let fault = "no comment above `bytes` says why it is there";
    for text in [
        "[dependencies]\nbytes = \"1\"",
        "[dev-dependencies]\n# Reads ids.\nuuid = \"1\"\nbytes = { version = \"1\" }",
        "[target.'cfg(unix)'.dependencies]\n#\nbytes = \"1\"",
    ] {
        broken(manifest::unreasoned, "Cargo.toml", text, fault);
    }
    let text = "[package]\nname = \"a\"\n[dependencies]\n# Payloads without a copy.\nbytes = \"1\"";
    kept(manifest::unreasoned, "Cargo.toml", text);
}
