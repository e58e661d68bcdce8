//! Runs that ask others, and that use others' tools.

use std::{
    num::NonZeroU16,
    sync::{Mutex, PoisonError},
};

use serde_json::Map;

use super::*;
use crate::{
    contract::{Delegation, Join, Outcome, Step},
    handler::{
        agent::tools::{IdempotencyKey, ServerName, Tool, ToolFailed},
        delegating::{ChildOutcome, Delegating, Planned, Refused, Rule},
    },
    store::{RequestKey, kin::Park, run::RunStatus},
};

/// Plans whatever it is asked to, but for what goes to `forbidden`; once it was told, everything
/// that was asked is answered.
#[derive(Debug, Default)]
struct Desk {
    planned: Mutex<Vec<Delegation>>,
    over: Mutex<Vec<(Step, Vec<ChildOutcome>)>>,
}

impl Desk {
    /// The children of the latest delegation answer with the target's name.
    fn answer_all(&self) {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let delegation = planned.last().expect("a delegation");
        let outcomes = delegation.children.iter().map(|child| ChildOutcome {
            key: RequestKey {
                target: child.target.clone(),
                request: "child".parse().expect("valid"),
            },
            action: child.action.clone(),
            outcome: Some(Outcome::Ok(
                json!({"summary": format!("paid {}", child.prompt)}),
            )),
        });
        let outcomes = outcomes.collect();
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        over.push((delegation.step, outcomes));
    }
}

impl Delegating for Desk {
    fn plan(&self, delegation: Delegation) -> Result<Planned, Refused> {
        let forbidden = delegation
            .children
            .iter()
            .any(|it| it.target.as_str() == "forbidden");
        if forbidden {
            return Err(Refused {
                rule: Rule::Cycle,
                message: "the same was asked of forbidden above".to_owned(),
            });
        }
        let park = Park {
            step: delegation.step,
            join: 1,
            children: vec![],
        };
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        planned.push(delegation);
        Ok(Planned::checked(park))
    }

    fn outcome(&self, step: Step) -> BoxFuture<'_, Option<Vec<ChildOutcome>>> {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let found = over.iter().find(|(it, _)| *it == step);
        Box::pin(std::future::ready(
            found.map(|(_, outcomes)| outcomes.clone()),
        ))
    }

    fn over(&self) -> &[Step] {
        &[]
    }
}

fn delegate(targets: &[&str]) -> Value {
    let children = targets
        .iter()
        .map(|target| json!({"target": target, "action": "pay", "prompt": "42"}));
    let children: Vec<_> = children.collect();
    json!({"action": "delegate", "args": {"children": children, "join": 1}})
}

#[tokio::test]
async fn a_delegation_ends_the_turn_and_the_next_turn_observes_what_came_of_it() {
    let (notebook, desk) = (Notebook::default(), Arc::new(Desk::default()));
    let agent = Agent::new(research());
    let goal = script(&json!([delegate(&["bank", "shop"])]));
    let turn = || Context {
        delegating: Arc::<Desk>::clone(&desk),
        ..context(&goal, &notebook)
    };
    for again in ["once", "and by whoever takes it over"] {
        let ended = agent.handle(turn()).await.expect("a plan");
        assert!(matches!(ended, Ended::Delegate(_)), "{again}: {ended:?}");
        let run = notebook.run();
        assert!(run.pending.is_some(), "{again}: the decision stays pending");
        assert_eq!((run.step.number(), run.requests), (0, 1), "{again}");
    }
    desk.answer_all();
    let result = answer(agent.handle(turn()).await.expect("a report"));
    let told = observed(&notebook.run());
    assert_eq!(told[0]["children"][1]["target"], "shop");
    assert_eq!(told[0]["children"][1]["result"]["summary"], "paid 42");
    assert_eq!(result["summary"], "[bank/pay] ok: paid 42");
    let planned = desk.planned.lock().expect("no panic").clone();
    assert_eq!(planned[0].step, Step::new(0));
    assert_eq!(planned[0].join, Join::Count(NonZeroU16::MIN));
    assert_eq!(planned[0], planned[1]);
}

