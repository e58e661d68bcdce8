//! Servers of tools by the official Python SDK of the Model Context Protocol, as an agent uses them.

use std::{path::Path, sync::Arc};

use puruto_fleet::{
    contract::Step,
    handler::agent::{
        mcp::{McpConfig, McpServer},
        tools::{IdempotencyKey, Tool, ToolFailed, ToolServer},
    },
};
use serde_json::{Value, json};

use crate::support::foreign::{
    mcp::serve,
    need,
    python::{MCP, Python},
    python_with,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/mcp_server.py");

fn server(table: &str, python: &Python) -> McpServer {
    let config: McpConfig = toml::from_str(table).expect("a table [[mcp]]");
    let packages = python.packages.display().to_string();
    let lookup = |name: &str| (name == "PYTHONPATH").then(|| packages.clone());
    McpServer::new(config, Path::new("."), lookup).expect("no key is wanted")
}

fn over_stdio(python: &Python) -> McpServer {
    let program = python.program.display();
    let table = format!(
        "name = 'ledger'\nargv = ['{program}', '{SCRIPT}', 'stdio']\nenv = ['PYTHONPATH']\n\
         timeout = '2m'"
    );
    server(&table, python)
}

async fn offered(server: &McpServer) -> Vec<Arc<dyn Tool>> {
    server.tools().await.expect("the server is there")
}

/// The tool of this name.
fn named<'t>(tools: &'t [Arc<dyn Tool>], name: &str) -> &'t dyn Tool {
    let tool = tools.iter().find(|it| it.name() == name);
    &**tool.expect("offered")
}

async fn call(server: &McpServer, name: &str, args: Value) -> Result<Value, ToolFailed> {
    let tools = offered(server).await;
    let args = args.as_object().expect("an object").clone();
    named(&tools, name).call(args, key()).await
}

fn key() -> IdempotencyKey {
    let target = "puruto-a".parse().expect("a name");
    IdempotencyKey::of(&target, &"r-1".parse().expect("an id"), Step::new(2))
}

/// What an agent sees of the server, however it is reached.
async fn holds_its_side(server: &McpServer) {
    let tools = offered(server).await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["die", "pay", "process", "refuse"]);
    let pay = named(&tools, "pay");
    assert_eq!(pay.description(), "Pays so many cents.");
    assert_eq!(pay.schema().pointer("/required/0"), Some(&json!("cents")));

    let paid = call(server, "pay", json!({"cents": 7})).await;
    assert_eq!(paid, Ok(json!({"paid": 7, "key": "puruto-a/r-1/2"})));
    let refused = call(server, "refuse", json!({})).await;
    assert!(refused.expect_err("refused").0.contains("no such account"));
    let wrong = call(server, "pay", json!({"cents": "many"})).await;
    assert!(wrong.expect_err("refused").0.contains("cents"));
}

#[tokio::test]
async fn tools_of_a_python_program_are_used_over_its_standard_input_and_output() {
    let Some(python) = need(python_with(&MCP).await) else {
        return;
    };
    holds_its_side(&over_stdio(&python)).await;
}

#[tokio::test]
async fn tools_of_a_python_server_are_used_over_streamable_http() {
    let Some(python) = need(python_with(&MCP).await) else {
        return;
    };
    let running = serve(&python, Path::new(SCRIPT)).await;
    let url = format!("{}/mcp", running.base_url());
    let elsewhere = server(&format!("name = 'ledger'\nurl = '{url}'"), &python);
    holds_its_side(&elsewhere).await;
    drop(running);
    let away = call(&elsewhere, "process", json!({})).await;
    assert!(away.is_err(), "{away:?}");
}

#[tokio::test]
async fn a_python_program_that_dies_is_started_again() {
    let Some(python) = need(python_with(&MCP).await) else {
        return;
    };
    let server = over_stdio(&python);
    let before = call(&server, "process", json!({}))
        .await
        .expect("an answer");
    let died = call(&server, "die", json!({})).await.expect_err("it died");
    assert!(died.0.contains("ledger went away"), "{died}");
    let after = call(&server, "process", json!({}))
        .await
        .expect("an answer");
    assert_ne!(before, after);
}
