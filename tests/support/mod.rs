//! Real servers for the tests: fresh ones on free ports, gone when dropped.
//!
//! Each test that asks gets its own, so tests run side by side.

#![allow(
    dead_code,
    reason = "every test file is a program of its own and uses its own part"
)]

pub(crate) mod asking;
pub(crate) mod doorman;
pub(crate) mod foreign;
pub(crate) mod promql;
pub(crate) mod raw;
pub(crate) mod users;

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use puruto_fleet::{
    clock::Chance,
    dev::{
        self,
        find::Places,
        guard::Guard,
        port::PortChoice,
        redis::Fsync,
        server::{Launch, Server},
        tool::Tool,
    },
};
use tempfile::TempDir;

/// A NATS server with JetStream and a Redis server, both empty.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) nats: Server,
    pub(crate) redis: Server,
    // Last: the servers are gone before their data.
    folder: TempDir,
}

impl Servers {
    /// Starts both, installing them first on a machine that has neither.
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same, with this configuration of NATS.
    pub(crate) async fn start_with(nats: Option<&str>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let settings = nats.map(|text| {
            let path = folder.path().join("nats.conf");
            fs::write(&path, text).expect("a file");
            path
        });
        let (nats, redis) = tokio::join!(
            start_with(Tool::Nats, folder.path(), settings),
            start(Tool::Redis, folder.path())
        );
        Self {
            nats,
            redis,
            folder,
        }
    }

    /// A folder that goes away with the servers.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// One server with its data under `folder`.
pub(crate) async fn start(tool: Tool, folder: &Path) -> Server {
    start_with(tool, folder, None).await
}

/// The same, with a configuration file of its own.
pub(crate) async fn start_with(tool: Tool, folder: &Path, settings: Option<PathBuf>) -> Server {
    let found = dev::obtain(tool, &places(), &say).await.expect("a program");
    let launch = Launch {
        tool,
        program: found.program,
        data: folder.join(tool.name()),
        settings,
        // A test that kills it knows what it has written.
        fsync: Fsync::Never,
        port: PortChoice::Free,
        guard: guard(),
    };
    let started = Server::start(launch, &Chance::system()).await;
    started.expect("a server that answers")
}

/// Where the machine's servers are; the tool folder is shared by all tests.
pub(crate) fn places() -> Places {
    let named = |tool: Tool| env::var_os(tool.variable()).map(PathBuf::from);
    Places {
        nats_server: named(Tool::Nats),
        redis_server: named(Tool::Redis),
        search_path: env::var_os("PATH").unwrap_or_default(),
        tool_folder: Path::new(env!("CARGO_MANIFEST_DIR")).join(Places::TOOL_FOLDER),
    }
}

/// The guard of the binary under test.
pub(crate) fn guard() -> Guard {
    Guard::new(env!("CARGO_BIN_EXE_puruto"))
}

/// Whoever runs the tests may have configured a fleet of their own.
pub(crate) fn ours_that_configure() -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names
        .filter(|name| {
            let known = ["NATS_URL", "REDIS_URL", "RUST_LOG"];
            name.starts_with("PURUTO_")
                || name.starts_with("OTEL_")
                || known.contains(&name.as_str())
        })
        .collect()
}

/// Tells whoever watches the tests what takes so long.
pub(crate) fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("standard error");
}
