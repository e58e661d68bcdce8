//! One tool of a server.

use std::{collections::BTreeSet, fmt, sync::Arc};

use futures_util::future::BoxFuture;
use rmcp::model::{self, CallToolRequestParams, RequestMetaObject};
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{Server, outcome};
use crate::handler::agent::tools::{IdempotencyKey, Tool, ToolFailed};

/// Under which name a call carries its key: a server that has seen it need not do it again.
const IDEMPOTENCY_KEY: &str = "puruto/idempotency-key";

/// What `server` offers of what is allowed, by name.
pub(super) async fn offered_by(server: &Arc<Server>) -> Result<Vec<Arc<dyn Tool>>, ToolFailed> {
    let connection = server.connection().await?;
    let listed = match timeout(server.config.timeout, Box::pin(connection.tools())).await {
        Ok(listed) => listed.map_err(|error| outcome::unanswered(server.name(), &error))?,
        Err(_) => {
            let why = format!("{} does not say in time what it offers", server.name());
            return Err(outcome::failed(&why));
        }
    };
    let allowed = server.config.tools.as_ref();
    let mut tools: Vec<_> = listed
        .iter()
        .filter(|tool| allowed.is_none_or(|allowed| allowed.contains(&*tool.name)))
        .map(|tool| McpTool::of(server, tool))
        .collect();
    tell_missing(server, allowed, &tools);
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tools
        .into_iter()
        .map(|tool| Arc::new(tool) as Arc<dyn Tool>)
        .collect())
}

fn tell_missing(server: &Server, allowed: Option<&BTreeSet<String>>, tools: &[McpTool]) {
    for name in allowed.into_iter().flatten() {
        if !tools.iter().any(|tool| tool.name == *name) {
            tracing::warn!(server = server.name(), tool = %name, "a tool that is allowed is not offered");
        }
    }
}

/// One tool; it goes on being of use when its server has been started again.
struct McpTool {
    server: Arc<Server>,
    name: String,
    description: String,
    schema: Value,
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "McpTool({}.{})", self.server.name(), self.name)
    }
}

impl McpTool {
    fn of(server: &Arc<Server>, tool: &model::Tool) -> Self {
        Self {
            server: Arc::clone(server),
            name: tool.name.clone().into_owned(),
            description: tool.description.clone().unwrap_or_default().into_owned(),
            schema: Value::Object(Map::clone(&tool.input_schema)),
        }
    }

    async fn called(
        &self,
        args: Map<String, Value>,
        key: IdempotencyKey,
    ) -> Result<Value, ToolFailed> {
        let server = self.server.name();
        let connection = self.server.connection().await?;
        let meta = Map::from_iter([(IDEMPOTENCY_KEY.to_owned(), key.as_str().into())]);
        let mut params = CallToolRequestParams::new(self.name.clone()).with_arguments(args);
        params.meta = Some(RequestMetaObject::from(meta));
        let calling = connection.call(params);
        match timeout(self.server.config.timeout, Box::pin(calling)).await {
            Ok(Ok(answer)) => outcome::of(server, answer),
            Ok(Err(error)) => Err(outcome::unanswered(server, &error)),
            Err(_) => Err(outcome::failed(&format!(
                "{server} did not answer in time; whether it was done is not known"
            ))),
        }
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn call(
        &self,
        args: Map<String, Value>,
        key: IdempotencyKey,
    ) -> BoxFuture<'_, Result<Value, ToolFailed>> {
        Box::pin(self.called(args, key))
    }
}
