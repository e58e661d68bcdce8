//! Which of the crates that a seam hides is named where.

use crate::{paths::Paths, project::Project};

/// A crate and the only places that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("async_nats", &["src/broker/nats"]),
    // Unmaintained: to be replaced by changing one file.
    ("backoff", &["src/runtime/backoff.rs"]),
    // Small: to be replaced by changing one file.
    ("bm25", &["src/handler/agent/documents/ranking.rs"]),
    ("governor", &["src/gateway/auth/rate.rs"]),
    ("jsonschema", &["src/runtime/contract/schema"]),
    ("jsonwebtoken", &["src/gateway/auth/oauth2"]),
    ("redis", &["src/store/redis"]),
    (
        "reqwest",
        &["src/gateway/auth/oauth2/fetch.rs", "src/handler/agent/mcp"],
    ),
    ("rmcp", &["src/gateway/mcp", "src/handler/agent/mcp"]),
    // Young: to be replaced by changing one file.
    ("sse_core", &["src/runtime/stream/events.rs"]),
];

/// Files of the library that name such a crate elsewhere.
pub(crate) fn faults(project: &Project) -> Vec<String> {
    let mut faults = Vec::new();
    for source in project.rust().filter(|source| source.is_under("src")) {
        let paths = Paths::of(source);
        for (name, homes) in HOMES {
            let is_crate = !paths.local.contains(*name);
            let named = paths.named.iter().any(|named| named.first() == *name);
            let at_home = homes.iter().any(|home| source.is_under(home));
            if is_crate && named && !at_home {
                let homes = homes.join(", ");
                faults.push(source.fault(&format!("`{name}` is named only in {homes}")));
            }
        }
    }
    faults
}
