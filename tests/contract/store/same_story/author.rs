//! Draws the steps of a history: a few requests and nonces, so that they meet.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use puruto_fleet::{
    clock::{Chance, WallTime},
    contract::{Deadline, Fingerprint, Limits, Micros, Spent, Step as Delegation},
    store::{
        AckToken, Carried, Commit, Nonce, RequestKey, SessionId,
        kin::{ChildEnd, ChildEnded, Intent, Park, Resting, Verdict},
        run::{Checkpoint, NewRun, Operation, Revision, RunLimits, RunStatus},
    },
};

use crate::store::{
    family::{child, far_off, intent, park},
    world::request,
};

/// One call of a worker, or a mishap.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Claim(RequestKey, Nonce, &'static [u8]),
    Commit(RequestKey, Nonce, Commit),
    Settle(RequestKey),
    Release(RequestKey, Nonce, Carried),
    Correct(RequestKey, Bytes),
    Cancel(RequestKey),
    Park(RequestKey, Nonce, Park),
    Intend(Intent),
    LetGo(RequestKey, Nonce, Resting),
    ChildEnded(RequestKey, ChildEnded),
    Resume(RequestKey, Nonce, Delegation),
    Due(Duration),
    AskVerdict(RequestKey, Nonce, Resting),
    Decide(RequestKey, Verdict),
    Create(RequestKey, NewRun),
    Checkpoint(RequestKey, Nonce, Checkpoint),
    Renew,
    Close,
    /// Somebody else ends the worker's session.
    Evict,
    /// A fenced worker opens a session with a new name.
    Reopen(SessionId),
    Expire,
    Empty,
}

impl Step {
    /// The request that it is about.
    pub(super) const fn key(&self) -> Option<&RequestKey> {
        match self {
            Self::Claim(key, ..)
            | Self::Commit(key, ..)
            | Self::Settle(key)
            | Self::Release(key, ..)
            | Self::Correct(key, _)
            | Self::Cancel(key)
            | Self::Park(key, ..)
            | Self::LetGo(key, ..)
            | Self::ChildEnded(key, _)
            | Self::Resume(key, ..)
            | Self::AskVerdict(key, ..)
            | Self::Decide(key, _)
            | Self::Create(key, _)
            | Self::Checkpoint(key, ..) => Some(key),
            Self::Intend(intent) => Some(&intent.child.key),
            Self::Due(_)
            | Self::Renew
            | Self::Close
            | Self::Evict
            | Self::Reopen(_)
            | Self::Expire
            | Self::Empty => None,
        }
    }
}

/// How many steps are about the same requests: they would all be done at last.
const CHAPTER: usize = 60;

/// Draws steps, mostly such as can succeed.
pub(super) struct Author {
    chance: Chance,
    /// The nonces that were used, and who had each request last.
    nonces: Vec<Nonce>,
    owners: HashMap<RequestKey, Nonce>,
    revisions: HashMap<RequestKey, Revision>,
    steps: usize,
}

impl Author {
    pub(super) fn new(chance: Chance) -> Self {
        Self {
            chance,
            nonces: Vec::new(),
            owners: HashMap::new(),
            revisions: HashMap::new(),
            steps: 0,
        }
    }

    /// The request that asks others.
    fn parent(&self) -> RequestKey {
        request(&format!("parent:{}", self.steps / CHAPTER))
    }

    /// Every request of this chapter: the parent, two children of its first delegation and one of
    /// its second, and a stranger.
    pub(super) fn cast(&self) -> Vec<RequestKey> {
        let parent = self.parent();
        let children =
            [(0, 0), (0, 1), (1, 0)].map(|(step, index)| child(&parent, step, index).key);
        let stranger = request(&format!("stranger:{}", self.steps / CHAPTER));
        children.into_iter().chain([parent, stranger]).collect()
    }

    /// A claim was granted.
    pub(super) fn granted(&mut self, key: RequestKey, nonce: Nonce) {
        self.owners.insert(key, nonce);
    }

    /// A run has this revision.
    pub(super) fn written(&mut self, key: RequestKey, revision: Revision) {
        self.revisions.insert(key, revision);
    }

    pub(super) fn pick(&self, below: usize) -> usize {
        usize::try_from(self.chance.bits128() % below as u128).expect("below")
    }

    fn small(&self, below: u32) -> u32 {
        u32::try_from(self.pick(below as usize)).expect("small")
    }

    /// For a claim: a fresh one, or one that was used.
    fn nonce(&mut self) -> Nonce {
        if self.nonces.is_empty() || self.pick(5) > 0 {
            self.nonces.push(Nonce::fresh(&self.chance));
        }
        let recent = self.pick(self.nonces.len().min(3));
        *self.nonces.iter().nth_back(recent).expect("as recent")
    }

    /// For what only an owner may do.
    fn owner(&mut self, key: &RequestKey) -> Nonce {
        match self.owners.get(key) {
            Some(nonce) if self.pick(12) > 0 => *nonce,
            _ => self.nonce(),
        }
    }

    fn carried(&self) -> Carried {
        Carried::new(["", "1", "0,3"].get(self.pick(3)).expect("one of three"))
    }

