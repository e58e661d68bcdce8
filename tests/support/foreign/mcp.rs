//! Servers of tools, written with the SDK `mcp`.

use std::path::Path;

use super::{mock::Mock, python::Python};

/// `script` as a server of its own, which is told `http` and its port, and answers at `/health`.
pub(crate) async fn serve(python: &Python, script: &Path) -> Mock {
    let started = Mock::start(|port| {
        let mut command = python.command();
        command.arg(script).args(["http", &port.to_string()]);
        command
    });
    started.await
}
