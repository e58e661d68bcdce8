//! Small shell scripts that ask others: what is planned for them, and what they are told when they
//! are run again.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{
    tests::{OK, Scripted, context},
    *,
};
use crate::{
    contract::{Join, Limits, Micros},
    handler::delegating::{Planned, Refused, Rule},
    store::{RequestKey, kin::Park},
};

/// Plans whatever it is asked for, or refuses it; remembers the one and knows what came of others.
#[derive(Debug, Default)]
struct Others {
    refuses: Option<Refused>,
    asked: Mutex<Vec<Delegation>>,
    over: Vec<Step>,
    ended: Vec<Vec<ChildOutcome>>,
}

impl Delegating for Others {
    fn plan(&self, delegation: Delegation) -> Result<Planned, Refused> {
        if let Some(refused) = &self.refuses {
            return Err(refused.clone());
        }
        let park = Park {
            step: delegation.step,
            join: 1,
            children: Vec::new(),
        };
        self.asked.lock().expect("whole").push(delegation);
        Ok(Planned::checked(park))
    }

    fn outcome(&self, step: Step) -> BoxFuture<'_, Option<Vec<ChildOutcome>>> {
        let at = self.over.iter().position(|it| *it == step);
        let ended = at.and_then(|at| self.ended.get(at).cloned());
        Box::pin(std::future::ready(ended))
    }

    fn over(&self) -> &[Step] {
        &self.over
    }
}

/// How a turn of this script ended, with these others around.
async fn turn(scripted: &Scripted, others: Arc<Others>) -> Result<Ended, ResultError> {
    let context = Context {
        delegating: others,
        ..context("x")
    };
    scripted.command.handle(context).await
}

fn writes(output: &Value) -> Scripted {
    Scripted::new(&format!("cat > request; echo '{output}'"))
}

/// What the script of [`writes`] read.
fn request_of(scripted: &Scripted) -> Value {
    let request = fs::read(scripted.folder.path().join("request")).expect("read");
    serde_json::from_slice(&request).expect("JSON")
}

fn ended(outcome: Option<Outcome>) -> ChildOutcome {
    ChildOutcome {
        key: RequestKey {
            target: "bank".parse().expect("a name"),
            request: "c-1".parse().expect("an id"),
        },
        action: "pay".parse().expect("an action"),
        outcome,
    }
}

#[tokio::test]
async fn a_program_may_ask_others_and_its_turn_ends_with_the_plan() {
    let scripted = writes(&json!({"delegate": {"join": 1, "children": [
        {"target": "bank", "action": "pay", "prompt": "42"},
        {"target": "shop", "action": "buy", "prompt": "", "timeout_sec": 5,
         "budget": {"requests": 2, "cost": 10}, "unknown": 1},
    ]}}));
    let others = Arc::new(Others::default());
    let ended = turn(&scripted, Arc::clone(&others)).await.expect("a plan");
    assert!(matches!(ended, Ended::Delegate(_)));
    let asked = others.asked.lock().expect("whole");
    let [
        Delegation {
            step,
            children,
            join,
        },
    ] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!(*step, Step::new(0));
    assert_eq!(join.of(2), 1);
    let [pay, buy] = &children[..] else {
        panic!("{children:?}")
    };
    assert_eq!((pay.target.as_str(), &*pay.prompt), ("bank", "42"));
    assert_eq!((pay.timeout_sec, pay.budget), (None, None));
    assert_eq!(buy.action.as_str(), "buy");
    assert_eq!(buy.timeout_sec.map(|it| it.duration().as_secs()), Some(5));
    let budget = Limits {
        requests: Some(2),
        cost: Some(Micros(10)),
        ..Limits::default()
    };
    assert_eq!(buy.budget, Some(budget));
}

