//! Alerts, their tests and the configuration of Prometheus, as its own tool judges them; and the
//! queries of the dashboard, as rules.

use std::{fs, path::Path};

use puruto_fleet::dev::tool::Version;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    foreign::{need, promtool},
    promql::watched::{DASHBOARD, dashboard},
};

/// Grafana's own, which stands for a range.
const INTERVAL: &str = "$__rate_interval";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test]
async fn the_rules_of_the_alerts_are_right_and_find_what_they_are_to_find() {
    let Some(promtool) = need(promtool().await) else {
        return;
    };
    let version = promtool.run(here(), &["--version"]).await;
    assert!(Version::find_in(&version.expect("a version")).is_some());

    for question in [
        ["check", "rules", "config/alerts.yml"],
        ["check", "config", "config/prometheus.yml"],
        ["test", "rules", "config/alerts_test.yml"],
    ] {
        let answer = promtool.run(here(), &question).await;
        let answer = answer.unwrap_or_else(|why| panic!("{question:?}: {why}"));
        assert!(answer.contains("SUCCESS"), "{question:?}: {answer}");
    }
}

#[tokio::test]
async fn a_rule_that_never_fires_fails_its_test() {
    let Some(promtool) = need(promtool().await) else {
        return;
    };
    let folder = TempDir::new().expect("a temporary folder");
    let read = |name: &str| fs::read_to_string(here().join("config").join(name)).expect("a file");
    let dulled = read("alerts.yml").replace("outcome=\"kept\"", "outcome=\"loaded\"");
    fs::write(folder.path().join("alerts.yml"), dulled).expect("a file");
    fs::write(folder.path().join("tests.yml"), read("alerts_test.yml")).expect("a file");

    let judged = promtool
        .run(folder.path(), &["test", "rules", "tests.yml"])
        .await;

    assert!(judged.is_err(), "{judged:?}");
}

#[tokio::test]
async fn every_query_of_the_dashboard_is_one_of_prometheus() {
    let Some(promtool) = need(promtool().await) else {
        return;
    };
    let page = fs::read_to_string(here().join(DASHBOARD)).expect("a dashboard");
    let page: Value = serde_json::from_str(&page).expect("JSON");
    let rules: Vec<_> = dashboard(&page)
        .iter()
        .enumerate()
        .map(|(number, query)| {
            let expression = query.text.replace(INTERVAL, "1m");
            json!({"record": format!("query:{number}"), "expr": expression})
        })
        .collect();
    assert!(rules.len() > 50, "{} queries", rules.len());
    let folder = TempDir::new().expect("a temporary folder");
    let file = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    // JSON is YAML.
    fs::write(folder.path().join("queries.yml"), file.to_string()).expect("a file");

    let judged = promtool
        .run(folder.path(), &["check", "rules", "queries.yml"])
        .await;

    let judged = judged.unwrap_or_else(|why| panic!("{why}"));
    assert!(
        judged.contains(&format!("{} rules found", rules.len())),
        "{judged}"
    );
}
