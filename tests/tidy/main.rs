//! House rules that no lint knows: what may name what, where a crate is named, how a file opens
//! and how long it gets, and what is left unfinished.
//!
//! Each rule is a function from a project's folder to its faults, a line each. Here it is held
//! against this project; in [`planted`] against one in which the rule was broken on purpose.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it as the test itself would"
)]

mod alerts;
mod containers;
mod crates;
mod dashboards;
mod files;
mod layers;
mod manifest;
mod paths;
mod planted;
mod project;
mod promises;
#[path = "../support/promql/mod.rs"]
mod promql;
mod unfinished;

use std::path::Path;

use project::Project;

fn hold(rule: fn(&Project) -> Vec<String>) {
    let ours = Project::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let faults = rule(&ours);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_layer_names_only_those_it_stands_on() {
    hold(layers::faults);
}

#[test]
fn the_layers_are_declared_in_the_order_of_the_walk() {
    hold(layers::order_faults);
}

#[test]
fn a_seams_client_library_is_named_behind_its_seam_alone() {
    hold(crates::faults);
}

#[test]
fn a_file_says_what_it_owns() {
    hold(files::unheaded);
}

#[test]
fn a_file_can_be_read_in_one_sitting() {
    hold(files::overlong);
}

#[test]
fn what_people_read_names_no_folder_of_one_machine() {
    hold(files::machine_paths);
}

#[test]
fn every_test_program_is_told_of() {
    hold(files::untold);
}

#[test]
fn every_promise_is_held_by_a_test_that_is_there() {
    hold(promises::unheld);
}

#[test]
fn every_fault_of_others_has_a_test_that_is_there() {
    hold(promises::untested);
}

#[test]
fn nothing_is_left_for_later() {
    hold(unfinished::marks);
}

#[test]
fn no_test_is_switched_off() {
    hold(unfinished::ignored);
}

#[test]
fn every_dependency_says_why_it_is_there() {
    hold(manifest::unreasoned);
}

#[test]
fn every_image_has_a_version() {
    hold(containers::unpinned);
}

#[test]
fn containers_run_the_versions_that_the_tests_run() {
    hold(containers::mismatched);
}

#[test]
fn what_containers_are_given_is_there() {
    hold(containers::missing);
    hold(containers::withheld);
    hold(containers::unbuildable);
}

#[test]
fn containers_are_reached_from_this_machine_alone() {
    hold(containers::exposed);
}

#[test]
fn a_worker_in_a_container_may_drain_to_its_end() {
    hold(containers::impatient);
}

#[test]
fn an_alert_asks_for_what_is_exported_and_says_what_to_do() {
    hold(alerts::unknown);
    hold(alerts::unexplained);
    hold(alerts::untested);
}

#[test]
fn the_dashboard_can_be_imported_and_shows_all_that_is_exported() {
    hold(dashboards::malformed);
    hold(dashboards::unknown);
    hold(dashboards::unshown);
}
