//! The faults of a history, and what each of them excuses.

use std::time::Duration;

use crate::chaos::{
    history::{At, Entry, Event, WorkerId},
    schedule::Fault,
};

/// A fault from its beginning to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval<'h> {
    pub(super) fault: &'h Fault,
    pub(super) worker: Option<&'h WorkerId>,
    pub(super) from: At,
    /// `None` for one that never ended.
    pub(super) until: Option<At>,
}

/// The faults of a history.
#[derive(Debug)]
pub(super) struct Faults<'h> {
    pub(super) all: Vec<Interval<'h>>,
    /// When all of them had ended.
    pub(super) calm: Option<At>,
    /// When nothing was left of them.
    settled: Option<At>,
}

impl<'h> Faults<'h> {
    pub(super) fn of(history: &'h [Entry]) -> Self {
        let began = history.iter().filter_map(|entry| match &entry.event {
            Event::FaultBegan {
                number,
                fault,
                worker,
            } => Some(Interval {
                fault,
                worker: worker.as_ref(),
                from: entry.at,
                until: end_of(*number, history),
            }),
            _ => None,
        });
        let first = |event| history.iter().find(|it| it.event == event).map(|it| it.at);
        Self {
            all: began.collect(),
            calm: first(Event::Calm),
            settled: first(Event::Settled),
        }
    }

    /// Whether the store forgot everything between the two: what it had promised is void.
    pub(super) fn emptied_between(&self, from: At, until: At) -> bool {
        self.emptied_within(from, until) > 0
    }

    /// How often it did.
    pub(super) fn emptied_within(&self, from: At, until: At) -> usize {
        let emptied = |it: &&Interval<'_>| matches!(it.fault, Fault::EmptyRedis);
        let emptied = self.all.iter().filter(emptied);
        // The command is answered some moments after it began.
        let within = |it: &&Interval<'_>| it.from <= until && from <= it.until.unwrap_or(it.from);
        emptied.filter(within).count()
    }

    /// Whether this worker had just been asleep: what it was about to do it may still do before it
    /// can know how late it is.
    pub(super) fn woke(&self, worker: &WorkerId, at: At, within: Duration) -> bool {
        let pauses = self.all.iter().filter(|it| {
            matches!(it.fault, Fault::PauseWorker { .. }) && it.worker == Some(worker)
        });
        let mut ended = pauses.map(|it| (it.from, it.until.unwrap_or(at)));
        ended.any(|(from, until)| from <= at && at <= until.plus(within))
    }

    /// Whether anybody had.
    pub(super) fn anybody_woke(&self, at: At, within: Duration) -> bool {
        let mut pauses = self.all.iter().filter_map(|it| it.worker);
        pauses.any(|worker| self.woke(worker, at, within))
    }

    /// How many faults a request that lived from `from` to `until` may have felt, when their
    /// effects last for `linger`. A hostile message interrupts no execution, and one that dies at a
    /// joint dies in the place of one that was killed before.
    pub(super) fn felt(&self, from: At, until: At, linger: Duration) -> usize {
        let felt = |it: &&Interval<'_>| {
            let over = it.until.map(|until| until.plus(linger));
            let ended = over
                .into_iter()
                .chain(self.settled.filter(|_| over.is_some()))
                .min();
            !matches!(it.fault, Fault::Hostile { .. })
                && it.from <= until
                && ended.is_none_or(|ended| from <= ended)
        };
        let deaths = |it: &Interval<'_>| match it.fault {
            Fault::DieAt { .. } => 2,
            _ => 1,
        };
        self.all.iter().filter(felt).map(deaths).sum()
    }
}

fn end_of(number: usize, history: &[Entry]) -> Option<At> {
    let ended =
        |it: &&Entry| matches!(&it.event, Event::FaultEnded { number: it } if *it == number);
    history.iter().find(ended).map(|it| it.at)
}
