//! MiniMax, over its native API or its OpenAI-compatible one.
//!
//! Both fail in the same three shapes and answer in OpenAI's, so that they differ in address and
//! request alone. Never: a retry.

mod code;
mod refusal;
mod stream;
#[cfg(test)]
mod tests;
mod thoughts;
mod wire;

use hyper::HeaderMap;
use tracing::debug;

use self::stream::Chunks;
pub(super) use self::wire::read;
use super::{
    Network, Payload, Reply, assembly::Assembly, endpoint::Endpoint, openai, server::Server,
    streamed, transport::Permit,
};
use crate::runtime::{
    Fault, ModelCall,
    config::{Authorization, MiniMaxConfig, MiniMaxRoute, Mistake},
    fault::ProviderCode,
    fleet::Quota,
    stream::events::Events,
};

/// The headers by which MiniMax's support finds a call.
const TRACE_HEADERS: [&str; 2] = ["trace_id", "trace-id"];

/// One endpoint and how its model is asked.
#[derive(Debug)]
pub struct MiniMax {
    server: Server,
    route: MiniMaxRoute,
    defaults: openai::Defaults,
}

impl MiniMax {
    /// The endpoint of `config`, asked with the key in `authorization`.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub(in crate::runtime) fn new(
        config: &MiniMaxConfig,
        authorization: Option<&Authorization>,
        network: &Network<'_>,
    ) -> Result<Self, Mistake> {
        let url = config.base_url.join(config.route.path());
        Ok(Self {
            server: Server {
                endpoint: Endpoint::new("minimax", url, authorization, config.limits(), network)?,
                model: config.model.clone(),
                temperature: config.temperature,
                quota: Quota {
                    limits: config.limits,
                    max_tokens: config.max_tokens,
                },
            },
            route: config.route,
            defaults: openai::Defaults {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
                send_schema: config.send_schema,
                // The native route says it unasked.
                stream_usage: config.route == MiniMaxRoute::OpenAi,
            },
        })
    }

    pub(super) const fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn build(&self, call: &ModelCall) -> Payload {
        Payload(wire::request(call, self.defaults, self.route).into())
    }

    /// The body of a response with the status of a success, which may still tell of a failure, or
    /// the draft of one that was streamed.
    pub(super) async fn attempt(
        &self,
        call: &ModelCall,
        payload: &Payload,
        permit: Permit,
    ) -> Result<Reply, Fault> {
        let response = self.server.endpoint.post(payload, permit).await?;
        if let Some(trace_id) = trace_id(&response.headers) {
            debug!(
                status = response.status.0,
                trace_id = trace_id.as_str(),
                "minimax_trace"
            );
        }
        if !response.is_success() {
            return Err(refusal::classify(&response.read().await?));
        }
        let Some(tokens) = &call.tokens else {
            return Ok(response.read().await?.into());
        };
        let assembly = Assembly::new(Events::new(), Chunks::default());
        let draft = streamed::read(response, assembly, tokens).await?;
        Ok(Reply::Draft(draft))
    }
}

fn trace_id(headers: &HeaderMap) -> Option<ProviderCode> {
    let mut values = TRACE_HEADERS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    values.find_map(ProviderCode::read)
}
