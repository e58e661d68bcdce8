//! What `kind = "agent"` says of who decides, and of the tools.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::{Table, Value};

use super::Keys;
use crate::{
    contract::Violation,
    handler::agent::{Decisions, Script, Simulated, StepLimits, mcp::McpConfig, tools::ToolBounds},
    policy::FindingCode,
    puruto::{AgentSpec, Decider, OwnTools},
    runtime::config::{ByteSize, HumanDuration},
};

/// Most tables `[[mcp]]`.
const SERVERS_MAX: usize = 16;

/// The provider that is no model.
const POLICY: &str = "policy";

/// The other keys of `[model]` with `provider = "policy"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::puruto) struct PolicyTable {
    latency: Option<HumanDuration>,
    script: Option<Script>,
}

/// What an agent has beside whoever decides.
pub(super) struct Equipment {
    decisions: Decisions,
    tools: OwnTools,
    servers: Vec<McpConfig>,
    bounds: ToolBounds,
}

impl Keys<'_> {
    /// Read whatever the kind, so that the mistakes inside are found.
    pub(super) fn equipment(&mut self) -> Equipment {
        let decisions = self.take("decisions");
        let tools = self.take("tools");
        let servers = self.servers();
        let bounds = ToolBounds::default();
        let timeout = self.take::<HumanDuration>("tool_timeout");
        let output_max = self.take::<ByteSize>("output_max");
        Equipment {
            decisions: decisions.unwrap_or_default(),
            tools: tools.unwrap_or_default(),
            servers,
            bounds: ToolBounds {
                timeout: timeout.map_or(bounds.timeout, |it| it.0),
                output_max: output_max.map_or(bounds.output_max, ByteSize::bytes),
            },
        }
    }

    /// None without a usable `[model]`.
    pub(super) fn agent(&mut self, equipment: Equipment, limits: StepLimits) -> Option<AgentSpec> {
        let decider = self.decider();
        let Equipment {
            decisions,
            tools,
            servers,
            bounds,
        } = equipment;
        Some(AgentSpec {
            decider: decider?,
            decisions,
            tools,
            servers,
            limits,
            bounds,
        })
    }

    fn decider(&mut self) -> Option<Decider> {
        match self.table.remove("model") {
            Some(Value::Table(table)) if is_policy(&table) => self.policy(table),
            model => {
                let model = model.and_then(|table| self.provider("model", table));
                let fallbacks = self.fallbacks();
                model.map(|model| Decider::Models {
                    model: Box::new(model),
                    fallbacks,
                })
            }
        }
    }

    fn policy(&mut self, mut table: Table) -> Option<Decider> {
        if self.table.remove("fallback").is_some() {
            let expected = "no fallback beside the provider \"policy\": it does not fail";
            let why = Violation::new("fallback", expected, "one");
            self.error(FindingCode::InvalidWorkerConfig, &why);
        }
        table.remove("provider");
        let policy = self.fit::<PolicyTable>("model", Value::Table(table))?;
        let latency = policy.latency.map(|it| it.0);
        Some(Decider::Policy(Simulated {
            latency: latency.unwrap_or_default(),
            script: policy.script,
        }))
    }

    fn servers(&mut self) -> Vec<McpConfig> {
        let tables = self.take::<Vec<Value>>("mcp").unwrap_or_default();
        if tables.len() > SERVERS_MAX {
            let expected = format!("at most {SERVERS_MAX} tables");
            let why = Violation::new("mcp", expected, tables.len());
            self.error(FindingCode::InvalidWorkerConfig, &why);
        }
        let mut names = BTreeSet::new();
        let mut servers = Vec::new();
        for (index, table) in tables.into_iter().enumerate() {
            let at = format!("mcp[{index}]");
            let Some(server) = self.fit::<McpConfig>(&at, table) else {
                continue;
            };
            if !names.insert(server.name.clone()) {
                let expected = "a name that no other server has";
                let why = Violation::new(format!("{at}.name"), expected, &server.name);
                self.error(FindingCode::InvalidWorkerConfig, &why);
            }
            servers.push(server);
        }
        servers
    }
}

fn is_policy(model: &Table) -> bool {
    model.get("provider").and_then(Value::as_str) == Some(POLICY)
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
