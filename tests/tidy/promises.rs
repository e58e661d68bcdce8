//! What the README promises, and what went wrong elsewhere: each held by a test that is there.

use crate::project::{Project, Source};

/// Where the table of promises begins and ends.
const PROMISES: (&str, &str) = ("## What is promised", "\n## ");

/// Tests that the table of promises names and that no file has.
pub(crate) fn unheld(project: &Project) -> Vec<String> {
    let readme = project.file("README.md");
    let Some((_, after)) = readme.text.split_once(PROMISES.0) else {
        return vec![readme.fault("has no table of promises")];
    };
    let table = after.split(PROMISES.1).next().unwrap_or(after);
    missing(project, readme, table)
}

/// Lists of faults: those that other systems had, and those that servers and models have.
const FAULTS: [&str; 3] = ["tests/faults.md", "tests/models.md", "config/failures.md"];

/// Tests that a list of faults names and that no file has, and rows without any.
pub(crate) fn untested(project: &Project) -> Vec<String> {
    let lists = FAULTS.iter().map(|path| project.file(path));
    lists.flat_map(|list| untested_in(project, list)).collect()
}

fn untested_in(project: &Project, list: &Source) -> Vec<String> {
    let is_head = |row: &str| row.starts_with("| seen ") || row.starts_with("| what ");
    let rows = list.text.lines().filter(|line| line.starts_with("| "));
    let bare = rows.filter(|row| !is_head(row) && named(row).next().is_none());
    let bare = bare.map(|row| list.fault(&format!("a row without a test: {row}")));
    bare.chain(missing(project, list, &list.text)).collect()
}

fn missing(project: &Project, source: &Source, table: &str) -> Vec<String> {
    let is_there = |test: &str| {
        // A promise that is asked of several is generic.
        let heads = ["(", "<"].map(|after| format!("fn {test}{after}"));
        let holds = |source: &Source| heads.iter().any(|head| source.text.contains(head));
        project.rust().any(holds)
    };
    let missing = named(table).filter(|test| !is_there(test));
    missing
        .map(|test| source.fault(&format!("no test is called `{test}`")))
        .collect()
}

/// The names of tests in a table: what stands in backticks, behind the program's name if that is
/// there, and reads like a sentence of several words. One in `_total` is a metric.
fn named(table: &str) -> impl Iterator<Item = &str> {
    let quoted = table.split('`').skip(1).step_by(2);
    let last = quoted.map(|text| text.rsplit(' ').next().unwrap_or(text));
    last.filter(|text| {
        let letters = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let is_sentence = text.matches('_').count() > 1 && text.bytes().all(letters);
        is_sentence && !text.ends_with("_total")
    })
}
