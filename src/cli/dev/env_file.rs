//! The file that leads other commands to the servers of this `puruto dev`.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use super::DevFault;

/// The file, there from the moment that the fleet serves; dropping it takes the file away.
#[derive(Debug)]
pub(super) struct EnvFile {
    path: PathBuf,
    text: String,
}

impl EnvFile {
    /// Writes the `variables`, and whatever a person may want to know as comments.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write(
        path: &Path,
        variables: &[(&str, String)],
        comments: &[String],
    ) -> Result<Self, DevFault> {
        let text = text(variables, comments);
        let path = path.to_owned();
        put(&path, &text).map_err(|source| DevFault::File {
            path: path.clone(),
            source,
        })?;
        Ok(Self { path, text })
    }
}

/// In one step: nobody reads half of it.
fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("env.new");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

fn text(variables: &[(&str, String)], comments: &[String]) -> String {
    let mut text = String::from("# Written by `puruto dev`; gone when it ends.\n");
    for comment in comments {
        writeln!(text, "# {comment}").expect("a string takes everything");
    }
    for (name, value) in variables {
        writeln!(text, "{name}={value}").expect("a string takes everything");
    }
    text
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        // Another `puruto dev` in this folder, with other data, may have written its own since.
        let ours = fs::read_to_string(&self.path).is_ok_and(|text| text == self.text);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "file could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, url: &str) -> EnvFile {
        let variables = [("NATS_URL", url.to_owned())];
        EnvFile::write(path, &variables, &["pid 1".to_owned()]).expect("written")
    }

    #[test]
    fn the_file_goes_away_with_its_writer_unless_it_is_anothers() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new").join("dev.env");

        let ours = write(&path, "nats://one");
        let text = fs::read_to_string(&path).expect("a file");
        assert!(text.ends_with("# pid 1\nNATS_URL=nats://one\n"), "{text}");
        let theirs = write(&path, "nats://other");
        drop(ours);
        assert!(path.exists());
        drop(theirs);
        assert!(!path.exists());
    }
}
