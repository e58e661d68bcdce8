//! The files of a project that people write, as text.
//!
//! Never: what is built, fetched or kept by git.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where people write, relative to a project's folder.
const WRITTEN: &[&str] = &[
    ".cargo",
    ".ci",
    ".dockerignore",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "README.md",
    "benches",
    "clippy.toml",
    "compose.yaml",
    "config",
    "src",
    "tests",
    "workers",
];

/// One file.
pub(crate) struct Source {
    /// Relative to the project's folder.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn is_under(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }

    pub(crate) fn ends_in(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|end| end == extension)
    }

    /// A fault of this file.
    pub(crate) fn fault(&self, what: &str) -> String {
        format!("{}: {what}", self.path.display())
    }
}

/// All files, by path.
pub(crate) struct Project {
    sources: Vec<Source>,
}

impl Project {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut sources = Vec::new();
        for entry in WRITTEN.iter().map(|name| folder.join(name)) {
            collect(folder, &entry, &mut sources);
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Self { sources }
    }

    /// Every file.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    /// Every file of Rust.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.all().filter(|source| source.ends_in("rs"))
    }

    /// The file at `path`, which every project has.
    pub(crate) fn file(&self, path: &str) -> &Source {
        self.all()
            .find(|source| source.path == Path::new(path))
            .unwrap_or_else(|| panic!("no {path}"))
    }
}

fn collect(root: &Path, entry: &Path, sources: &mut Vec<Source>) {
    if entry.is_dir() {
        for inner in fs::read_dir(entry).expect("a readable folder") {
            collect(root, &inner.expect("a readable entry").path(), sources);
        }
        return;
    }
    // A place where this project has nothing, or bytes that nobody wrote as text.
    let Ok(text) = fs::read_to_string(entry) else {
        return;
    };
    let path = entry
        .strip_prefix(root)
        .expect("under the project's folder");
    sources.push(Source {
        path: path.to_owned(),
        text,
    });
}