#[tokio::test]
async fn a_refused_delegation_is_an_observation_that_names_the_rule() {
    let notebook = Notebook::default();
    let goal = script(&json!([delegate(&["forbidden"])]));
    let context = Context {
        delegating: Arc::new(Desk::default()),
        ..context(&goal, &notebook)
    };
    let result = Agent::new(research()).handle(context).await;
    let observed = observed(&notebook.run());
    assert_eq!(observed[0]["rule"], "cycle");
    assert_eq!(
        answer(result.expect("a report"))["summary"],
        "the script has ended"
    );
}

/// A server with one tool, which does what the first word of its name says.
#[derive(Debug)]
struct Git {
    name: ServerName,
    tool: Option<Arc<Log>>,
}

#[derive(Debug)]
struct Log {
    schema: Value,
    used: Mutex<Vec<String>>,
}

impl Git {
    fn offering(tool: Option<Arc<Log>>) -> Arc<dyn ToolServer> {
        let name = "git".parse().expect("valid");
        Arc::new(Self { name, tool })
    }
}

impl ToolServer for Git {
    fn name(&self) -> &ServerName {
        &self.name
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Tool>>, ToolFailed>> {
        let tool = self.tool.clone().map(|it| it as Arc<dyn Tool>);
        let tools = tool.map(|it| vec![it]);
        Box::pin(std::future::ready(
            tools.ok_or_else(|| ToolFailed("git is away".to_owned())),
        ))
    }
}

impl Tool for Log {
    fn name(&self) -> &str {
        "log"
    }

    fn description(&self) -> &str {
        "Lists commits"
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn call(
        &self,
        args: Map<String, Value>,
        key: IdempotencyKey,
    ) -> BoxFuture<'_, Result<Value, ToolFailed>> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.push(key.as_str().to_owned());
        Box::pin(async move {
            match args.get("how").and_then(Value::as_str) {
                Some("fail") => Err(ToolFailed("no such branch".to_owned())),
                Some("hang") => std::future::pending().await,
                Some("long") => Ok("x".repeat(1_000).into()),
                _ => Ok(json!(["fix the port"])),
            }
        })
    }
}

fn log(how: &str) -> Value {
    json!({"action": "tool", "args": {"server": "git", "name": "log", "args": {"how": how}}})
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_used_within_its_bounds_and_each_step_has_its_key() {
    let tool = Arc::new(Log {
        schema: json!({"type": "object"}),
        used: Mutex::default(),
    });
    let parts = AgentParts {
        servers: vec![Git::offering(Some(Arc::clone(&tool)))],
        bounds: ToolBounds {
            timeout: Duration::from_secs(5),
            output_max: 100,
        },
        ..research()
    };
    let (_, run) = ran(
        parts,
        &script(&json!([log("well"), log("fail"), log("hang"), log("long")])),
    )
    .await;
    let observed = observed(&run);
    assert_eq!(observed[0], json!({"result": ["fix the port"]}));
    assert_eq!(observed[1], json!({"error": "no such branch"}));
    assert_eq!(
        observed[2],
        json!({"error": "the tool took longer than 5s"})
    );
    assert_eq!(observed[3]["truncated"], true);
    let used = tool.used.lock().expect("no panic").clone();
    let keys = [
        "research/case-1/0",
        "research/case-1/1",
        "research/case-1/2",
        "research/case-1/3",
    ];
    assert_eq!(used, keys);
}

#[tokio::test]
async fn a_server_that_is_away_is_an_observation_and_its_tools_are_not_offered() {
    let parts = AgentParts {
        servers: vec![Git::offering(None)],
        ..research()
    };
    let (result, run) = ran(parts, &script(&json!([log("well")]))).await;
    assert_eq!(observed(&run)[0], json!({"error": "git is away"}));
    assert_eq!(run.status, RunStatus::Completed);
    assert!(result.is_ok());
}
