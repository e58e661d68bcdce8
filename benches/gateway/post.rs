//! Invocations over HTTP.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, StatusCode, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

use super::{Outcome, fleet::SKILL};

/// A client that keeps its connections, and what it posts.
#[derive(Clone, Debug)]
pub(super) struct Gateway {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    body: Bytes,
}

impl Gateway {
    pub(super) fn at(address: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let body = json!({
            "caller": {"id": "bench", "type": "service"},
            "skill_id": SKILL,
            "inputs": {"text": "What does it cost to ask over HTTP?"},
        });
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url: format!("http://{address}/v1/invocations"),
            body: body.to_string().into(),
        }
    }

    /// Posts an invocation; the id of the execution that it became.
    pub(super) async fn invoke(&self) -> Outcome<String> {
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(self.body.clone()))?;
        let response = self.client.request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status != StatusCode::ACCEPTED {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        let document: Value = serde_json::from_slice(&body)?;
        let id = document.get("execution_id").and_then(Value::as_str);
        Ok(id.ok_or("no execution_id")?.to_owned())
    }
}
