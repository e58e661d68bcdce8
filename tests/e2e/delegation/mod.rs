//! Purutos that ask others, on real servers: chains, circles and crowds of them, with workers that
//! die at every joint.
//!
//! Seen elsewhere: what `tests/faults.md` says of parents and children.

mod approvals;
mod cancels;
mod deadlines;
mod joins;
mod kills;
mod outages;
mod parents;
mod slots;
mod volleys;

use puruto_fleet::contract::{ChildPlace, Step};
use serde_json::Value;

use crate::{
    fleet::Fleet,
    patience::until,
    records::Records,
    support::asking::policy,
    wire::{Wire, json_of, request},
    worker::Worker,
};

/// Far more than any chain here is deep.
const MAX_HOPS: u64 = 8;

/// A request of [`crate::fleet::CALLER`] whose prompt is an object.
fn asking(id: &str, target: &str, prompt: &Value) -> Value {
    request(id, target, &prompt.to_string())
}

/// The id of the child at `index` of the first delegation of a request.
fn child_id(target: &str, id: &str, index: u16) -> String {
    let place = ChildPlace {
        step: Step::new(0),
        index,
    };
    let parent = (target.parse().expect("a name"), id.parse().expect("an id"));
    place.child_of(&parent.0, &parent.1).to_string()
}

/// The child at `index` of `parent`, as far as it takes to find its result.
fn child_of(parent: &Value, index: u16, target: &str) -> Value {
    let text = |key: &str| parent[key].as_str().expect("a text");
    let mut child = parent.clone();
    child["request_id"] = child_id(text("target"), text("request_id"), index).into();
    child["target"] = target.into();
    child
}

/// The body of its result, once there is one.
async fn answer(wire: &Wire, request: &Value) -> Value {
    json_of(&wire.result(request).await.payload)
}

/// Lets each of them ask all of them.
fn let_all_ask(fleet: &Fleet, names: &[&str]) {
    for name in names {
        fleet.write_policy(name, &policy(name, names, MAX_HOPS));
    }
}

/// Waits until a request of `target` waits without a worker.
async fn until_it_waits(fleet: &Fleet, request: &Value) {
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let text = |key: &str| request[key].as_str().expect("a text");
    let (target, id) = (text("target"), text("request_id"));
    until(&format!("{target}/{id} waits"), async || {
        let state = records.field(target, id, "state").await;
        (state.as_deref() == Some("waiting")).then_some(())
    })
    .await;
}

/// Waits until this worker has all slots of `target` free and nothing in flight.
async fn until_at_rest(worker: &Worker, target: &str, slots: u64) {
    let free = format!("puruto_slots_free{{target=\"{target}\"}}");
    let held = format!("puruto_in_flight{{target=\"{target}\"}}");
    until(&format!("every slot of {target} is free"), async || {
        let at_rest = worker.count(&free).await == slots && worker.count(&held).await == 0;
        at_rest.then_some(())
    })
    .await;
}
