//! Reads a folder of documents, within bounds.
//!
//! Never: a link followed; what it points to is not the Puruto's.

use std::{
    collections::BTreeMap,
    fs::{self, DirEntry, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::DocumentId;

/// Most documents of one Puruto.
pub const DOCUMENTS_MAX: usize = 1_000;
/// Largest document, in bytes.
pub const FILE_BYTES_MAX: u64 = 256 << 10;
/// Most bytes of all documents of one Puruto.
pub const TOTAL_BYTES_MAX: u64 = 8 << 20;

/// Deepest folder below `docs/`.
const DEPTH_MAX: usize = 8;

/// Why documents cannot be used. Each names the file and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsFault {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A text is expected.
    #[error("{} is no UTF-8 text: convert it, or give it another extension", .0.display())]
    NoText(PathBuf),
    /// The id would not be one.
    #[error("the name of {} cannot be an id: {}", .0.display(), DocumentId::EXPECTED)]
    Unnamable(PathBuf),
    /// Two files, one id.
    #[error("{} has the id of another document, {id:?}: rename one of them", path.display())]
    Twice {
        /// The second file.
        path: PathBuf,
        /// The id of both.
        id: String,
    },
    /// One file is too large.
    #[error("{} is larger than {FILE_BYTES_MAX} bytes: split it", .0.display())]
    TooLarge(PathBuf),
    /// All of them are too large, or too many.
    #[error("{} holds more than {DOCUMENTS_MAX} documents or {TOTAL_BYTES_MAX} bytes", .0.display())]
    TooMuch(PathBuf),
    /// A folder in a folder in a folder.
    #[error("{} lies deeper than {DEPTH_MAX} folders", .0.display())]
    TooDeep(PathBuf),
}

/// The documents in `folder` and below; none where there is no such folder.
pub(super) fn read(folder: &Path) -> Result<BTreeMap<DocumentId, Box<str>>, DocumentsFault> {
    let mut reading = Reading {
        root: folder,
        texts: BTreeMap::new(),
        bytes: 0,
    };
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => reading.folder(folder, 0)?,
    }
    Ok(reading.texts)
}

struct Reading<'f> {
    root: &'f Path,
    texts: BTreeMap<DocumentId, Box<str>>,
    bytes: u64,
}

impl Reading<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), DocumentsFault> {
        if depth > DEPTH_MAX {
            return Err(DocumentsFault::TooDeep(folder.to_owned()));
        }
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        for entry in entries.map_err(unreadable(folder))? {
            let path = entry.path();
            let kind = entry.file_type().map_err(unreadable(&path))?;
            if kind.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if kind.is_file() && is_document(&path) {
                self.document(&path)?;
            }
        }
        Ok(())
    }

    fn document(&mut self, path: &Path) -> Result<(), DocumentsFault> {
        let id = self.id(path)?;
        let text = text(path)?;
        self.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        if self.bytes > TOTAL_BYTES_MAX || self.texts.len() >= DOCUMENTS_MAX {
            return Err(DocumentsFault::TooMuch(self.root.to_owned()));
        }
        match self.texts.insert(id.clone(), text.into()) {
            None => Ok(()),
            Some(_) => Err(DocumentsFault::Twice {
                path: path.to_owned(),
                id: id.to_string(),
            }),
        }
    }

    fn id(&self, path: &Path) -> Result<DocumentId, DocumentsFault> {
        let within = path
            .strip_prefix(self.root)
            .unwrap_or(path)
            .with_extension("");
        let names: Option<Vec<_>> = within.iter().map(|name| name.to_str()).collect();
        let id = names.and_then(|names| names.join("/").parse().ok());
        id.ok_or_else(|| DocumentsFault::Unnamable(path.to_owned()))
    }
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| it.eq_ignore_ascii_case("md") || it.eq_ignore_ascii_case("txt"))
}

fn text(path: &Path) -> Result<String, DocumentsFault> {
    let mut bytes = Vec::new();
    // One byte more tells too much from just enough.
    let file = File::open(path).map_err(unreadable(path))?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(unreadable(path))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        return Err(DocumentsFault::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| DocumentsFault::NoText(path.to_owned()))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> DocumentsFault {
    let path = path.to_owned();
    move |error| DocumentsFault::Unreadable { path, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, bytes).expect("written");
        }
        folder
    }

    fn ids(files: &[(&str, &[u8])]) -> Vec<String> {
        let texts = read(folder(files).path()).expect("documents");
        texts.keys().map(ToString::to_string).collect()
    }

    fn refusal(files: &[(&str, &[u8])]) -> String {
        read(folder(files).path())
            .expect_err("no documents")
            .to_string()
    }

    #[test]
    fn an_id_is_the_path_without_its_extension() {
        let files: &[(&str, &[u8])] = &[
            ("b.md", b"b"),
            ("a/c.txt", b"c"),
            ("v1.2.md", b"v"),
            ("picture.png", b"\xff"),
            ("README", b"r"),
        ];
        assert_eq!(ids(files), ["a/c", "b", "v1.2"]);
        assert!(read(Path::new("/nowhere/docs")).expect("none").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let outside = folder(&[("secret.md", b"s")]);
        let inside = folder(&[("a.md", b"a")]);
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, inside.path().join(name)).expect("a link");
        };
        link(&outside.path().join("secret.md"), "b.md");
        link(outside.path(), "c");
        assert_eq!(read(inside.path()).expect("documents").len(), 1);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let large = vec![b'x'; 256 * 1024 + 1];
        for (files, said) in [
            (vec![("a.md", &b"\xff"[..])], "a.md is no UTF-8"),
            (
                vec![("a.md", &b"1"[..]), ("a.txt", b"2")],
                "has the id of another",
            ),
            (
                vec![("large.md", &large[..])],
                "large.md is larger than 262144",
            ),
            (vec![("a\nb.md", &b"1"[..])], "cannot be an id"),
            (vec![("1/2/3/4/5/6/7/8/9/a.md", &b"1"[..])], "deeper than 8"),
        ] {
            let refusal = refusal(&files);
            assert!(refusal.contains(said), "{refusal}");
        }
        let full = &large[1..];
        let names: Vec<_> = (0..33).map(|n| format!("{n}.md")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), full)).collect();
        assert!(refusal(&many).contains("or 8388608 bytes"));
    }
}
