//! Who may name whom.

use std::path::Path;

use crate::{
    paths::{Named, Paths},
    project::{Project, Source},
};

/// Each layer in the order of the walk, and which of those above it it may name.
const LAYERS: &[(&str, &str)] = &[
    ("clock", ""),
    ("circuit", "clock"),
    ("contract", "clock"),
    ("policy", "contract"),
    ("store", "clock circuit contract"),
    ("broker", "clock contract store"),
    ("installation", "clock contract store broker"),
    ("runtime", "clock circuit contract"),
    ("handler", "clock contract store runtime"),
    ("puruto", "contract policy runtime handler"),
    ("http", ""),
    (
        "telemetry",
        "clock circuit contract store broker runtime http",
    ),
    (
        "pipeline",
        "clock contract policy store broker handler puruto telemetry",
    ),
    (
        "worker",
        "clock circuit contract policy store broker runtime handler puruto telemetry pipeline",
    ),
    // A caller sees subjects and results, not how they come about.
    ("client", "clock contract policy store broker telemetry"),
    ("config", "contract store handler telemetry"),
    // What an operator sees: the terminal and the dashboard show the same.
    (
        "inspect",
        "clock circuit contract policy store broker runtime puruto worker client config",
    ),
    (
        "gateway",
        "clock circuit contract policy store broker runtime puruto http telemetry worker client config inspect",
    ),
    ("dev", "clock config"),
    // It kills where the walk says that it can be killed, and reads what the walk counts.
    ("chaos", "clock contract store broker handler telemetry dev"),
    (
        "cli",
        "clock circuit contract policy store broker installation runtime handler puruto telemetry worker client config inspect gateway dev chaos",
    ),
    // The binary.
    ("main", "clock config telemetry dev cli"),
];

/// Where a worker is put together from its parts, of which the walk is one.
const COMPOSITION: &[&str] = &["src/cli/worker", "src/cli/worker.rs"];

/// Layers that are named by one that does not stand on them.
pub(crate) fn faults(project: &Project) -> Vec<String> {
    let layered = project.rust().filter(|source| source.is_under("src"));
    layered.flat_map(faults_of).collect()
}

fn faults_of(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    let Some(layer) = module.first().filter(|name| **name != "lib") else {
        return Vec::new();
    };
    let Some((_, may_name)) = LAYERS.iter().find(|(name, _)| name == layer) else {
        return vec![source.fault(&format!("`{layer}` is no layer of tests/tidy/layers.rs"))];
    };
    let composes = COMPOSITION.iter().any(|place| source.is_under(place));
    let named = Paths::of(source).named;
    let mut faults: Vec<String> = named
        .iter()
        .filter_map(|named| layer_of(named, module.len()))
        .filter(|other| other != layer && !names_in(may_name).any(|name| name == *other))
        .filter(|other| !(*other == "pipeline" && composes))
        .map(|other| source.fault(&format!("`{layer}` may not name `{other}`")))
        .collect();
    faults.dedup();
    faults
}

fn names_in(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace()
}

/// The layer that is named, if it is one, from a file whose module stands `depth` below the root.
fn layer_of(named: &Named, depth: usize) -> Option<&'static str> {
    let climbs = |segment: &&String| *segment == "super";
    let from_self = usize::from(named.first() == "self");
    let climbed = named
        .segments
        .iter()
        .skip(from_self)
        .take_while(climbs)
        .count();
    let below_root = match named.first() {
        "crate" | "puruto_fleet" => 1,
        _ if climbed > 0 && climbed == depth + named.nested => from_self + climbed,
        _ => return None,
    };
    let name = named.segments.get(below_root)?;
    let layer = LAYERS.iter().find(|(layer, _)| layer == name)?;
    Some(layer.0)
}

/// The names of the modules from the root to the one that the file at `path` is.
fn module_of(path: &Path) -> Vec<&str> {
    let names = path.iter().skip(1).filter_map(|name| name.to_str());
    let mut module: Vec<_> = names.map(|name| name.trim_end_matches(".rs")).collect();
    module.pop_if(|last| *last == "mod");
    module
}

/// Whether `src/lib.rs` declares the layers of the table, in its order.
pub(crate) fn order_faults(project: &Project) -> Vec<String> {
    let library = project.file("src/lib.rs");
    let declared: Vec<_> = library.text.lines().filter_map(declared_module).collect();
    let layers: Vec<_> = LAYERS.iter().map(|(name, _)| *name).collect();
    let walk: Vec<_> = layers
        .iter()
        .copied()
        .filter(|name| *name != "main")
        .collect();
    if declared == walk {
        return Vec::new();
    }
    let what = format!("the modules are {declared:?}, not {walk:?}");
    vec![library.fault(&what)]
}

fn declared_module(line: &str) -> Option<&str> {
    line.strip_prefix("pub mod ")?.strip_suffix(';')
}

#[test]
fn the_table_itself_looks_only_up() {
    for (at, (layer, may_name)) in LAYERS.iter().enumerate() {
        for other in names_in(may_name) {
            let above = LAYERS[..at].iter().any(|(name, _)| *name == other);
            assert!(
                above,
                "`{layer}` may name `{other}`, which does not stand above it"
            );
        }
    }
}
