//! One connection to a server of tools: a program that was started, or a session over HTTP.
//!
//! Dropping it ends the program and all that it started. Never: a second one; who decides when to
//! connect again holds it.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
        PaginatedRequestParams, Tool,
    },
    serve_client,
    service::{NotificationContext, RunningService, ServiceError},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    process::{ChildStdin, ChildStdout, Command},
    sync::Mutex,
};
use tokio_util::task::AbortOnDropHandle;

use super::config::{McpConfig, Place};
use crate::{
    handler::program::{self, Argv, Program},
    runtime::connector::transport::install_tls,
};

/// Most tools of one server.
const TOOLS_MAX: usize = 500;
/// Most pages in which it may list them.
const PAGES_MAX: usize = 100;

/// How a server is reached, beyond what its configuration says.
pub(super) struct Access {
    /// Where a program runs.
    pub(super) folder: PathBuf,
    /// What a program sees.
    pub(super) environment: Vec<(String, String)>,
    /// What a server elsewhere wants to be shown.
    pub(super) key: Option<String>,
}

/// A server that has greeted us.
pub(super) struct Connection {
    service: RunningService<RoleClient, Listener>,
    changed: Arc<AtomicBool>,
    listed: Mutex<Option<Arc<[Tool]>>>,
    /// Lives as long as the connection.
    _process: Option<Process>,
}

/// A server's program, and what logs its words.
struct Process {
    _program: Program,
    _log: AbortOnDropHandle<()>,
}

/// Hears what a server says by itself.
struct Listener {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }
}

impl Connection {
    /// Starts the program, or finds the server, and greets it.
    ///
    /// # Errors
    /// Why that is not possible, in words without secrets.
    pub(super) async fn open(config: &McpConfig, access: &Access) -> Result<Self, String> {
        let changed = Arc::default();
        let listener = Listener {
            changed: Arc::clone(&changed),
        };
        let (service, process) = match &config.place {
            Place::Program { argv, .. } => {
                let started = start(argv, access).map_err(|error| error.to_string())?;
                let (process, (stdout, stdin)) = started;
                let transport = AsyncRwTransport::new_client(stdout, stdin)
                    .with_max_line_length(config.output_max);
                (serve_client(listener, transport).await, Some(process))
            }
            Place::Http { url, .. } => {
                let client = http_client(config)?;
                let transport = StreamableHttpClientTransport::with_client(
                    client,
                    http_config(url.to_string(), config, access),
                );
                (serve_client(listener, transport).await, None)
            }
        };
        Ok(Self {
            service: service.map_err(|error| error.to_string())?,
            changed,
            listed: Mutex::default(),
            _process: process,
        })
    }

    /// Whether the server went away.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_transport_closed()
    }

    /// What it offers; asked for once, and again when it said that this changed.
    pub(super) async fn tools(&self) -> Result<Arc<[Tool]>, ServiceError> {
        let mut listed = self.listed.lock().await;
        let changed = self.changed.swap(false, Ordering::AcqRel);
        match &*listed {
            Some(tools) if !changed => Ok(Arc::clone(tools)),
            Some(_) | None => {
                *listed = None;
                let tools = Arc::from(self.list().await?);
                *listed = Some(Arc::clone(&tools));
                Ok(tools)
            }
        }
    }

    async fn list(&self) -> Result<Vec<Tool>, ServiceError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_tools(Some(params)).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= TOOLS_MAX {
                break;
            }
        }
        tools.truncate(TOOLS_MAX);
        Ok(tools)
    }

    /// Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
    ) -> Result<CallToolResponse, ServiceError> {
        self.service.call_tool_once(params).await
    }
}

/// The program in its group, and its two ends for us.
fn start(argv: &Argv, access: &Access) -> io::Result<(Process, (ChildStdout, ChildStdin))> {
    let mut command = Command::new(argv.program());
    command
        .args(argv.arguments())
        .current_dir(&access.folder)
        .env_clear()
        .envs(access.environment.iter().map(|(name, value)| (name, value)));
    let (program, pipes) = Program::start(&mut command)?;
    let process = Process {
        _program: program,
        _log: AbortOnDropHandle::new(tokio::spawn(program::log(pipes.stderr))),
    };
    Ok((process, (pipes.stdout, pipes.stdin)))
}

/// No redirect is followed: the key would go with it.
fn http_client(config: &McpConfig) -> Result<reqwest::Client, String> {
    install_tls();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(config.timeout);
    client.build().map_err(|error| error.to_string())
}

fn http_config(
    url: String,
    config: &McpConfig,
    access: &Access,
) -> StreamableHttpClientTransportConfig {
    let http = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(config.output_max)
        .max_json_response_size(config.output_max);
    match &access.key {
        Some(key) => http.auth_header(key),
        None => http,
    }
}
