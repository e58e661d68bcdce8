//! Builds `nats-server` from its official source; Go's checksum database vouches for it.

use std::{path::PathBuf, time::Duration};

use super::{super::run::run, super::tool::Tool, Order};

/// Pinned; what Debian or a user has may be older or newer.
const NATS_SERVER: &str = "github.com/nats-io/nats-server/v2@v2.15.1";

/// How long the download and the build may take on a slow machine.
const BUILD_WITHIN: Duration = Duration::from_secs(5 * 60);

/// The built program, or why there is none.
pub(super) async fn build_nats(order: &Order<'_>) -> Result<PathBuf, String> {
    let mut go = order.command("go")?;
    order.say(&format!(
        "building nats-server with go install {NATS_SERVER}"
    ));
    go.args(["install", NATS_SERVER])
        // The program stands alone, whatever C library the machine has.
        .env("CGO_ENABLED", "0")
        .env("GOBIN", order.incoming);
    run(go, BUILD_WITHIN).await?;
    Ok(order.incoming.join(Tool::Nats.name()))
}
