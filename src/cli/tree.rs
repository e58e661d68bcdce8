//! `puruto tree`: which request of a chain asked which, how each stands and what it spent.

use std::{fmt::Write as _, time::Duration};

use clap::Args;
use serde_json::{Value, json};

use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{GlobalArgs, World, connect_whole, explain},
};
use crate::{
    client::{Node, Tree},
    contract::{CorrelationId, Micros, PurutoName, RequestId, Spent},
    inspect::{node_state, node_time},
};

/// Flags of `puruto tree`.
#[derive(Args, Debug)]
pub(super) struct TreeArgs {
    /// The chain
    #[arg(value_name = "CORRELATION_ID", required_unless_present = "request")]
    chain: Option<CorrelationId>,
    /// Only this request and those below it
    #[arg(long, value_name = "ID", conflicts_with = "chain")]
    request: Option<RequestId>,
    /// Who was asked, where several targets have a request of this id
    #[arg(long, value_name = "NAME", requires = "request")]
    target: Option<PurutoName>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Draws the tree.
pub(super) async fn run(
    args: &TreeArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect_whole(world, &gathered).await?.client;
    let tree = match (&args.request, &args.chain) {
        (Some(request), _) => client.tree_below(request, args.target.as_ref()).await,
        (None, Some(chain)) => client.tree(chain).await,
        (None, None) => return Err(Failure::Usage("name a chain or a request".to_owned())),
    };
    let tree = tree.map_err(|fault| explain(&gathered, fault))?;
    world.output.answer(match world.output.reader(args.json) {
        Reader::Program => as_json(&tree).to_string(),
        Reader::Person => drawn(&tree),
    })?;
    Ok(Exit::Ok)
}

fn as_json(tree: &Tree) -> Value {
    let roots: Vec<_> = tree.roots.iter().map(node_json).collect();
    json!({ "correlation_id": tree.chain, "requests": roots })
}

fn node_json(node: &Node) -> Value {
    let children: Vec<_> = node.children.iter().map(node_json).collect();
    let Spent {
        requests,
        tokens,
        cost,
        descendants,
    } = node.spent;
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "request_id": node.key.request,
        "target": node.key.target,
        "action": node.action,
        "state": node_state(node),
        "attempts": node.record.as_ref().map(|it| it.attempts),
        "duration_ms": node_time(node).map(millis),
        "spent": {
            "requests": requests,
            "tokens": tokens,
            "cost": cost.to_string(),
            "descendants": descendants,
        },
        "children": children,
    })
}

/// The tree as a person reads it.
pub(super) fn drawn(tree: &Tree) -> String {
    let mut text = tree
        .chain
        .as_ref()
        .map_or_else(String::new, |chain| format!("{chain}\n"));
    branches(&tree.roots, "", &mut text);
    text.truncate(text.trim_end().len());
    text
}

fn branches(nodes: &[Node], before: &str, text: &mut String) {
    for (at, node) in nodes.iter().enumerate() {
        let is_last = at + 1 == nodes.len();
        let (branch, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        // Writing to a string cannot fail.
        writeln!(text, "{before}{branch}{}", line(node)).ok();
        branches(&node.children, &format!("{before}{below}"), text);
    }
}

fn line(node: &Node) -> String {
    let action = node.action.as_ref().map(|it| format!(" {it}"));
    let time = node_time(node).map(|it| humantime::format_duration(it).to_string());
    let attempts = node.record.as_ref().map(|it| it.attempts);
    let attempts = attempts
        .filter(|it| *it > 1)
        .map(|it| format!("{it} attempts"));
    let id = node.key.request.to_string();
    let parts = [
        Some(node_state(node)),
        time,
        attempts,
        spent(&node.spent),
        Some(id),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let action = action.unwrap_or_default();
    format!("{}{action}  {}", node.key.target, parts.join("  "))
}

fn spent(spent: &Spent) -> Option<String> {
    let counted = |count: u64, what: &str| {
        let plural = if count == 1 || what == "below" {
            ""
        } else {
            "s"
        };
        (count > 0).then(|| format!("{count} {what}{plural}"))
    };
    let cost = (spent.cost > Micros::default()).then(|| format!("cost {}", spent.cost));
    let parts = [
        counted(spent.requests, "model request"),
        counted(spent.tokens, "token"),
        cost,
        counted(spent.descendants, "below"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        contract::{ErrorCode, InvocationResult, Outcome, ResultError},
        store::RequestKey,
    };

    fn node(id: &str, target: &str, children: Vec<Node>) -> Node {
        let key = RequestKey {
            target: target.parse().unwrap(),
            request: id.parse().unwrap(),
        };
        Node {
            key,
            action: None,
            record: None,
            result: None,
            spent: Spent::default(),
            children,
        }
    }

    fn ended(outcome: Outcome) -> InvocationResult {
        InvocationResult {
            request_id: "x".parse().unwrap(),
            correlation_id: "c".parse().unwrap(),
            duration: Duration::from_millis(120),
            outcome,
        }
    }

    fn tree() -> Tree {
        let mut paid = node("r-2", "puruto-financial", vec![]);
        paid.action = Some("pay_invoice".parse().unwrap());
        paid.result = Some(ended(Outcome::Ok(json!({"summary": "paid"}))));
        let mut late = node("r-3", "puruto-research", vec![]);
        let error = ResultError::new(ErrorCode::Timeout, "late");
        late.result = Some(ended(Outcome::Error(error)));
        let mut root = node("r-1", "puruto-reservations", vec![paid, late]);
        root.spent = Spent {
            requests: 3,
            tokens: 1_200,
            cost: Micros(1_500),
            descendants: 2,
        };
        Tree {
            chain: Some("c".parse().unwrap()),
            roots: vec![root],
        }
    }

    #[test]
    fn a_tree_is_drawn_from_its_root_down() {
        assert_eq!(
            drawn(&tree()),
            "c\n\
             └─ puruto-reservations  queued  3 model requests, 1200 tokens, cost 0.001500, 2 below  r-1\n   \
                ├─ puruto-financial pay_invoice  done ok  120ms  r-2\n   \
                └─ puruto-research  done TIMEOUT  120ms  r-3"
        );
    }

    #[test]
    fn a_program_gets_all_of_it() {
        let tree = as_json(&tree());
        let root = &tree["requests"][0];
        assert_eq!(root["spent"]["cost"], "0.001500");
        assert_eq!(root["children"][0]["state"], "done ok");
        assert_eq!(root["children"][0]["action"], "pay_invoice");
        assert_eq!(root["children"][1]["duration_ms"], 120);
    }
}
