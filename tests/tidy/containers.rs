//! What `compose.yaml` and `Dockerfile` take from elsewhere is there, and says the same there.

use std::path::Path;

use crate::{
    planted::{broken, faults, kept},
    project::{Project, Source},
};

/// Where the files of containers are described.
const FILES: &[&str] = &["compose.yaml", "Dockerfile"];

fn described(project: &Project) -> impl Iterator<Item = &Source> {
    let is_ours = |source: &&Source| FILES.iter().any(|file| source.path == Path::new(file));
    project.all().filter(is_ours)
}

/// The images that a file names, with their tags.
fn images(source: &Source) -> impl Iterator<Item = &str> {
    source.text.lines().filter_map(|line| {
        let line = line.trim();
        let named = line
            .strip_prefix("image: ")
            .or_else(|| line.strip_prefix("FROM "));
        named?.split(' ').next()
    })
}

/// Images that may be another one tomorrow.
pub(crate) fn unpinned(project: &Project) -> Vec<String> {
    let is_pinned = |image: &str| {
        let tag = image.split_once(':').map(|(_, tag)| tag);
        tag.is_some_and(|tag| tag.contains('.') && tag.contains(|c: char| c.is_ascii_digit()))
    };
    let mut faults = Vec::new();
    for source in described(project) {
        let loose = images(source).filter(|image| !is_pinned(image));
        faults.extend(loose.map(|image| source.fault(&format!("{image} has no version"))));
    }
    faults
}

/// Versions that stand in two places and differ: what containers run is what the tests ran.
pub(crate) fn mismatched(project: &Project) -> Vec<String> {
    let pins = [
        ("nats:", "src/dev/install/go.rs", "nats-server/v2@v"),
        ("puruto-fleet:", "Cargo.toml", "\nversion = \""),
    ];
    let mut faults = Vec::new();
    for (image, file, before) in pins {
        let Some(pinned) = version_in(project, file, before) else {
            continue;
        };
        for source in described(project) {
            let tags = images(source).filter_map(|it| it.strip_prefix(image));
            let others = tags.filter(|tag| tag.split('-').next() != Some(pinned));
            faults.extend(others.map(|tag| {
                source.fault(&format!("{image}{tag}, but {file} has version {pinned}"))
            }));
        }
    }
    faults
}

fn version_in<'p>(project: &'p Project, file: &str, before: &str) -> Option<&'p str> {
    let source = project.all().find(|it| it.path == Path::new(file))?;
    let (_, rest) = source.text.split_once(before)?;
    rest.split('"').next()
}

/// Sources that the manifest names, without which nothing is built, and that no image gets.
pub(crate) fn unbuildable(project: &Project) -> Vec<String> {
    let Some(image) = project.all().find(|it| it.path == Path::new("Dockerfile")) else {
        return Vec::new();
    };
    let manifest = project.file("Cargo.toml");
    let paths = manifest.text.lines().filter_map(|line| {
        let path = line.strip_prefix("path = \"")?;
        path.strip_suffix('"')
    });
    let lacking = paths.filter(|path| !image.text.contains(path));
    lacking
        .map(|path| image.fault(&format!("Cargo.toml names {path}, which no image gets")))
        .collect()
}

/// Files that are mounted or copied and are not there.
pub(crate) fn missing(project: &Project) -> Vec<String> {
    let mut faults = Vec::new();
    for source in described(project) {
        let paths = source.text.lines().flat_map(taken);
        for path in paths.filter(|path| !project.all().any(|it| it.is_under(path))) {
            faults.push(source.fault(&format!("there is no {path}")));
        }
    }
    faults
}

/// Files that an image copies and that `.dockerignore`, which names what may pass, keeps from it.
pub(crate) fn withheld(project: &Project) -> Vec<String> {
    let at = |path: &str| project.all().find(|it| it.path == Path::new(path));
    let (Some(image), Some(ignored)) = (at("Dockerfile"), at(".dockerignore")) else {
        return Vec::new();
    };
    let passing: Vec<_> = ignored
        .text
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    let copied = image.text.lines().flat_map(copied);
    let withheld = copied.filter(|path| !passing.iter().any(|it| Path::new(path).starts_with(it)));
    withheld
        .map(|path| ignored.fault(&format!("keeps {path} from the image that copies it")))
        .collect()
}

/// What a line mounts, or copies from outside.
fn taken(line: &str) -> Vec<&str> {
    match line.trim().strip_prefix("- ./") {
        Some(mounted) => mounted.split(':').take(1).collect(),
        None => copied(line),
    }
}

/// What a line copies from outside.
fn copied(line: &str) -> Vec<&str> {
    let line = line.trim();
    match line.strip_prefix("COPY ") {
        Some(copied) if !copied.starts_with("--from") => {
            let mut paths: Vec<_> = copied.split(' ').collect();
            // The last one is where to.
            paths.pop();
            paths
        }
        Some(_) | None => Vec::new(),
    }
}

/// Ports that other machines reach.
pub(crate) fn exposed(project: &Project) -> Vec<String> {
    let mut faults = Vec::new();
    for source in described(project) {
        let mut in_ports = false;
        for line in source.text.lines().map(str::trim) {
            in_ports = line == "ports:" || (in_ports && line.starts_with("- "));
            if in_ports && line.starts_with("- ") && !line.starts_with("- \"127.0.0.1:") {
                let port = line.trim_start_matches("- ");
                faults.push(source.fault(&format!("{port} is reached from other machines")));
            }
        }
    }
    faults
}