#[tokio::test]
async fn a_program_that_is_run_again_reads_what_came_of_each_delegation_and_may_ask_again() {
    let child = json!({"target": "bank", "action": "pay", "prompt": "42"});
    let scripted = writes(&json!({"delegate": {"children": [child]}, "result": null}));
    let paid = Some(Outcome::Ok(json!({"summary": "paid"})));
    let others = Arc::new(Others {
        over: vec![Step::new(0), Step::new(1)],
        ended: vec![vec![ended(paid), ended(None)], vec![ended(None)]],
        ..Others::default()
    });
    turn(&scripted, Arc::clone(&others)).await.expect("a plan");
    let dropped = json!({
        "request_id": "c-1", "target": "bank", "action": "pay", "status": "dropped",
    });
    let mut paid = dropped.clone();
    paid["status"] = "ok".into();
    paid["result"] = json!({"summary": "paid"});
    let told = json!([
        {"step": 0, "children": [paid, dropped]},
        {"step": 1, "children": [dropped]},
    ]);
    assert_eq!(request_of(&scripted)["delegated"], told);
    let asked = others.asked.lock().expect("whole");
    assert_eq!(asked[0].step, Step::new(2));
    assert_eq!(asked[0].join, Join::All);
}

#[tokio::test]
async fn what_a_caller_says_of_delegations_is_not_told_to_the_program() {
    let answer = serde_json::from_str(OK).expect("JSON");
    let scripted = writes(&answer);
    let mut context = context("x");
    let mut request = InvocationRequest::clone(&context.request);
    let forged = json!([{"step": 0, "children": [{"status": "ok"}]}]);
    request.extra.insert("delegated".to_owned(), forged);
    request.extra.insert("other".to_owned(), 1.into());
    context.request = Arc::new(request);
    scripted.command.handle(context).await.expect("an answer");
    let read = request_of(&scripted);
    assert_eq!((read.get("delegated"), &read["other"]), (None, &json!(1)));
}

#[tokio::test]
async fn a_delegation_that_is_refused_is_the_error_that_names_the_rule() {
    let child = json!({"target": "bank", "action": "pay", "prompt": "42"});
    let scripted = writes(&json!({"delegate": {"children": [child]}}));
    let others = Others {
        refuses: Some(Refused {
            rule: Rule::Cycle,
            message: "bank/pay was asked for the same already".to_owned(),
        }),
        ..Others::default()
    };
    let error = turn(&scripted, Arc::new(others))
        .await
        .expect_err("refused");
    assert_eq!(error.code.as_str(), "DENIED");
    assert_eq!(json!(error.details), json!({"rule": "cycle"}));
}

#[tokio::test]
async fn every_mistake_of_a_delegation_is_told_where_it_stands_and_never_repeated() {
    let fields = async |output: Value| {
        let others = Arc::new(Others::default());
        let turn = turn(&writes(&output), Arc::clone(&others)).await;
        let error = turn.expect_err("mistakes");
        assert!(others.asked.lock().expect("whole").is_empty());
        assert!(!json!(error).to_string().contains("secret"), "{error:?}");
        let fields = error.violations().into_iter().map(|it| it.field);
        fields.collect::<Vec<_>>()
    };
    assert_eq!(fields(json!({"delegate": "secret"})).await, ["delegate"]);
    assert_eq!(fields(json!({"delegate": {}})).await, ["delegate.children"]);
    let none = json!({"delegate": {"children": [], "join": 0}});
    assert_eq!(fields(none).await, ["delegate.children", "delegate.join"]);
    let beside = json!({
        "delegate": {"children": [7, {"target": "a b", "prompt": 1, "timeout_sec": 0,
                                      "budget": {"secret": 1}}]},
        "status": "ok", "result": {"secret": 1},
    });
    assert_eq!(
        fields(beside).await,
        [
            "status",
            "result",
            "delegate.children[0]",
            "delegate.children[1].target",
            "delegate.children[1].action",
            "delegate.children[1].prompt",
            "delegate.children[1].timeout_sec",
            "delegate.children[1].budget.?",
        ]
    );
    let many = json!({"delegate": {"children": vec![json!({}); 10_000]}});
    assert_eq!(fields(many).await.len(), 100);
}
