//! The dashboard for Grafana: it can be imported, its panels stand beside each other, and it shows
//! what processes export, all of it.

use std::collections::{BTreeSet, HashSet};

use puruto_fleet::telemetry::names::METRICS;
use serde_json::{Value, json};

use crate::{
    planted::{broken, faults, kept},
    project::{Project, Source},
    promql::{
        exported::{Exported, selectable},
        watched::{DASHBOARD, dashboard, list, text},
    },
};

/// The oldest schema that Grafana 10 takes without changing it, and the newest that it knows.
const SCHEMAS: std::ops::RangeInclusive<u64> = 36..=38;
/// The columns of the page.
const COLUMNS: u64 = 24;
/// The variable that says which Prometheus is asked.
const SOURCE: &str = "datasource";

fn held(project: &Project, rule: fn(&Value) -> Vec<String>) -> Vec<String> {
    let sources = project.all().filter(|it| it.is_under(DASHBOARD));
    let faults = |source: &Source| match serde_json::from_str(&source.text) {
        Ok(page) => rule(&page).iter().map(|it| source.fault(it)).collect(),
        Err(error) => vec![source.fault(&error.to_string())],
    };
    sources.flat_map(faults).collect()
}

/// Metrics, labels and values that nothing exports.
pub(crate) fn unknown(project: &Project) -> Vec<String> {
    held(project, |page| {
        let exported = Exported::of_table();
        let queries = dashboard(page);
        queries
            .iter()
            .flat_map(|it| exported.unknown_in(it))
            .collect()
    })
}

/// Metrics that are exported and shown nowhere.
pub(crate) fn unshown(project: &Project) -> Vec<String> {
    held(project, |page| {
        let queries = dashboard(page);
        let named = queries.iter().flat_map(|it| it.named().selectors);
        let shown: HashSet<_> = named.map(|it| it.metric).collect();
        let is_shown = |name: &str, kind| {
            selectable(name, kind)
                .iter()
                .any(|it| shown.contains(&it.0))
        };
        let unshown = METRICS.iter().filter(|it| !is_shown(it.name, it.kind));
        unshown
            .map(|it| format!("does not show {}", it.name))
            .collect()
    })
}

/// What Grafana would refuse, or take and show wrongly.
pub(crate) fn malformed(project: &Project) -> Vec<String> {
    held(project, |page| {
        let mut faults = heads(page);
        faults.extend(undefined(page));
        faults.extend(list(page, "/panels").flat_map(incomplete));
        faults.extend(overlaps(page));
        faults
    })
}

fn heads(page: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut hold = |holds: bool, fault: &str| {
        if !holds {
            faults.push(fault.to_owned());
        }
    };
    let schema = page["schemaVersion"].as_u64();
    hold(
        schema.is_some_and(|it| SCHEMAS.contains(&it)),
        "has no schema of Grafana 10",
    );
    hold(
        !text(page, "uid").is_empty() && text(page, "uid").len() <= 40,
        "has no uid",
    );
    hold(!text(page, "title").is_empty(), "has no title");
    hold(
        page["id"].is_null(),
        "has an id, which is the database's to give",
    );
    let source = list(page, "/templating/list")
        .next()
        .unwrap_or(&Value::Null);
    let is_source = source["name"] == SOURCE
        && source["type"] == "datasource"
        && source["query"] == "prometheus";
    hold(is_source, "does not ask first which Prometheus it shows");
    faults
}

/// Variables that are used and not there.
fn undefined(page: &Value) -> Vec<String> {
    let variables: BTreeSet<_> = list(page, "/templating/list")
        .map(|it| text(it, "name"))
        .collect();
    let written = page.to_string();
    let uses = written.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        rest.split_at(end.unwrap_or(rest.len())).0
    });
    let undefined = uses.filter(|it| !it.starts_with("__") && !variables.contains(it));
    let undefined: BTreeSet<_> = undefined.collect();
    undefined
        .iter()
        .map(|it| format!("there is no variable {it}"))
        .collect()
}

/// What a panel lacks.
fn incomplete(panel: &Value) -> Vec<String> {
    let title = text(panel, "title");
    let mut faults = Vec::new();
    if title.is_empty() {
        faults.push(format!("panel {} has no title", panel["id"]));
    }
    if panel["type"] == "row" {
        return faults;
    }
    if text(panel, "description").is_empty() {
        faults.push(format!("{title}: has no description"));
    }
    if list(panel, "/targets").next().is_none() {
        faults.push(format!("{title}: asks nothing"));
    }
    let asked = std::iter::once(panel).chain(list(panel, "/targets"));
    let chosen = format!("${{{SOURCE}}}");
    let strays = asked.filter(|it| it["datasource"]["uid"] != chosen.as_str());
    faults.extend(strays.map(|_| format!("{title}: asks another Prometheus than was chosen")));
    faults
}

