//! The Agent Card of a Puruto: one document that clients of both versions of the protocol read.
//!
//! Each version finds the fields of its own names; those of the other mean nothing to it.

use serde_json::{Value, json};

use super::agents::Agent;
use crate::{config::HttpUrl, contract::ActionName, gateway::auth::KEY_HEADER};

/// What agents take and give.
const MODES: [&str; 2] = ["text/plain", "application/json"];
const TRANSPORT: &str = "JSONRPC";

/// Whether callers may show a token, beside keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    Taken,
    NotTaken,
}

/// The card of `agent` for callers who reach the gateway at `gateway`.
pub(super) fn of(agent: &Agent<'_>, gateway: &HttpUrl, tokens: Tokens) -> Value {
    let name = &agent.puruto.name;
    let url = format!("{gateway}/a2a/{name}");
    let description = description(agent);
    let skills: Vec<_> = agent.actions.iter().map(|it| skill(agent, it)).collect();
    let interface = |version: &str| json!({"url": url, "protocolBinding": TRANSPORT, "protocolVersion": version});
    json!({
        "name": name,
        "description": description,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [interface("1.0"), interface("0.3")],
        "protocolVersion": "0.3.0",
        "url": url,
        "preferredTransport": TRANSPORT,
        "capabilities": {
            "streaming": true,
            "pushNotifications": false,
            "extendedAgentCard": false,
        },
        "defaultInputModes": MODES,
        "defaultOutputModes": MODES,
        "skills": skills,
        "securitySchemes": schemes(tokens),
        "securityRequirements": required(tokens, |name| json!({"schemes": {name: {"list": []}}})),
        "security": required(tokens, |name| json!({name: []})),
    })
}

fn description(agent: &Agent<'_>) -> String {
    let told = agent.worker.description.clone();
    told.unwrap_or_else(|| format!("{} of a Puruto fleet", agent.puruto.name))
}

fn skill(agent: &Agent<'_>, action: &ActionName) -> Value {
    let what = description(agent);
    json!({
        "id": action,
        "name": action,
        "description": format!("{what}. Ask for it with \"action\": \"{action}\" in metadata."),
        "tags": [agent.puruto.name],
    })
}

fn schemes(tokens: Tokens) -> Value {
    let mut schemes = json!({"apiKey": {
        "type": "apiKey", "in": "header", "name": KEY_HEADER.as_str(),
        "apiKeySecurityScheme": {"location": "header", "name": KEY_HEADER.as_str()},
    }});
    if let (Tokens::Taken, Value::Object(schemes)) = (tokens, &mut schemes) {
        let bearer = json!({
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"},
        });
        schemes.insert("bearer".to_owned(), bearer);
    }
    schemes
}

/// Either of the schemes is enough.
fn required(tokens: Tokens, one: impl Fn(&str) -> Value) -> Vec<Value> {
    let names: &[&str] = match tokens {
        Tokens::Taken => &["apiKey", "bearer"],
        Tokens::NotTaken => &["apiKey"],
    };
    names.iter().map(|name| one(name)).collect()
}
