//! Several models in the order in which they are asked.
//!
//! Each route is a whole runtime with its own retries, breaker and time-outs; here is only when the
//! next one is asked, always within the one deadline of the call. Never: a retry of a route, or a
//! wait.

mod pass_on;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::json;

use self::pass_on::passes_on;
use super::{
    AgentRuntime, CallFailed, ModelAnswer, ModelCall, ModelName, RouteEnded, Shared,
    budget::WhenSpent,
    config::{Mistake, ProviderConfig},
    observe,
};

/// Most routes of one Puruto.
pub const ROUTES_MAX: usize = 8;

/// The models of one Puruto, the preferred one first.
#[derive(Debug)]
pub struct Routes {
    first: AgentRuntime,
    fallbacks: Vec<AgentRuntime>,
}

impl Routes {
    /// `first`, and where it fails `fallbacks` in their order.
    #[must_use]
    pub const fn new(first: AgentRuntime, fallbacks: Vec<AgentRuntime>) -> Self {
        Self { first, fallbacks }
    }

    /// Routes as the tables `[model]` and `[[fallback]]` describe them; see [`AgentRuntime::open`].
    ///
    /// # Errors
    /// What is wrong, and with which table.
    pub fn open(
        model: &ProviderConfig,
        fallbacks: &[ProviderConfig],
        env: impl Fn(&str) -> Option<String>,
        shared: &Shared,
    ) -> Result<Self, InvalidRoute> {
        let open = |place: Place, config: &ProviderConfig| {
            let opened = AgentRuntime::open(config, &env, shared.clone());
            opened.map_err(|mistake| InvalidRoute { place, mistake })
        };
        let numbered = fallbacks.iter().enumerate();
        Ok(Self {
            first: open(Place::Model, model)?,
            fallbacks: numbered
                .map(|(index, config)| open(Place::Fallback(index), config))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The model that is asked first.
    #[must_use]
    pub const fn model(&self) -> &ModelName {
        self.first.model()
    }

    /// What the route that is asked first is called: `provider/model`.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.first)
    }

    /// The route with this name; the first of several.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<RouteAt> {
        let mut names = self.all().map(name_of);
        names.position(|it| it == name).map(RouteAt)
    }

    /// Asks one route after the other, each for its own model, until there is an answer or none
    /// is to be had before the deadline. Where there are several, `metadata.route` of the answer
    /// says which one it came from.
    ///
    /// # Errors
    /// What the last route ended in that was asked, and each of those before it.
    pub async fn call(&self, call: &ModelCall) -> Result<ModelAnswer, CallFailed> {
        self.call_from(RouteAt::default(), call).await
    }

    /// As [`Routes::call`], with the route `chosen` asked before all others.
    ///
    /// # Errors
    /// As [`Routes::call`].
    pub async fn call_from(
        &self,
        chosen: RouteAt,
        call: &ModelCall,
    ) -> Result<ModelAnswer, CallFailed> {
        let mut asked = Asked::default();
        let (mut route, mut others) = self.in_order(chosen);
        loop {
            let at = asked.0.len();
            let next = others.next();
            let when_spent = next.map_or(call.when_spent, |_| WhenSpent::Stop);
            let failed = match route.call(&along(route, at, when_spent, call)).await {
                Ok(answer) => return Ok(self.told(answer, route, at)),
                Err(failed) => failed,
            };
            let next = next.filter(|_| passes_on(&failed.fault) && !call.time_left().is_zero());
            let Some(next) = next else {
                return Err(asked.failed(route, failed));
            };
            route.pass_on(call, next, &failed);
            asked.note(route, &failed);
            route = next;
        }
    }

    fn all(&self) -> impl Iterator<Item = &AgentRuntime> {
        [&self.first].into_iter().chain(&self.fallbacks)
    }

    fn in_order(&self, chosen: RouteAt) -> (&AgentRuntime, impl Iterator<Item = &AgentRuntime>) {
        let others = self.all().enumerate();
        let others = others.filter(move |(at, _)| *at != chosen.0);
        let chosen = self.all().nth(chosen.0);
        (chosen.unwrap_or(&self.first), others.map(|(_, it)| it))
    }

    fn told(&self, mut answer: ModelAnswer, route: &AgentRuntime, index: usize) -> ModelAnswer {
        if !self.fallbacks.is_empty() {
            let (provider, model) = (route.provider(), route.model());
            let told = json!({"provider": provider, "model": model, "index": index});
            answer.metadata.insert("route".to_owned(), told);
        }
        answer
    }
}

/// One of several routes; see [`Routes::find`]. The first by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteAt(usize);

fn name_of(route: &AgentRuntime) -> String {
    format!("{}/{}", route.provider(), route.model())
}

/// The call as the route number `index` is asked it.
fn along(route: &AgentRuntime, index: usize, when_spent: WhenSpent, call: &ModelCall) -> ModelCall {
    ModelCall {
        model: route.model().clone(),
        made: call.made.further(index),
        when_spent,
        ..call.clone()
    }
}

impl AgentRuntime {
    fn pass_on(&self, call: &ModelCall, to: &Self, failed: &CallFailed) {
        let error_type = failed.fault.error_type();
        observe::failed_over(call, self, to, error_type);
        self.observe().failed_over(self.model(), error_type);
    }
}

/// What the routes ended in that were asked so far.
#[derive(Default)]
struct Asked(Vec<RouteEnded>);

impl Asked {
    fn note(&mut self, route: &AgentRuntime, failed: &CallFailed) {
        self.0.push(RouteEnded {
            provider: route.provider(),
            model: route.model().clone(),
            error_type: failed.fault.error_type(),
            attempts: failed.attempts,
            said: failed.to_string(),
        });
    }

    /// `failed`, which `route` ended in, as the end of them all.
    fn failed(mut self, route: &AgentRuntime, failed: CallFailed) -> CallFailed {
        if self.0.is_empty() {
            return failed;
        }
        self.note(route, &failed);
        let attempts = self.0.iter().map(|it| it.attempts);
        CallFailed {
            attempts: attempts.fold(0, u8::saturating_add),
            routes: self.0,
            ..failed
        }
    }
}

/// The table of `worker.toml` that describes a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `[model]`.
    Model,
    /// A table `[[fallback]]`, counted from 0.
    Fallback(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("model"),
            Self::Fallback(index) => write!(f, "fallback[{index}]"),
        }
    }
}

/// A route that cannot be opened as its table says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}.{mistake}")]
pub struct InvalidRoute {
    /// Which table.
    pub place: Place,
    /// What is wrong in it.
    pub mistake: Mistake,
}
