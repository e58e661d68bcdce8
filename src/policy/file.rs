//! Files and folders that an operator wrote, read within bounds.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Why a file could not be read; says what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is no regular file")]
    NotAFile,
    #[error("is longer than {limit} bytes: shorten it")]
    TooLong { limit: u64 },
}

/// The bytes of `path`; `None` when there is no such file.
///
/// Anything but a regular file is refused before it is opened: opening a pipe would wait for its
/// writer.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Unreadable> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !metadata.is_file() {
        return Err(Unreadable::NotAFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unreadable::TooLong { limit });
    }
    Ok(Some(bytes))
}

/// The folders in `dir`, sorted; those whose name begins with a dot are not ours.
pub(crate) fn folders(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in dir.read_dir()? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound_and_not_beyond() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        assert!(read_bounded(&path, 4).expect("no file").is_none());
        fs::write(&path, "four").expect("written");
        let bytes = read_bounded(&path, 4).expect("readable");
        assert_eq!(bytes.as_deref(), Some(&b"four"[..]));
        let error = read_bounded(&path, 3).expect_err("too long");
        assert_eq!(error.to_string(), "is longer than 3 bytes: shorten it");
        let error = read_bounded(dir.path(), 3).expect_err("a folder");
        assert_eq!(error.to_string(), "is no regular file");
    }

    #[test]
    fn folders_are_listed_in_order_without_files_and_hidden_ones() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["b", "a", ".git"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        fs::write(dir.path().join("README.md"), "").expect("written");
        let found = folders(dir.path()).expect("readable");
        assert_eq!(found, [dir.path().join("a"), dir.path().join("b")]);
    }
}