/// Panels that share an id or a place, or stand beside the page.
fn overlaps(page: &Value) -> Vec<String> {
    let (mut ids, mut taken, mut faults) = (HashSet::new(), HashSet::new(), Vec::new());
    for panel in list(page, "/panels") {
        let title = text(panel, "title");
        if !panel["id"]
            .as_u64()
            .is_some_and(|it| it > 0 && ids.insert(it))
        {
            faults.push(format!("{title}: has no id of its own"));
        }
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|it| panel["gridPos"][it].as_u64());
        let (Some(x), Some(y), Some(w @ 1..), Some(h @ 1..)) = (x, y, w, h) else {
            faults.push(format!("{title}: has no place"));
            continue;
        };
        if x + w > COLUMNS {
            faults.push(format!("{title}: is wider than the page"));
        }
        let mut cells = (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y)));
        if !cells.all(|cell| taken.insert(cell)) {
            faults.push(format!("{title}: stands on another"));
        }
    }
    faults
}

/// A page with one panel, both as they should be.
fn page() -> Value {
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    json!({
        "id": null, "uid": "u", "title": "t", "schemaVersion": 38,
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus"},
            {"name": "target", "definition": "label_values(puruto_in_flight, target)"},
        ]},
        "panels": [{
            "id": 1, "type": "stat", "title": "P", "description": "d", "datasource": source,
            "gridPos": {"x": 0, "y": 0, "w": 24, "h": 4},
            "targets": [{
                "datasource": source, "legendFormat": "{{target}}",
                "expr": "sum by (target) (puruto_in_flight{target=~\"$target\"})",
            }],
        }],
    })
}

/// The same with `value` at `place`.
fn page_with(place: &str, value: Value) -> String {
    let mut page = page();
    *page.pointer_mut(place).expect("a place") = value;
    page.to_string()
}

#[test]
fn a_page_that_grafana_would_not_show_as_meant_is_found() {
    kept(malformed, DASHBOARD, &page().to_string());
    let second = |id: u64, x: u64, y: u64| {
        let mut panels = page()["panels"].clone();
        let mut panel = panels[0].clone();
        panel["id"] = json!(id);
        panel["gridPos"] = json!({"x": x, "y": y, "w": 12, "h": 4});
        panels.as_array_mut().expect("a list").push(panel);
        panels
    };
    for (place, value, fault) in [
        ("/uid", json!(""), "has no uid"),
        (
            "/id",
            json!(7),
            "has an id, which is the database's to give",
        ),
        ("/schemaVersion", json!(12), "has no schema of Grafana 10"),
        (
            "/templating/list/0/type",
            json!("query"),
            "does not ask first which Prometheus it shows",
        ),
        (
            "/templating/list/1/name",
            json!("other"),
            "there is no variable target",
        ),
        ("/panels/0/description", json!(""), "P: has no description"),
        ("/panels/0/targets", json!([]), "P: asks nothing"),
        (
            "/panels/0/targets/0/datasource/uid",
            json!("x"),
            "P: asks another Prometheus than was chosen",
        ),
        (
            "/panels/0/gridPos/w",
            json!(25),
            "P: is wider than the page",
        ),
        ("/panels/0/gridPos/h", json!(0), "P: has no place"),
        ("/panels", second(1, 0, 4), "P: has no id of its own"),
        ("/panels", second(2, 12, 3), "P: stands on another"),
    ] {
        broken(malformed, DASHBOARD, &page_with(place, value), fault);
    }
    kept(
        malformed,
        DASHBOARD,
        &page_with("/panels", second(2, 12, 4)),
    );
}

#[test]
fn a_panel_that_asks_for_what_nothing_exports_is_found() {
    kept(unknown, DASHBOARD, &page().to_string());
    for (place, value, fault) in [
        (
            "/panels/0/targets/0/expr",
            "sum by (target) (puruto_in_flight{target=~\"$target\"}) / on () puruto_gone",
            "P: no process has a metric `puruto_gone`",
        ),
        (
            "/panels/0/targets/0/legendFormat",
            "{{lane}}",
            "P: shows lane, which its query does not keep",
        ),
        (
            "/templating/list/1/definition",
            "label_values(puruto_in_flight, model)",
            "$target: none of its metrics has the label model",
        ),
    ] {
        broken(unknown, DASHBOARD, &page_with(place, json!(value)), fault);
    }
}

#[test]
fn a_metric_that_is_shown_nowhere_is_found() {
    let found = faults(unshown, &[(DASHBOARD, &page().to_string())]);
    assert_eq!(found.len(), METRICS.len() - 1);
    assert!(found.contains(&format!("{DASHBOARD}: does not show puruto_run_seconds")));
}
