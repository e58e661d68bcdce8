//! Takes a server's program from the packages of Debian and its descendants, as root.
//!
//! The packages named after the servers start a service by themselves when installed, so none of
//! them is: `nats-server`'s is only unpacked (the program needs no more than the C library), and
//! Redis comes from `redis-tools`, which holds the same program under the name of one of its
//! other uses.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{super::run::run, super::tool::Tool, Order};

/// How long each step may take on a slow line.
const STEP_WITHIN: Duration = Duration::from_secs(3 * 60);

/// Decides by the name it is called under whether to serve or to check a file.
const REDIS_PROGRAM: &str = "/usr/bin/redis-check-rdb";

/// The program, or why there is none.
pub(super) async fn install(order: &Order<'_>) -> Result<PathBuf, String> {
    order.command("apt-get")?;
    if !rustix::process::geteuid().is_root() {
        return Err("installing Debian's package needs root".to_owned());
    }
    order.say(&format!("taking {} from Debian's packages", order.tool));
    apt_get(order, &["update"]).await?;
    match order.tool {
        Tool::Nats => nats(order).await,
        Tool::Redis => redis(order).await,
    }
}

async fn nats(order: &Order<'_>) -> Result<PathBuf, String> {
    apt_get(order, &["download", "nats-server"]).await?;
    let package = first_package(order.incoming)?;
    let unpacked = order.incoming.join("unpacked");
    let mut extract = order.command("dpkg-deb")?;
    extract.arg("--extract").arg(package).arg(&unpacked);
    run(extract, STEP_WITHIN).await?;
    Ok(unpacked.join("usr/sbin/nats-server"))
}

async fn redis(order: &Order<'_>) -> Result<PathBuf, String> {
    let install = ["install", "--yes", "--no-install-recommends", "redis-tools"];
    apt_get(order, &install).await?;
    let program = order.incoming.join(order.tool.name());
    // Not `fs::copy`: a program cannot be run while a process that we fork elsewhere has inherited
    // our descriptor for writing it.
    let mut copy = order.command("cp")?;
    copy.arg(REDIS_PROGRAM).arg(&program);
    run(copy, STEP_WITHIN).await?;
    Ok(program)
}

async fn apt_get(order: &Order<'_>, arguments: &[&str]) -> Result<String, String> {
    let mut apt = order.command("apt-get")?;
    apt.args(["--quiet", "--quiet"])
        .args(arguments)
        .current_dir(order.incoming)
        .env("DEBIAN_FRONTEND", "noninteractive");
    run(apt, STEP_WITHIN).await
}

fn first_package(folder: &Path) -> Result<PathBuf, String> {
    let describe = |error| format!("{}: {error}", folder.display());
    fs::read_dir(folder)
        .map_err(describe)?
        .flatten()
        .map(|entry| entry.path())
        .find(|file| file.extension().is_some_and(|end| end == "deb"))
        .ok_or_else(|| "apt-get left no package".to_owned())
}
