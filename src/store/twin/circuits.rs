//! The circuits of a fleet, as part of the reference model.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::{
    super::{Circuits, StoreFault},
    Op, StoreTwin,
    data::Data,
};
use crate::{
    circuit::{Admission, Ask, BreakerRules, CircuitName, FleetCircuit, Outcome},
    clock::{Clock, WallTime},
};

/// Every circuit that was ever asked, on a time line that begins in 1970.
#[derive(Debug)]
pub(super) struct Board {
    origin: Instant,
    circuits: HashMap<CircuitName, FleetCircuit>,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            circuits: HashMap::new(),
        }
    }
}

impl Board {
    fn step(
        &mut self,
        circuit: &CircuitName,
        rules: BreakerRules,
        now: WallTime,
        step: impl FnOnce(&mut FleetCircuit, Instant) -> Admission,
    ) -> Admission {
        let now = self.origin + Duration::from_millis(now.unix_millis());
        let made = || FleetCircuit::new(rules, now);
        let circuit = self.circuits.entry(circuit.clone()).or_insert_with(made);
        step(circuit, now)
    }
}

impl Circuits for StoreTwin {
    async fn admit(&self, circuit: &CircuitName, ask: &Ask) -> Result<Admission, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            let admit = |it: &mut FleetCircuit, now| it.admit(ask, now);
            data.board.step(circuit, ask.rules, clock.now(), admit)
        };
        self.run(Op::CircuitAdmit, effect).await
    }

    async fn report(
        &self,
        circuit: &CircuitName,
        outcome: &Outcome,
    ) -> Result<Admission, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            let report = |it: &mut FleetCircuit, now| it.report(outcome, now);
            data.board.step(circuit, outcome.rules, clock.now(), report)
        };
        self.run(Op::CircuitReport, effect).await
    }
}