    fn payload(&self) -> &'static [u8] {
        if self.pick(40) == 0 {
            b"another question"
        } else {
            b"a question"
        }
    }

    fn spent(&self) -> Spent {
        Spent {
            requests: self.pick(3) as u64,
            tokens: self.pick(2) as u64 * 100,
            cost: Micros(self.pick(2) as u64 * 7),
            descendants: self.pick(2) as u64,
        }
    }

    /// Due at once, never, or late already.
    fn resting(&self) -> Resting {
        let long_ago = WallTime::from_unix_millis(1);
        Resting {
            ack: AckToken::new(format!("$JS.ACK.{}", self.pick(3))),
            deadline: match self.pick(8) {
                0 => Deadline::of(long_ago, Duration::ZERO, None),
                _ => far_off(),
            },
            look_at: match self.pick(2) {
                0 => long_ago,
                _ => far_off().at(),
            },
        }
    }

    fn child_ended(&self) -> ChildEnded {
        let end = match self.pick(6) {
            0 => ChildEnd::Dropped,
            _ => ChildEnd::Answered,
        };
        let index = u16::try_from(self.pick(3)).expect("small");
        let place = child(&self.parent(), self.small(2), index).place;
        let spent = self.spent();
        ChildEnded { place, end, spent }
    }

    fn verdict(&self) -> Verdict {
        Verdict {
            approved: self.pick(2) == 0,
            by: "ana".to_owned(),
            note: None,
            fingerprint: Fingerprint::of_bytes(self.payload()),
        }
    }

    fn checkpoint(&self, key: &RequestKey) -> Checkpoint {
        let known = self.revisions.get(key).copied().unwrap_or_default();
        let revision = Revision::new(known.number() + u64::from(self.pick(8) == 0));
        let text = format!("{}", self.pick(9));
        match self.pick(20) {
            0..9 => Checkpoint::Reserve {
                limits: RunLimits {
                    steps: 4,
                    requests: 5,
                    tree: Limits {
                        requests: (self.pick(3) == 0).then_some(9),
                        tokens: (self.pick(3) == 0).then_some(300),
                        cost: (self.pick(3) == 0).then_some(Micros(20)),
                        descendants: None,
                    },
                },
            },
            9..13 => Checkpoint::Accept {
                revision,
                decision: text,
                spent: self.spent(),
            },
            13..17 => Checkpoint::Execute {
                revision,
                operation: Operation {
                    decision: text.clone(),
                    result: text,
                },
                report: (self.pick(6) == 0).then(|| "a report".to_owned()),
            },
            17..19 => Checkpoint::Charge {
                spent: self.spent(),
            },
            _ => Checkpoint::End {
                status: RunStatus::Failed,
                reason: "{}".to_owned(),
            },
        }
    }

    fn commit(&self) -> Commit {
        Commit {
            result: Bytes::from(format!("result {}", self.pick(100))),
            cancelled: self.pick(3) == 0,
            spent: self.spent(),
        }
    }

    pub(super) fn step(&mut self) -> Step {
        self.steps += 1;
        let cast = self.cast();
        let key = match self.pick(2) {
            0 => self.parent(),
            _ => cast
                .get(self.pick(cast.len()))
                .expect("one of them")
                .clone(),
        };
        match self.pick(200) {
            0..44 => Step::Claim(key, self.nonce(), self.payload()),
            44..48 => Step::Commit(key.clone(), self.owner(&key), self.commit()),
            48..54 => Step::Settle(key),
            54..60 => Step::Release(key.clone(), self.owner(&key), self.carried()),
            60..63 => Step::Correct(key, Bytes::from_static(b"published")),
            63..68 => Step::Cancel(key),
            68..88 => {
                let children = u16::try_from(self.pick(4)).expect("small");
                let join = u16::try_from(self.pick(3)).expect("small").min(children);
                let park = park(&key, self.small(2), children, join);
                Step::Park(key.clone(), self.owner(&key), park)
            }
            88..96 => {
                let parent = self.parent();
                let index = u16::try_from(self.pick(2)).expect("small");
                Step::Intend(intent(&parent, &child(&parent, self.small(2), index)))
            }
            96..112 => Step::LetGo(key.clone(), self.owner(&key), self.resting()),
            112..132 => Step::ChildEnded(self.parent(), self.child_ended()),
            132..142 => {
                let step = Delegation::new(self.small(2));
                Step::Resume(key.clone(), self.owner(&key), step)
            }
            142..145 => Step::Due(Duration::from_secs(self.pick(2) as u64 * 3_600)),
            145..149 => Step::AskVerdict(key.clone(), self.owner(&key), self.resting()),
            149..153 => Step::Decide(key, self.verdict()),
            153..162 => Step::Create(
                key,
                NewRun {
                    model: "simulated".to_owned(),
                    goal: format!("goal {}", self.pick(2)),
                },
            ),
            162..184 => {
                let checkpoint = self.checkpoint(&key);
                Step::Checkpoint(key.clone(), self.owner(&key), checkpoint)
            }
            184..186 => Step::Renew,
            186..197 => Step::Reopen(SessionId::fresh(&self.chance)),
            _ => self.mishap(),
        }
    }

    fn mishap(&self) -> Step {
        match self.pick(10) {
            0 => Step::Empty,
            1 => Step::Close,
            2..4 => Step::Evict,
            _ => Step::Expire,
        }
    }
}
