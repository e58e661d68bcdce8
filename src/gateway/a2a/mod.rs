//! The door for other agents: each Puruto that may be asked is one, by the Agent2Agent protocol.
//!
//! Owns the cards of agents and JSON-RPC in versions 0.3 and 1.0 of the protocol. A task is an
//! execution: its id is the execution's, its context the chain.
//! Never: an execution of its own making, or a file that a message brings along.

mod agents;
mod calls;
mod card;
mod message;
mod rpc;
mod stream;
mod task;
#[cfg(test)]
mod tests;
mod version;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    body::Bytes,
    extract::{ConnectInfo, Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::Value;

pub use self::agents::Agents;
use self::{
    agents::Agent,
    calls::Caller,
    card::Tokens,
    rpc::{Call, NoCall},
};
use super::{
    Principal,
    auth::{CallerRate, Gate, Presented},
    executions::Desk,
    problem::{Problem, ProblemCode},
    server::Patience,
};
use crate::{config::HttpUrl, contract::PurutoName};

/// What every route of this door stands on. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where executions are.
    pub desk: Desk,
    /// Who is let in.
    pub gate: Gate,
    /// How much one may ask.
    pub rate: Arc<CallerRate>,
    /// Who can be asked.
    pub agents: Agents,
    /// How long a caller may wait for an answer at most.
    pub wait_max: Duration,
    /// How callers reach the gateway.
    pub public: HttpUrl,
}

/// The routes of this door.
pub fn routes(door: Door) -> Router {
    Router::new()
        .route("/a2a/{target}", post(call))
        .route("/a2a/{target}/.well-known/agent-card.json", get(card))
        .with_state(door)
}

/// A card is for everybody, as a list of skills is.
async fn card(
    State(door): State<Door>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(target): Path<String>,
) -> Result<Json<Value>, Problem> {
    door.rate.count(&Principal::Anonymous, peer.ip())?;
    let agent = door.agent(&target)?;
    let tokens = if door.gate.takes_tokens() {
        Tokens::Taken
    } else {
        Tokens::NotTaken
    };
    Ok(Json(card::of(&agent, &door.public, tokens)))
}

async fn call(
    State(door): State<Door>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(target): Path<String>,
    patience: Option<Extension<Patience>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    // A name that is none is told no sooner than one that may not be asked.
    let name = target.parse::<PurutoName>();
    let who = match &name {
        Ok(name) => door.gate.admit_to(name, &Presented::new(&headers)).await,
        Err(_) => door.gate.identify(&Presented::new(&headers)).await,
    };
    let counted = who.as_ref().unwrap_or(&Principal::Anonymous);
    door.rate.count(counted, peer.ip())?;
    let caller = Caller {
        who: who?,
        agent: door.agent(&target)?,
        door: &door,
        patience: patience.map(|Extension(it)| it).unwrap_or_default(),
    };
    let call = match Call::read(&body) {
        Ok(call) => call,
        Err(no_call) => return Ok(no_call.into_response()),
    };
    if let Err(error) = version::spoken(&headers) {
        let id = call.id;
        return Ok(NoCall { id, error }.into_response());
    }
    Ok(caller.answer(&call).await)
}

impl Door {
    fn agent(&self, name: &str) -> Result<Agent<'_>, Problem> {
        let name = name.parse::<PurutoName>().ok();
        let agent = name.and_then(|name| self.agents.get(&name));
        agent.ok_or_else(|| {
            let why = "there is no such agent";
            Problem::new(StatusCode::NOT_FOUND, ProblemCode::NotFound, why)
        })
    }
}
