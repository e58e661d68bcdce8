//! Holds what is rendered against the table of names.

use std::time::Duration;

use super::{gen_ai::tests::answered, http::Answered, *};
use crate::{
    circuit::Throttle,
    contract::ErrorCode,
    runtime::{
        breaker::{BreakerState, CircuitName},
        observe::{Observe as _, Validation},
    },
    telemetry::labels::ClaimOutcome,
};

fn echo() -> PurutoName {
    "puruto-echo".parse().unwrap()
}

fn series(metrics: &Metrics) -> usize {
    let text = metrics.render();
    text.lines().filter(|line| !line.starts_with('#')).count()
}

fn touch_runtime(metrics: &Metrics, name: &str) {
    let runtime = metrics.runtime();
    let second = Duration::from_secs(1);
    let model = name.parse().unwrap();
    runtime.request_done(&answered(&model));
    runtime.retried(&model, "timeout");
    runtime.failed_over(&model, "timeout");
    runtime.validated(Validation::Valid);
    runtime.connection_waited(name, second);
    runtime.connection_acquired(name);
    runtime.connection_acquired(name);
    runtime.connection_released(name);
    let circuit = CircuitName::new("openai", "host", name);
    runtime.circuit(&circuit, BreakerState::HalfOpen);
    runtime.throttled(Throttle::Requests, second);
}

#[test]
fn every_metric_of_the_table_is_rendered_with_its_help_and_type() {
    let metrics = Metrics::new([&echo()]);
    touch_runtime(&metrics, "m");
    metrics.http().answered(&Answered {
        route: "/v1/executions/{id}",
        method: "GET",
        status: "200",
        took: Duration::from_millis(1),
    });
    metrics.store_faulted(&StoreFault::Unsuitable("too old".into()));
    metrics.broker_faulted(&BrokerFault::Unsuitable("too old".into()));
    metrics.broker_incident(&Incident::LameDuck);
    let text = metrics.render();
    for def in names::METRICS {
        let kind = format!("{:?}", def.kind).to_lowercase();
        let head = format!(
            "# HELP {} {}\n# TYPE {} {kind}\n",
            def.name, def.help, def.name
        );
        assert!(text.contains(&head), "{head} is not in\n{text}");
    }
}

#[test]
fn a_count_appears_under_its_labels() {
    let metrics = Metrics::new([&echo()]);
    let echo = metrics.target(&echo());
    echo.claimed(ClaimOutcome::Held);
    echo.finished(Err(ErrorCode::Denied));
    echo.finished(Ok(()));
    touch_runtime(&metrics, "m");
    let text = metrics.render();
    for line in [
        "puruto_claims_total{outcome=\"held\",target=\"puruto-echo\"} 1",
        "puruto_claims_total{outcome=\"claimed\",target=\"puruto-echo\"} 0",
        "puruto_requests_finished_total{code=\"DENIED\",status=\"error\",target=\"puruto-echo\"} 1",
        "puruto_requests_finished_total{code=\"\",status=\"ok\",target=\"puruto-echo\"} 1",
        "runtime_requests_total{model=\"m\",status=\"ok\"} 1",
        "runtime_retries_total{error_type=\"timeout\",model=\"m\"} 1",
        "runtime_connections_active{pool_name=\"m\"} 1",
        "runtime_circuit_breaker_state{circuit_name=\"openai host m\"} 2",
        "puruto_fenced_total 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_claim_is_in_flight_until_it_is_let_go() {
    let metrics = Metrics::new([&echo()]);
    let echo = metrics.target(&echo());
    let in_flight = |n: usize| {
        let line = format!("puruto_in_flight{{target=\"puruto-echo\"}} {n}");
        assert!(metrics.render().lines().any(|l| l == line), "{line}");
    };
    let (first, second) = (echo.hold(), echo.hold());
    in_flight(2);
    drop(first);
    in_flight(1);
    drop(second);
    in_flight(0);
}

#[test]
fn strangers_targets_and_models_add_no_series_without_end() {
    let metrics = Metrics::new([&echo()]);
    let before = series(&metrics);
    for n in 0..5_000 {
        let bogus = format!("bogus-{n}").parse().unwrap();
        metrics.target(&bogus).delivered();
    }
    assert_eq!(series(&metrics), before);
    assert!(
        metrics
            .render()
            .contains("puruto_deliveries_total{target=\"other\"} 5000")
    );

    for n in 0..100 {
        touch_runtime(&metrics, &format!("model-{n}"));
    }
    let full = series(&metrics);
    for n in 100..5_000 {
        touch_runtime(&metrics, &format!("model-{n}"));
    }
    assert_eq!(series(&metrics), full);
}