/// Workers that are killed while they drain.
pub(crate) fn impatient(project: &Project) -> Vec<String> {
    let seconds = |file: &str, beginnings: &[&str]| {
        let source = project.all().find(|it| it.path == Path::new(file))?;
        let rest = beginnings
            .iter()
            .try_fold(&*source.text, |rest, beginning| {
                rest.split_once(beginning).map(|(_, rest)| rest)
            })?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    };
    let drains = seconds("config/fleet.toml", &["drain_timeout = \""]);
    let grace = seconds("compose.yaml", &["\n  worker:\n", "stop_grace_period: "]);
    match (drains, grace) {
        (Some(drains), Some(grace)) if grace <= drains => {
            let what = format!("kills a worker after {grace} s, which may drain for {drains} s");
            vec![format!("compose.yaml: {what}")]
        }
        _ => Vec::new(),
    }
}

#[test]
fn an_image_without_a_version_is_found() {
    let rule = unpinned;
    broken(
        rule,
        "compose.yaml",
        "    image: nats\n",
        "nats has no version",
    );
    broken(
        rule,
        "compose.yaml",
        "    image: nats:latest\n",
        "nats:latest has no version",
    );
    broken(
        rule,
        "Dockerfile",
        "FROM rust:1 AS build\n",
        "rust:1 has no version",
    );
    kept(rule, "Dockerfile", "FROM rust:1.95.0-slim AS build\n");
}

#[test]
fn a_source_that_the_manifest_names_and_no_image_gets_is_found() {
    let manifest = "[[bench]]\npath = \"benches/x.rs\"\n";
    let with = |image: &str| {
        faults(
            unbuildable,
            &[("Cargo.toml", manifest), ("Dockerfile", image)],
        )
    };
    let lacks = "Dockerfile: Cargo.toml names benches/x.rs, which no image gets";
    assert_eq!(with("COPY src src\n"), [lacks]);
    assert_eq!(with("RUN touch benches/x.rs\n"), [""; 0]);
}

#[test]
fn a_version_that_is_another_one_elsewhere_is_found() {
    let pins = [
        ("src/dev/install/go.rs", "\"nats-server/v2@v2.15.1\""),
        ("Cargo.toml", "[package]\nversion = \"0.1.0\"\n"),
    ];
    let with = |compose| {
        let planted = [pins[0], pins[1], ("compose.yaml", compose)];
        faults(mismatched, &planted)
    };
    assert_eq!(
        with("image: nats:2.15.1-alpine\nimage: puruto-fleet:0.1.0\n"),
        [""; 0]
    );
    assert_eq!(
        with("image: nats:2.15.10-alpine\nimage: puruto-fleet:0.2.0\n"),
        [
            "compose.yaml: nats:2.15.10-alpine, but src/dev/install/go.rs has version 2.15.1",
            "compose.yaml: puruto-fleet:0.2.0, but Cargo.toml has version 0.1.0",
        ]
    );
}

#[test]
fn what_a_container_is_given_and_is_not_there_is_found() {
    let rule = missing;
    broken(
        rule,
        "compose.yaml",
        "- ./config/x.conf:/x:ro\n",
        "there is no config/x.conf",
    );
    broken(
        rule,
        "Dockerfile",
        "COPY Dockerfile Cargo.lock ./\n",
        "there is no Cargo.lock",
    );
    kept(
        rule,
        "Dockerfile",
        "COPY --from=build /x /y\nCOPY Dockerfile .\n",
    );
}

#[test]
fn what_an_image_copies_and_does_not_get_is_found() {
    let with = |passing: &str| {
        let ignored = format!("*\n{passing}");
        let image = "COPY Cargo.toml ./\nCOPY config/skills config/skills\n";
        let planted = [("Dockerfile", image), (".dockerignore", &ignored)];
        faults(withheld, &planted)
    };
    let fault = ".dockerignore: keeps config/skills from the image that copies it";
    assert_eq!(with("!Cargo.toml\n!config/fleet.toml\n"), [fault]);
    assert_eq!(with("!Cargo.toml\n!config\n"), [""; 0]);
}

#[test]
fn a_port_that_other_machines_reach_is_found() {
    let rule = exposed;
    broken(
        rule,
        "compose.yaml",
        "ports:\n  - \"4222:4222\"\n",
        "\"4222:4222\" is reached from other machines",
    );
    kept(
        rule,
        "compose.yaml",
        "ports:\n  - \"127.0.0.1:4222:4222\"\nvolumes:\n  - x:/y\n",
    );
}

#[test]
fn a_container_that_is_stopped_too_soon_is_found() {
    let with = |grace| {
        let compose = format!("services:\n  worker:\n    stop_grace_period: {grace}\n");
        let fleet = ("config/fleet.toml", "#drain_timeout = \"30s\"\n");
        faults(impatient, &[("compose.yaml", &compose), fleet])
    };
    assert_eq!(with("31s"), [""; 0]);
    let fault = "compose.yaml: kills a worker after 30 s, which may drain for 30 s";
    assert_eq!(with("30s"), [fault]);
}
