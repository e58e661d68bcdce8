//! How a file opens, how long it gets, and what it gives away about a machine.

use crate::project::{Project, Source};

/// Longer files hold more than one thing.
const LINES_MAX: usize = 400;

/// Folders that are somewhere else on the reader's machine. In halves, so that this file has none.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/home", "/"),
    ("/media", "/"),
    ("/mnt", "/"),
    ("/root", "/"),
    ("/tmp", "/"),
    ("/Users", "/"),
    ("/work", "/"),
];

/// Files of Rust that do not open with what they own.
pub(crate) fn unheaded(project: &Project) -> Vec<String> {
    let unheaded = |source: &&Source| !source.text.starts_with("//! ");
    let fault = |source: &Source| source.fault("does not open with a `//!` that says what it owns");
    project.rust().filter(unheaded).map(fault).collect()
}

/// Files of Rust that are too long, tests included.
pub(crate) fn overlong(project: &Project) -> Vec<String> {
    let mut faults = Vec::new();
    for source in project.rust() {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            faults.push(source.fault(&format!("{lines} lines; {LINES_MAX} are allowed")));
        }
    }
    faults
}

/// Test programs of which `tests/README.md` does not tell.
pub(crate) fn untold(project: &Project) -> Vec<String> {
    let readme = project.file("tests/README.md");
    let mut faults = Vec::new();
    for source in project.rust().filter(|source| source.is_under("tests")) {
        let parts: Vec<_> = source
            .path
            .iter()
            .filter_map(|part| part.to_str())
            .collect();
        if let [_, program, "main.rs"] = parts.as_slice()
            && !readme.text.contains(&format!("| `{program}` |"))
        {
            faults.push(readme.fault(&format!("does not say what `{program}` proves")));
        }
    }
    faults
}

/// Documents and settings that name a folder which only some machines have.
pub(crate) fn machine_paths(project: &Project) -> Vec<String> {
    let is_read = |source: &&Source| source.ends_in("md") || source.ends_in("toml");
    let mut faults = Vec::new();
    for source in project.all().filter(is_read) {
        for (parent, rest) in ELSEWHERE {
            let folder = format!("{parent}{rest}");
            if names(&source.text, &folder) {
                faults.push(source.fault(&format!("names a folder under {folder}")));
            }
        }
    }
    faults
}

/// Whether `folder` stands in `text` as the beginning of a path, not within one.
fn names(text: &str, folder: &str) -> bool {
    let begins = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-*{}$<>~".contains(c))
    };
    text.match_indices(folder).any(begins)
}
