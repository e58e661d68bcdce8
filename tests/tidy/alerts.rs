//! Rules for alerts: they ask for what a process exports, and say what to do; each is tested.

use crate::{
    planted::{broken, faults, kept},
    project::{Project, Source},
    promql::{
        exported::Exported,
        watched::{RULES, Rule, rules},
    },
};

/// The tests of the rules, which `promtool` runs.
const TESTS: &str = "config/alerts_test.yml";
/// How bad it can be.
const SEVERITIES: &[&str] = &["critical", "warning"];
/// What somebody who is woken needs.
const KEYS: &[&str] = &["expr", "for", "summary", "description", "runbook"];

fn of(project: &Project) -> Option<(&Source, Vec<Rule>)> {
    let source = project.all().find(|it| it.is_under(RULES))?;
    Some((source, rules(&source.text)))
}

/// Metrics, labels and values that nothing exports.
pub(crate) fn unknown(project: &Project) -> Vec<String> {
    let Some((source, rules)) = of(project) else {
        return Vec::new();
    };
    let exported = Exported::of_table();
    let unknown = rules
        .iter()
        .flat_map(|rule| exported.unknown_in(&rule.query()));
    unknown.map(|fault| source.fault(&fault)).collect()
}

/// Rules that leave whoever is woken alone with it.
pub(crate) fn unexplained(project: &Project) -> Vec<String> {
    let Some((source, rules)) = of(project) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for rule in &rules {
        let has = |key: &str| rule.text(key).is_some_and(|text| !text.is_empty());
        let lacking = KEYS.iter().filter(|key| !has(key));
        faults.extend(lacking.map(|key| source.fault(&format!("{}: lacks `{key}`", rule.name))));
        let severity = rule.text("severity").unwrap_or_default();
        if !SEVERITIES.contains(&severity) {
            let fault = format!("{}: may not be `{severity}`", rule.name);
            faults.push(source.fault(&fault));
        }
    }
    faults
}

/// Rules that no test of `promtool` saw fire.
pub(crate) fn untested(project: &Project) -> Vec<String> {
    let Some((source, rules)) = of(project) else {
        return Vec::new();
    };
    let tests = project.all().find(|it| it.is_under(TESTS));
    let fires = |rule: &&Rule| {
        let expected = format!("ALERTS{{alertname=\"{}\"", rule.name);
        tests.is_some_and(|it| it.text.contains(&expected))
    };
    let untested = rules.iter().filter(|rule| !fires(rule));
    untested
        .map(|rule| source.fault(&format!("{}: no test sees it fire", rule.name)))
        .collect()
}

/// A file with one rule.
fn rule(expression: &str) -> String {
    let head = "groups:\n  - name: g\n    rules:\n      - alert: A\n";
    let told = "        labels:\n          severity: warning\n        annotations:\n          \
                summary: \"s\"\n          description: d\n          runbook: r\n";
    format!("{head}        expr: {expression}\n        for: 1m\n{told}")
}

#[test]
fn a_rule_that_asks_for_what_nothing_exports_is_found() {
    for (expression, fault) in [
        ("puruto_gone > 0", "no process has a metric `puruto_gone`"),
        (
            "rate(puruto_run_seconds[5m])",
            "no process has a metric `puruto_run_seconds`",
        ),
        (
            "puruto_fenced_total{kind=\"x\"} > 0",
            "puruto_fenced_total has no label kind",
        ),
        (
            "puruto_commits_total{outcome=\"lots\"}",
            "outcome of puruto_commits_total is never lots",
        ),
        (
            "sum by (traget) (puruto_in_flight)",
            "none of its metrics has the label traget",
        ),
        (
            "|\n          puruto_fenced_total\n          > puruto_lost",
            "no process has a metric `puruto_lost`",
        ),
        ("{job=\"x\"}", "no process has a metric ``"),
    ] {
        let fault = format!("A: {fault}");
        broken(unknown, RULES, &rule(expression), &fault);
    }
    let shown = rule("sum(puruto_in_flight)").replace("\"s\"", "\"of {{ $labels.target }}\"");
    let shown = shown.replace("sum(", "sum by (job) (");
    let fault = "A: shows target, which its query does not keep";
    broken(unknown, RULES, &shown, fault);
}

#[test]
fn a_rule_may_ask_whatever_is_exported_and_of_prometheus_itself() {
    for expression in [
        "up{job=\"puruto-worker\"} == 0",
        "absent(puruto_supervisor offset 5m) or vector(1e3)",
        "histogram_quantile(0.99, sum by (target, le) (rate(puruto_run_seconds_bucket{target!~\"a|b\"}[5m])))",
        "puruto_in_flight unless on (target) puruto_slots_free # and puruto_gone",
        "puruto_commits_total{outcome=\"lost\", target=\"any\", instance='i'} > bool 0",
        "sum without (instance) (puruto_fenced_total) / on () group_left () sum(puruto_fenced_total)",
    ] {
        kept(unknown, RULES, &rule(expression));
    }
}

#[test]
fn a_rule_that_does_not_say_what_to_do_is_found() {
    let whole = rule("puruto_fenced_total > 0");
    kept(unexplained, RULES, &whole);
    for key in KEYS {
        let line = whole.lines().find(|it| it.trim().starts_with(key));
        let without = whole.replace(line.expect("a line"), "");
        broken(unexplained, RULES, &without, &format!("A: lacks `{key}`"));
    }
    let loud = whole.replace("warning", "loud");
    broken(unexplained, RULES, &loud, "A: may not be `loud`");
}

#[test]
fn a_rule_that_nobody_saw_fire_is_found() {
    let rules = rule("puruto_fenced_total > 0");
    let fault = format!("{RULES}: A: no test sees it fire");
    assert_eq!(faults(untested, &[(RULES, &rules)]), [fault]);
    let test = (TESTS, "labels: 'ALERTS{alertname=\"A\", x=\"y\"}'");
    assert_eq!(faults(untested, &[(RULES, &rules), test]), [""; 0]);
}
