//! Carries a decision out.
//!
//! Whatever goes wrong is an observation, and the run goes on. Never: a change of the run.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::{
    Agent,
    decision::Decision,
    documents::DocumentId,
    observation,
    past::Past,
    tools::{IdempotencyKey, ServerName, Tool},
};
use crate::{
    contract::{ChildRequest, Delegation, Join, Step},
    handler::{Context, delegating::Planned},
};

/// What became of a decision.
pub(super) enum Outcome {
    /// This came of it.
    Observed(Value),
    /// The run ends with this report; this came of it.
    Reported { answer: String, result: Value },
    /// Others have to do their part first. The decision stays pending.
    Delegated(Planned),
}

impl Agent {
    /// Does what `decision` says, as the step `step` of the run.
    pub(super) async fn carry_out(
        &self,
        context: &Context,
        step: Step,
        past: &Past,
        decision: Decision,
    ) -> Outcome {
        match decision {
            Decision::Search { query } => Outcome::Observed(self.documents.search(&query)),
            Decision::Read { id } => Outcome::Observed(self.read(&id)),
            Decision::Report { answer, sources } => report(answer, &sources, past),
            Decision::Delegate { children, join } => {
                delegate(context, step, children, join, self.bounds.output_max).await
            }
            Decision::Tool { server, name, args } => {
                let request = &context.request;
                let key = IdempotencyKey::of(&request.target, &request.request_id, step);
                Outcome::Observed(self.tool(&server, &name, args, key).await)
            }
        }
    }

    fn read(&self, id: &DocumentId) -> Value {
        match self.documents.text(id) {
            Some(text) => observation::document(id, text, self.bounds.output_max),
            None => observation::error(format!("there is no document {:?}", id.as_str())),
        }
    }

    /// Within the time that one use of a tool has, connecting to its server included.
    async fn tool(
        &self,
        server: &ServerName,
        name: &str,
        args: Map<String, Value>,
        key: IdempotencyKey,
    ) -> Value {
        let used = async {
            let tool = self.find(server, name).await?;
            let said = tool.call(args, key).await;
            said.map_err(|failed| observation::error(failed.to_string()))
        };
        let limit = self.bounds.timeout;
        match timeout(limit, used).await {
            Ok(Ok(said)) => observation::tool(said, self.bounds.output_max),
            Ok(Err(error)) => error,
            Err(_) => observation::error(format!("the tool took longer than {limit:?}")),
        }
    }

    async fn find(&self, server: &ServerName, name: &str) -> Result<Arc<dyn Tool>, Value> {
        let found = self.servers.iter().find(|it| it.name() == server);
        let found =
            found.ok_or_else(|| observation::error(format!("there is no server {server}")))?;
        let tools = found.tools().await;
        let tools = tools.map_err(|away| observation::error(away.to_string()))?;
        let tool = tools.into_iter().find(|tool| tool.name() == name);
        tool.ok_or_else(|| observation::error(format!("{server} has no tool {name:?}")))
    }
}

fn report(answer: String, sources: &[DocumentId], past: &Past) -> Outcome {
    let unread = sources.iter().filter(|id| !past.has_read(id));
    let unread: Vec<_> = unread.map(DocumentId::as_str).collect();
    if !unread.is_empty() {
        let error = "a report may cite only documents that were read";
        return Outcome::Observed(json!({"error": error, "not_read": unread}));
    }
    let digest = Sha256::digest(answer.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Outcome::Reported {
        result: json!({"report_hash": hash, "bytes": answer.len()}),
        answer,
    }
}

async fn delegate(
    context: &Context,
    step: Step,
    children: Vec<ChildRequest>,
    join: Join,
    output_max: usize,
) -> Outcome {
    if let Some(outcomes) = context.delegating.outcome(step).await {
        return Outcome::Observed(observation::children(&outcomes, output_max));
    }
    let delegation = Delegation {
        step,
        children,
        join,
    };
    match context.delegating.plan(delegation) {
        Ok(planned) => Outcome::Delegated(planned),
        Err(refused) => Outcome::Observed(refused.to_observation()),
    }
}
