//! The metrics that there are: by the table of names, or by what a process really answered.

use std::collections::{BTreeMap, BTreeSet};

use puruto_fleet::telemetry::{
    metrics::Metrics,
    names::{METRICS, MetricKind},
};

use super::{Named, Selector, watched::Query};

/// Labels that Prometheus gives to whatever it scrapes.
const SCRAPED: &[&str] = &["job", "instance"];
/// Metrics of Prometheus itself, with their labels.
const ITS_OWN: &[(&str, &[&str])] = &[
    ("up", &[]),
    ("ALERTS", &["alertname", "alertstate", "severity"]),
];
/// Labels whose values depend on who uses the fleet for what.
const OPEN: &[&str] = &["target", "le"];

/// Metrics and their labels, as they are selected.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    labels: BTreeMap<String, BTreeSet<String>>,
    // Of the labels that take each of their values from the start.
    values: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Exported {
    /// Those of the table, with the values that a process shows before anything has happened.
    pub(crate) fn of_table() -> Self {
        let mut exported = Self::its_own();
        for def in METRICS {
            for (name, labels) in selectable(def.name, def.kind) {
                let all = def.labels.iter().chain(labels).map(|it| (*it).to_owned());
                exported.labels.insert(name, all.collect());
            }
        }
        let target = "target".parse().expect("a name");
        for (metric, labels) in series(&Metrics::new([&target]).render()) {
            for (label, value) in labels.into_iter().filter(|it| !OPEN.contains(&&*it.0)) {
                let values = exported.values.entry((metric.clone(), label)).or_default();
                values.insert(value);
            }
        }
        exported
    }

    /// Those that processes answered with when they were scraped.
    pub(crate) fn of_scrapes<'s>(scrapes: impl IntoIterator<Item = &'s str>) -> Self {
        let mut exported = Self::its_own();
        for (metric, labels) in scrapes.into_iter().flat_map(series) {
            let known = exported.labels.entry(metric).or_default();
            known.extend(labels.into_iter().map(|(label, _)| label));
        }
        exported
    }

    fn its_own() -> Self {
        let own = ITS_OWN.iter().map(|(metric, labels)| {
            let labels = labels.iter().map(|it| (*it).to_owned()).collect();
            ((*metric).to_owned(), labels)
        });
        Self {
            labels: own.collect(),
            values: BTreeMap::new(),
        }
    }

    /// What a query names and is not there.
    pub(crate) fn unknown_in(&self, query: &Query) -> Vec<String> {
        let named = query.named();
        let mut faults: Vec<_> = named
            .selectors
            .iter()
            .flat_map(|selector| self.unknown_of(selector))
            .collect();
        faults.extend(self.ungrouped(&named));
        let shown = query.shown.iter().filter(|it| !self.is_kept(&named, it));
        faults.extend(shown.map(|label| format!("shows {label}, which its query does not keep")));
        faults
            .into_iter()
            .map(|fault| format!("{}: {fault}", query.place))
            .collect()
    }

    fn unknown_of(&self, selector: &Selector) -> Vec<String> {
        let metric = &selector.metric;
        if !self.labels.contains_key(metric) {
            return vec![format!("no process has a metric `{metric}`")];
        }
        let mut faults = Vec::new();
        for matcher in &selector.matchers {
            let label = &matcher.label;
            if !self.has(selector, label) {
                faults.push(format!("{metric} has no label {label}"));
            }
            let values = self.values.get(&(metric.clone(), label.clone()));
            if let (Some(values), Some(literal)) = (values, &matcher.literal)
                && !values.contains(literal)
            {
                faults.push(format!("{label} of {metric} is never {literal}"));
            }
        }
        faults
    }

    /// Labels to group by that no metric of the query has.
    fn ungrouped<'n>(&'n self, named: &'n Named) -> impl Iterator<Item = String> + 'n {
        let is_unknown = |label: &&String| !named.selectors.iter().any(|it| self.has(it, label));
        let unknown = named.labels.iter().filter(is_unknown);
        unknown.map(|label| format!("none of its metrics has the label {label}"))
    }

    fn is_kept(&self, named: &Named, label: &str) -> bool {
        match named.labels.as_slice() {
            [] => named.selectors.iter().any(|it| self.has(it, label)),
            labels => labels.iter().any(|it| it == label),
        }
    }

    fn has(&self, selector: &Selector, label: &str) -> bool {
        let labels = self.labels.get(&selector.metric);
        SCRAPED.contains(&label) || labels.is_some_and(|it| it.contains(label))
    }
}

/// As what a metric can be selected, and with which labels beside its own.
pub(crate) fn selectable(name: &str, kind: MetricKind) -> Vec<(String, &'static [&'static str])> {
    match kind {
        MetricKind::Counter | MetricKind::Gauge => vec![(name.to_owned(), &[])],
        MetricKind::Histogram => vec![
            (format!("{name}_bucket"), &["le"]),
            (format!("{name}_sum"), &[]),
            (format!("{name}_count"), &[]),
        ],
    }
}

/// The series of a scrape: the metric, and each label with its value.
fn series(scrape: &str) -> Vec<(String, Vec<(String, String)>)> {
    let lines = scrape.lines().filter(|line| !line.starts_with('#'));
    let named = lines.flat_map(|line| super::named(line).selectors);
    let labelled = named.map(|selector| {
        let labels = selector.matchers.into_iter();
        let labels = labels.map(|it| (it.label, it.literal.unwrap_or_default()));
        (selector.metric, labels.collect())
    });
    labelled.collect()
}
