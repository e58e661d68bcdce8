//! What the protocol's implementation asks of a server: who it is, its tools, a call.
//!
//! Never: a protocol error, unless it is the request that is wrong.

use axum::http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, Implementation, JsonObject,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::{
    Door,
    admission::Admitted,
    answer::{self, Failure},
    arguments, call,
    session::Session,
    tools::{self, Offer},
};
use crate::{
    client::Invocation,
    gateway::{Principal, executions::Order},
    telemetry::propagation,
};

/// How long a client may go by a list of tools.
const LIST_FRESH_MILLIS: u64 = 5_000;

const INSTRUCTIONS: &str = "Each tool asks one agent of the fleet for one thing. Say in `prompt` \
    what it is to do, in words and with everything that it has to know: it sees nothing else. A \
    call may take long and goes on by itself once it is accepted; `_meta.execution_id` names it.";

/// The fleet as a server.
#[derive(Clone, Debug)]
pub(super) struct FleetServer {
    door: Door,
}

impl FleetServer {
    pub(super) const fn new(door: Door) -> Self {
        Self { door }
    }

    /// What whoever was let in may ask.
    fn offers(&self, admitted: &Admitted) -> impl Iterator<Item = Offer> {
        let door = &self.door;
        let offers = tools::offered(&door.purutos, &door.policies.current(), &door.caller);
        offers
            .into_iter()
            .filter(|offer| admitted.may_ask(&offer.target))
    }

    fn offer(&self, admitted: &Admitted, name: &str) -> Result<Offer, ErrorData> {
        let offer = self.offers(admitted).find(|offer| offer.name() == name);
        offer.ok_or_else(|| ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
    }

    /// What is asked for, in the words of the fleet.
    fn order(
        &self,
        offer: &Offer,
        given: Option<JsonObject>,
        from: &From<'_>,
    ) -> Result<Order, Failure> {
        let read = arguments::read(offer, given).map_err(|them| Failure::invalid(&them))?;
        let (caller, target) = (self.door.caller.clone(), offer.target.clone());
        let mut invocation = Invocation::new(caller, target, read.action, read.prompt);
        invocation.timeout = read.timeout;
        invocation.lane = read.lane;
        invocation.trace = propagation::parent_of(|name| from.header(name.as_str()));
        invocation.extra = on_behalf_of(&from.admitted.who);
        Ok(Order {
            who: from.admitted.who.clone(),
            caller: call::CALLER.into(),
            skill: offer.name().into(),
            invocation,
            idempotency: from.session.map(|it| it.key(from.id)),
        })
    }
}

impl ServerHandler for FleetServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new("puruto-fleet", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(server.with_title("Puruto Fleet"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let from = From::of(&context)?;
        let tools = self.offers(from.admitted).map(|offer| offer.tool());
        let mut listed = ListToolsResult::with_all_items(tools.collect());
        listed.ttl_ms = Some(LIST_FRESH_MILLIS);
        listed.cache_scope = Some(CacheScope::Private);
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let from = From::of(&context)?;
        let offer = self.offer(from.admitted, &request.name)?;
        let result = match self.order(&offer, request.arguments, &from) {
            Ok(order) => call::run(&self.door, order, &context).await,
            Err(failure) => answer::failed(failure),
        };
        Ok(result.into())
    }
}

/// Where a message came from.
struct From<'c> {
    admitted: &'c Admitted,
    session: Option<Session>,
    parts: &'c Parts,
    id: &'c rmcp::model::RequestId,
}

impl<'c> From<'c> {
    fn of(context: &'c RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let found = parts.and_then(|parts| Some((parts, parts.extensions.get::<Admitted>()?)));
        let Some((parts, admitted)) = found else {
            // Every request passes the admission first.
            return Err(ErrorData::internal_error("nobody was let in", None));
        };
        Ok(Self {
            admitted,
            session: parts.extensions.get::<Session>().copied(),
            parts,
            id: &context.id,
        })
    }

    fn header(&self, name: &str) -> Option<&'c str> {
        self.parts.headers.get(name)?.to_str().ok()
    }
}

/// Who is behind the gateway, for the target to know.
fn on_behalf_of(who: &Principal) -> Map<String, Value> {
    let (id, kind) = match who {
        Principal::Anonymous => return Map::new(),
        Principal::Key(name) => (name, "api_key"),
        Principal::Subject { subject, .. } => (subject, "oauth2"),
    };
    let on_behalf_of = json!({ "id": id, "type": kind });
    Map::from_iter([("on_behalf_of".to_owned(), on_behalf_of)])
}
