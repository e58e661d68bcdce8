//! A diagnosis as its reader wants it.

use std::{io, iter};

use serde_json::{Value, json};

use super::look::Diagnosis;
use crate::{
    cli::{output::Reader, session::World, show::plain},
    installation::{Check, Level},
};

/// Shows it: JSON for programs; for people the guarantee, then a line a check and under it what to
/// change.
pub(super) fn show(diagnosis: &Diagnosis, reader: Reader, world: &World) -> io::Result<()> {
    match reader {
        Reader::Program => world.output.answer(to_json(diagnosis)),
        Reader::Person => world.output.answer(plain(&readable(diagnosis))),
    }
}

fn to_json(diagnosis: &Diagnosis) -> Value {
    let check = |it: &Check| {
        json!({
            "check": it.name, "level": it.level.as_str(), "seen": it.seen,
            "meaning": it.meaning, "change": it.change,
        })
    };
    json!({
        "ok": diagnosis.checks.iter().all(|it| it.level != Level::Error),
        "guarantee": diagnosis.guarantee.as_ref().map(|it| json!({
            "redis": it.redis(), "nats": it.nats(),
        })),
        "checks": diagnosis.checks.iter().map(check).collect::<Value>(),
    })
}

fn readable(diagnosis: &Diagnosis) -> String {
    let guarantee = match &diagnosis.guarantee {
        Some(guarantee) => format!("{}\n{}\n", guarantee.redis(), guarantee.nats()),
        None => "what this installation guarantees cannot be told: a server is away\n".to_owned(),
    };
    let widths = diagnosis.checks.iter().map(|it| it.name.len());
    let width = widths.max().unwrap_or_default();
    let lines = diagnosis.checks.iter().map(|it| line(it, width));
    let count = |level| {
        diagnosis
            .checks
            .iter()
            .filter(|it| it.level == level)
            .count()
    };
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    iter::once(guarantee)
        .chain(lines)
        .chain([format!("\n{errors} errors, {warnings} warnings")])
        .collect::<Vec<_>>()
        .join("\n")
}

fn line(check: &Check, width: usize) -> String {
    let Check {
        name,
        level,
        seen,
        meaning,
        change,
    } = check;
    let line = format!("{:7}  {name:width$}  {seen}: {meaning}", level.as_str());
    match change {
        None => line,
        Some(change) => format!("{line}\n{:9}{:width$}  -> {change}", "", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis() -> Diagnosis {
        let well = Check::ok("redis role", "master", "it takes writes");
        let ill = Check::ok("redis memory", "9 of 10 bytes", "soon full")
            .at(Level::Error, "raise maxmemory");
        Diagnosis {
            checks: vec![well, ill],
            guarantee: None,
        }
    }

    #[test]
    fn a_person_reads_what_to_change_under_what_is_wrong() {
        let text = readable(&diagnosis());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[2..],
            [
                "ok       redis role    master: it takes writes",
                "error    redis memory  9 of 10 bytes: soon full",
                "                       -> raise maxmemory",
                "",
                "1 errors, 0 warnings",
            ]
        );
    }

    #[test]
    fn a_program_reads_the_same_as_json() {
        let json = to_json(&diagnosis());
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][1]["change"], "raise maxmemory");
        assert_eq!(json["checks"][0]["change"], Value::Null);
    }
}
