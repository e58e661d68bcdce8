//! What everybody has: an HTTP client that keeps its connections, and reads the body.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use super::{Outcome, caller::PROMPT, server::FAST_PATH};

/// A client and where it posts to.
#[derive(Clone, Debug)]
pub(super) struct Bare {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    body: Bytes,
}

impl Bare {
    pub(super) fn of(server: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let body = serde_json::json!({
            "model": "m-1",
            "messages": [{"role": "user", "content": PROMPT}],
            "stream": false,
        });
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url: format!("http://{server}{FAST_PATH}/chat/completions"),
            body: body.to_string().into(),
        }
    }

    /// One call; the size of what came back.
    pub(super) async fn call(&self) -> Outcome<usize> {
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(self.body.clone()))?;
        let response = self.client.request(request).await?;
        Ok(response.into_body().collect().await?.to_bytes().len())
    }
}
