//! The lines by which a person sees the same with other tools.

use serde_json::json;

use super::{
    report::Report,
    scenes::{Line, SHIPPED},
};
use crate::{
    broker::{ConsumerName, StreamName},
    cli::dev::hints::program,
    contract::{Lane, Subjects},
};

/// Shows them: a request published by hand, its result, and what the broker knows of both.
pub(super) fn show(report: &mut Report) {
    report.part("The same by hand, with the nats command line");
    let [first, ..] = SHIPPED;
    for line in lines(first) {
        report.command(&line);
    }
}

fn lines(request: Line) -> [String; 6] {
    let Line {
        caller,
        target,
        action,
        prompt,
        ..
    } = request;
    let (id, chain) = ("by-hand-1", "by-hand");
    let body = json!({
        "request_id": id, "correlation_id": chain, "caller": caller, "target": target,
        "action": action, "prompt": prompt,
    });
    let (subjects, target) = (Subjects::default(), request.invocation().target);
    let prefix = subjects.prefix();
    let invoke = subjects.invoke(&target, Lane::Normal);
    let (requests, results) = (
        StreamName::invoke(&subjects),
        StreamName::results(&subjects),
    );
    let consumer = ConsumerName::of(&target, Lane::Normal);
    [
        format!(
            "{} dev   # then in another terminal, in this folder:",
            program()
        ),
        ". .puruto/dev.env; export NATS_URL".to_owned(),
        format!("nats sub '{}' &", subjects.results_all()),
        format!("nats pub {invoke} '{body}'"),
        format!(
            "nats stream get {} --last-for {prefix}.result.{chain}.{id}",
            results.as_str()
        ),
        format!(
            "nats consumer info {} {}",
            requests.as_str(),
            consumer.as_str()
        ),
    ]
}
