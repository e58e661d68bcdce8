//! What is told of a run: the verdict in lines for a person.

use std::{fmt::Display, time::Duration};

use super::{
    Delegation, Outcome, Settings,
    checker::{DelegationFigures, Figures, Rule, Verdict},
};

/// How many breaches are shown; all of them are in the history.
const SHOWN_MAX: usize = 20;

/// The verdict of a run with these settings.
#[must_use]
pub fn report(settings: &Settings, outcome: &Outcome) -> String {
    let Verdict {
        violations,
        figures,
    } = &outcome.verdict;
    let mut lines = vec![
        format!(
            "seed {}: {} of faults, {} workers, {} requests a second",
            settings.seed,
            humantime::format_duration(settings.duration),
            settings.workers,
            settings.rate
        ),
        counts(&outcome.verdict),
        executions(figures),
        format!("recovery after a kill: {}", quantiles(&figures.recoveries)),
        format!(
            "  with no other fault at work: {}",
            quantiles(&figures.undisturbed)
        ),
    ];
    if settings.delegation == Delegation::On {
        lines.extend(delegation(&figures.delegation));
    }
    lines.extend([
        format!("faults: {}", listed(&figures.faults)),
        format!("answers: {}", listed(&figures.endings)),
    ]);
    lines.extend(
        violations
            .iter()
            .take(SHOWN_MAX)
            .map(|it| format!("BROKEN {it}")),
    );
    if violations.len() > SHOWN_MAX {
        lines.push(format!("and {} more", violations.len() - SHOWN_MAX));
    }
    lines.push(format!("history: {}", outcome.history.display()));
    lines.join("\n")
}

fn counts(verdict: &Verdict) -> String {
    let lost = verdict.count(Rule::Lost);
    let twice = verdict.count(Rule::CommittedTwice);
    let stuck = verdict.count(Rule::Stuck) + verdict.count(Rule::HeldByTheDead);
    let other = verdict.violations.len() - lost - twice - stuck;
    let word = if verdict.holds() { "holds" } else { "BROKEN" };
    format!("{word}: lost {lost}, double-committed {twice}, stuck {stuck}, other breaches {other}")
}

fn executions(figures: &Figures) -> String {
    let (executions, accepted) = (figures.executions, figures.accepted);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let each = executions as f64 / accepted.max(1) as f64;
    let repeated = figures.repeated;
    format!(
        "{accepted} requests, {executions} executions ({each:.3} a request), {repeated} repeated"
    )
}

fn delegation(figures: &DelegationFigures) -> [String; 6] {
    let DelegationFigures {
        delegations,
        descendants,
        most_below,
        deepest,
        waiting_most,
        ..
    } = figures;
    [
        format!(
            "{delegations} delegations, {descendants} descendants, at most {most_below} below one \
             request and {deepest} deep, {waiting_most} waited at once"
        ),
        format!(
            "children ended, parent goes on: {}",
            quantiles(&figures.resumes)
        ),
        format!(
            "  with no fault felt: {}",
            quantiles(&figures.undisturbed_resumes)
        ),
        format!("unwanted, ended: {}", quantiles(&figures.ends)),
        format!(
            "  with no fault felt: {}",
            quantiles(&figures.undisturbed_ends)
        ),
        format!("died at a joint: {}", listed(&figures.deaths)),
    ]
}

fn quantiles(sorted: &[Duration]) -> String {
    let at = |per_cent| humantime::format_duration(quantile(sorted, per_cent)).to_string();
    match sorted.last() {
        None => "none".to_owned(),
        Some(longest) => format!(
            "{} requests, p50 {}, p99 {}, longest {}",
            sorted.len(),
            at(50),
            at(99),
            humantime::format_duration(*longest)
        ),
    }
}

/// The value that this share of `sorted` does not exceed.
fn quantile(sorted: &[Duration], per_cent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let at = (last * per_cent).div_ceil(100);
    sorted.get(at).copied().unwrap_or_default()
}

fn listed<'c>(counts: impl IntoIterator<Item = (&'c (impl Display + 'c), &'c usize)>) -> String {
    let each = counts
        .into_iter()
        .map(|(what, count)| format!("{what} {count}"));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let times: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(
            quantiles(&times),
            "100 requests, p50 51ms, p99 100ms, longest 100ms"
        );
        assert_eq!(
            quantiles(&times[..1]),
            "1 requests, p50 1ms, p99 1ms, longest 1ms"
        );
        assert_eq!(quantiles(&[]), "none");
    }
}
