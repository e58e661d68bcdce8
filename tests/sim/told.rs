//! Tells each story as a history, as the ports see it: the same that real workers tell in their
//! logs, held against the same checker.

use std::sync::{Arc, Mutex};

use puruto_fleet::{
    chaos::{
        checker::{self, Bounds, Terms, Verdict},
        history::{At, ClaimId, Digest, Entry, Event, WorkerId},
        schedule::{Fault, Place, Side, Trouble},
    },
    contract::RequestId,
    store::Nonce,
};
use tokio::time::{Duration, Instant};

use crate::{joints::Mischief, scenario::ids};

/// What is seen here is seen at once, and every effect is told.
const TERMS: Terms = Terms {
    slack: Duration::ZERO,
    grace: Duration::ZERO,
    linger: Duration::from_secs(86_400),
    attempts_max: 5,
    wakes_within: Duration::from_secs(86_400),
    ends_within: Duration::from_secs(86_400),
    bounds: Bounds {
        children: 0,
        descendants: 0,
        depth: 0,
        bytes: 0,
    },
};

/// A history as it grows; clones write into the same one.
#[derive(Clone, Debug)]
pub struct Told {
    began: Instant,
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// One worker's part in it.
#[derive(Clone, Debug)]
pub struct Teller {
    told: Told,
    worker: WorkerId,
}

impl Told {
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            entries: Arc::default(),
        }
    }

    pub fn teller(&self, worker: usize) -> Teller {
        Teller {
            told: self.clone(),
            worker: WorkerId::new(format!("w{worker}")),
        }
    }

    pub fn now(&self) -> At {
        At::of(self.began.elapsed())
    }

    pub fn note(&self, event: Event) {
        let at = self.now();
        self.entries.lock().unwrap().push(Entry { at, event });
    }

    /// A fault begins; its number, by which it ends.
    fn struck(&self, fault: Fault, worker: Option<WorkerId>) -> usize {
        let number = self.entries.lock().unwrap().len();
        self.note(Event::FaultBegan {
            number,
            fault,
            worker,
        });
        number
    }

    /// The store forgot everything.
    pub fn emptied(&self) {
        let number = self.struck(Fault::EmptyRedis, None);
        self.note(Event::FaultEnded { number });
    }

    pub fn verdict(&self) -> Verdict {
        checker::check(&self.entries.lock().unwrap(), &TERMS)
    }

    /// The last claim that `worker` was granted.
    fn claim_of(&self, worker: &WorkerId) -> ClaimId {
        let entries = self.entries.lock().unwrap();
        let claims = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Claimed {
                worker: granted,
                claim,
                ..
            } if granted == worker => Some(claim.clone()),
            _ => None,
        });
        claims.expect("a handler runs under a claim")
    }
}

fn request() -> RequestId {
    ids().1
}

fn claim(nonce: Nonce) -> ClaimId {
    ClaimId::new(nonce.to_string())
}

impl Teller {
    /// Mischief strikes this worker; the number of the fault.
    pub fn struck(&self, mischief: Mischief) -> Option<usize> {
        let place = Place(0);
        let fault = match mischief {
            Mischief::None => return None,
            Mischief::Die(_) => Fault::KillWorker { place },
            Mischief::Sleep(_) => Fault::PauseWorker {
                place,
                past_session: true,
            },
            Mischief::TimeOut(_) => Fault::Partition {
                place,
                from: Some(Side::Redis),
                trouble: Trouble::Slow,
            },
            Mischief::EmptyStore(_) => Fault::EmptyRedis,
        };
        Some(self.told.struck(fault, Some(self.worker.clone())))
    }

    pub fn recovered(&self, number: Option<usize>) {
        if let Some(number) = number {
            self.told.note(Event::FaultEnded { number });
        }
    }

    pub fn claimed(&self, nonce: Nonce) {
        self.told.note(Event::Claimed {
            worker: self.worker.clone(),
            request: request(),
            claim: claim(nonce),
            granted: self.told.now(),
            attempt: 1,
        });
    }

    pub fn started(&self) {
        self.told.note(Event::Started {
            worker: self.worker.clone(),
            request: request(),
            claim: self.told.claim_of(&self.worker),
            origin: None,
        });
    }

    pub fn committing(&self, nonce: Nonce) {
        self.told.note(Event::Committing {
            worker: self.worker.clone(),
            request: request(),
            claim: claim(nonce),
        });
    }

    pub fn committed(&self, nonce: Nonce, body: &[u8]) {
        self.told.note(Event::Committed {
            worker: self.worker.clone(),
            request: request(),
            claim: claim(nonce),
            digest: Digest::of(body),
        });
    }

    pub fn refused(&self, nonce: Nonce) {
        self.told.note(Event::Refused {
            worker: self.worker.clone(),
            request: request(),
            claim: claim(nonce),
        });
    }

    pub fn publishing(&self, body: &[u8]) {
        self.told.note(Event::Publishing {
            worker: self.worker.clone(),
            request: request(),
            digest: Digest::of(body),
        });
    }

    pub fn published(&self, own: bool) {
        self.told.note(Event::Published {
            worker: self.worker.clone(),
            request: request(),
            own,
        });
    }

    pub fn heard(&self, body: &[u8]) {
        self.told.note(Event::Heard {
            request: request(),
            digest: Digest::of(body),
        });
    }

    pub fn acked(&self) {
        self.told.note(Event::Acked {
            worker: self.worker.clone(),
            request: request(),
        });
    }
}
