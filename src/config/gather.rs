//! Lays the layers over each other, reads them, checks them.

use std::path::{Path, PathBuf};

use super::{
    Config, Effective, Environment, Mistakes, bounds, devenv, file, key,
    layers::{Layers, Source},
    setting::Raw,
};

/// The file that is read when none is named, if it is there.
const FILE: &str = "config/fleet.toml";

/// The variable that names another file.
const FILE_VARIABLE: &str = "PURUTO_CONFIG";

/// What every variable of ours begins with.
const PREFIX: &str = "PURUTO_";

/// A value given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The flag as it was given, such as `--nats`.
    pub flag: String,
    /// The key that it sets, such as `nats.url`.
    pub key: String,
    /// The value.
    pub value: String,
}

/// From where the configuration is gathered.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'i> {
    /// The working folder, in which the default file and what `puruto dev` left behind stand.
    pub folder: &'i Path,
    /// The file that `--config` names.
    pub file: Option<&'i Path>,
    /// The environment.
    pub environment: &'i Environment,
    /// The flags, in their order.
    pub flags: &'i [Flag],
}

/// A configuration without mistakes, and where each value of it came from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The values.
    pub config: Config,
    /// The same for a person to read.
    pub effective: Effective,
}

/// Gathers the configuration.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn gather(inputs: &Inputs<'_>) -> Result<Gathered, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut layers = Layers::of_defaults();
    if let Some(path) = file_of(inputs) {
        file::lay(&path, &mut layers, &mut mistakes);
    }
    devenv::lay(
        inputs.folder,
        inputs.environment,
        &mut layers,
        &mut mistakes,
    );
    lay_environment(inputs.environment, &mut layers, &mut mistakes);
    lay_flags(inputs.flags, &mut layers, &mut mistakes);
    let config = Config::read(&layers, &mut mistakes);
    bounds::check(&config, &layers, &mut mistakes);
    if mistakes.is_empty() {
        let effective = Effective::of(&layers);
        Ok(Gathered { config, effective })
    } else {
        Err(mistakes)
    }
}

/// The file to read: the one that is named, wherever that is, or the default one if it is there.
fn file_of(inputs: &Inputs<'_>) -> Option<PathBuf> {
    let named = inputs
        .file
        .or_else(|| inputs.environment.get(FILE_VARIABLE).map(Path::new));
    let default = || Some(inputs.folder.join(FILE)).filter(|path| path.exists());
    named.map(ToOwned::to_owned).or_else(default)
}

/// Well-known names first: a variable of ours says it more exactly.
fn lay_environment(environment: &Environment, layers: &mut Layers, mistakes: &mut Mistakes) {
    for key in key::keys() {
        let Some(variable) = key.well_known() else {
            continue;
        };
        if let Some(value) = environment.get(variable) {
            let source = Source::Variable(variable.to_owned());
            layers.put(key, Raw::Text(value.to_owned()), source);
        }
    }
    for (variable, value) in environment.iter() {
        let rest = variable.strip_prefix(PREFIX);
        if let Some((section, name)) = rest.and_then(|rest| rest.split_once("__")) {
            let key = format!("{section}.{name}").to_lowercase();
            let source = Source::Variable(variable.to_owned());
            layers.lay(&key, Raw::Text(value.to_owned()), source, mistakes);
        }
    }
}

fn lay_flags(flags: &[Flag], layers: &mut Layers, mistakes: &mut Mistakes) {
    for Flag { flag, key, value } in flags {
        let source = Source::Flag(flag.clone());
        layers.lay(key, Raw::Text(value.to_owned()), source, mistakes);
    }
}
