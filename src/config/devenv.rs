//! The layer that `puruto dev` leaves behind: where its servers are.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Environment, Mistake, Mistakes, key,
    layers::{Layers, Source},
    setting::Raw,
};

/// Where `puruto dev` writes what it started, in the folder in which it runs: `NAME=value` lines.
pub const DEV_ENV: &str = ".puruto/dev.env";

/// Longest file that is read, in bytes.
const FILE_BYTES_MAX: usize = 64 * 1024;

/// Lays it over `layers`, unless the environment names a server of its own: half of each would be
/// a fleet that does not exist.
pub(super) fn lay(
    folder: &Path,
    environment: &Environment,
    layers: &mut Layers,
    mistakes: &mut Mistakes,
) {
    let names_a_server = key::keys()
        .filter_map(|key| Some([key.variable(), key.well_known()?.to_owned()]))
        .flatten()
        .any(|variable| environment.get(&variable).is_some());
    if names_a_server {
        return;
    }
    let path = folder.join(DEV_ENV);
    match fs::read_to_string(&path) {
        Ok(text) if text.len() <= FILE_BYTES_MAX => lay_lines(&path, &text, layers),
        Ok(text) => {
            let why = format!("{} bytes; at most {FILE_BYTES_MAX} are read", text.len());
            mistakes.note(unreadable(path, why));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => mistakes.note(unreadable(path, error.to_string())),
    }
}

/// Takes the lines that name a key; the others are for those who source the file in a shell.
fn lay_lines(path: &Path, text: &str, layers: &mut Layers) {
    for (variable, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let named = key::keys().find(|key| {
            key.variable() == variable || key.well_known().is_some_and(|it| it == variable)
        });
        if let Some(key) = named {
            let source = Source::DevEnv {
                path: path.to_owned(),
                variable: variable.to_owned(),
            };
            layers.put(key, Raw::Text(value.to_owned()), source);
        }
    }
}

fn unreadable(path: PathBuf, why: String) -> Mistake {
    Mistake::File {
        place: path.display().to_string(),
        why,
    }
}
