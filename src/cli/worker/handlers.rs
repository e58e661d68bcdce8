//! The handler of each Puruto, as its `worker.toml` describes it.

use std::sync::Arc;

use super::compose::Shared;
use crate::{
    contract::{ActionName, PurutoName},
    handler::{
        Chat, Command, Handler,
        agent::{
            Agent, AgentParts, Documents, DocumentsFault, Model, Peer, Proposer,
            mcp::{McpServer, MissingKey},
            tools::ToolServer,
        },
    },
    puruto::{Actions, AgentSpec, ChatSpec, Decider, Fleet, OwnTool, Puruto, Work, WorkerSpec},
    runtime::{
        self,
        repair::Repairing,
        routes::{InvalidRoute, Routes},
    },
};

/// A Puruto that cannot be served as its folder says.
#[derive(Debug, thiserror::Error)]
#[error("{name} cannot be served: {mistake}; see worker.toml in its folder")]
pub struct InvalidPuruto {
    name: PurutoName,
    mistake: Mistake,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error(transparent)]
    Route(#[from] InvalidRoute),
    #[error(transparent)]
    Documents(#[from] DocumentsFault),
    #[error(transparent)]
    Key(#[from] MissingKey),
}

/// What handlers are made of.
#[derive(Clone, Copy)]
pub(super) struct Handlers<'h> {
    pub(super) shared: &'h Shared<'h>,
    pub(super) fleet: &'h Fleet,
    pub(super) runtimes: &'h runtime::Shared,
}

impl Handlers<'_> {
    /// What serves `puruto`.
    pub(super) fn handler(
        &self,
        puruto: &Puruto,
        spec: &WorkerSpec,
    ) -> Result<Arc<dyn Handler>, InvalidPuruto> {
        let handler: Result<Arc<dyn Handler>, Mistake> = match &spec.work {
            Work::Chat(chat) => self
                .chat(puruto, spec, chat)
                .map(|it| Arc::new(it) as Arc<dyn Handler>),
            Work::Command(command) => {
                let command =
                    Command::new(command.clone(), &puruto.folder, |name| self.variable(name));
                Ok(Arc::new(command))
            }
            Work::Agent(agent) => self
                .agent(puruto, spec, agent)
                .map(|it| Arc::new(it) as Arc<dyn Handler>),
        };
        handler.map_err(|mistake| InvalidPuruto {
            name: puruto.name.clone(),
            mistake,
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.shared.environment.lookup(name)
    }

    fn chat(&self, puruto: &Puruto, spec: &WorkerSpec, chat: &ChatSpec) -> Result<Chat, Mistake> {
        let lookup = |name: &str| self.variable(name);
        let routes = Routes::open(&chat.model, &chat.fallbacks, lookup, self.runtimes)?;
        let prompt = puruto.prompt.as_ref().map(|it| it.text());
        let models = Repairing::new(routes, chat.repair);
        let chat = Chat::new(models, prompt, chat.answer.clone(), spec.on_circuit_open)
            .answering(spec.answering)
            .priced(self.shared.config.prices.models.clone());
        Ok(chat)
    }

    fn agent(
        &self,
        puruto: &Puruto,
        spec: &WorkerSpec,
        agent: &AgentSpec,
    ) -> Result<Agent, Mistake> {
        let documents = if agent.tools.contain(OwnTool::Search) {
            Documents::load(&puruto.docs_folder())?
        } else {
            Documents::default()
        };
        let peers = if agent.tools.contain(OwnTool::Delegate) {
            peers(puruto, self.fleet)
        } else {
            Vec::new()
        };
        Ok(Agent::new(AgentParts {
            proposer: self.proposer(puruto, spec, agent)?,
            documents,
            peers,
            servers: self.servers(puruto, agent)?,
            limits: agent.limits,
            bounds: agent.bounds,
            crash_at: self.shared.crash,
        }))
    }

    fn proposer(
        &self,
        puruto: &Puruto,
        spec: &WorkerSpec,
        agent: &AgentSpec,
    ) -> Result<Proposer, Mistake> {
        let (model, fallbacks) = match &agent.decider {
            Decider::Policy(policy) => return Ok(Proposer::Simulated(policy.clone())),
            Decider::Models { model, fallbacks } => (model, fallbacks),
        };
        let lookup = |name: &str| self.variable(name);
        Ok(Proposer::Model(Box::new(Model {
            routes: Routes::open(model, fallbacks, lookup, self.runtimes)?,
            decisions: agent.decisions,
            on_circuit_open: spec.on_circuit_open,
            prices: self.shared.config.prices.models.clone(),
            prompt: puruto.prompt.as_ref().map(|it| it.text()),
        })))
    }

    fn servers(
        &self,
        puruto: &Puruto,
        agent: &AgentSpec,
    ) -> Result<Vec<Arc<dyn ToolServer>>, Mistake> {
        let servers = agent.servers.iter().map(|config| {
            let lookup = |name: &str| self.variable(name);
            let server = McpServer::new(config.clone(), &puruto.folder, lookup)?;
            Ok(Arc::new(server) as Arc<dyn ToolServer>)
        });
        servers.collect()
    }
}

/// Whom `puruto` may ask, as its policy and their folders say now; the policy is asked again each
/// time.
fn peers(puruto: &Puruto, fleet: &Fleet) -> Vec<Peer> {
    let named = puruto.policy.iter().flat_map(|policy| policy.named());
    // An empty list lets nothing pass.
    let open = named.filter(|(_, actions)| actions.is_none_or(|it| !it.is_empty()));
    open.map(|(target, actions)| {
        let worker = fleet.get(target).and_then(|it| it.worker.as_ref());
        Peer {
            target: target.clone(),
            actions: match actions {
                Some(actions) => actions.iter().cloned().collect(),
                None => worker.map_or_else(Vec::new, |it| served(&it.actions)),
            },
            description: worker.and_then(|it| it.description.clone()),
        }
    })
    .collect()
}

/// The actions that a target lists; none where it serves any.
fn served(actions: &Actions) -> Vec<ActionName> {
    match actions {
        Actions::Every => Vec::new(),
        Actions::Only(listed) => listed.keys().cloned().collect(),
    }
}
