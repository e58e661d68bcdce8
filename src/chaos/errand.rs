//! What a request has to do, and what it asks of others, all the way down: known before anybody
//! begins, ids included.
//!
//! A prompt carries it as a text that the asked Puruto's program reads back.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    asks::{ACTION, MIRROR, RELAY},
    history::Expected,
    prompt::{Prompt, Takes},
};
use crate::contract::{ChildPlace, ErrorCode, PurutoName, RequestId, Step};

/// How many children one delegation of the fleet has at most.
pub(super) const CHILDREN_MAX: usize = 6;
/// How many requests there are below a caller's at most.
pub(super) const DESCENDANTS_MAX: usize = 64;
/// The first depth that the fleet's policies deny.
pub(super) const HOPS_MAX: u8 = 6;

/// One request's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    pub(super) target: PurutoName,
    pub(super) takes: Takes,
    pub(super) does: Does,
    /// How many requests there may be below it, where its parent says so.
    pub(super) allowance: Option<usize>,
}

/// How it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Without others.
    Itself,
    /// By these delegations, one after the other, at a relay.
    Asks(Vec<Turn>),
    /// Relay and mirror ask each other the same.
    Echoes,
    /// They ask each other ever more.
    EchoesLouder,
}

/// One delegation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) children: Vec<Errand>,
    pub(super) join: Waits,
}

/// For how many children is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    All,
    Any,
    For(u16),
}

/// A request that will come to be if its parent gets that far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreseen {
    pub(super) request: RequestId,
    pub(super) parent: RequestId,
    pub(super) expected: Expected,
}

impl Errand {
    /// One that `target` does without others.
    pub(super) fn plain(target: &str, takes: Takes) -> Self {
        Self {
            target: target.parse().expect("our own names are names"),
            takes,
            does: Does::Itself,
            allowance: None,
        }
    }

    /// One for which a relay asks others.
    pub(super) fn relayed(turns: Vec<Turn>) -> Self {
        Self {
            does: Does::Asks(turns),
            ..Self::plain(RELAY, Takes::Moments)
        }
    }

    /// How it has to end if nothing comes in between.
    pub(super) fn expected(&self) -> Expected {
        match &self.does {
            Does::Itself if self.takes == Takes::Ages => Expected::Refused(ErrorCode::Timeout),
            Does::Asks(turns) => {
                let most = turns.iter().map(|it| it.children.len()).max().unwrap_or(0);
                if most > CHILDREN_MAX {
                    Expected::Refused(ErrorCode::Denied)
                } else if self.allowance.is_some_and(|allowed| most > allowed) {
                    Expected::Refused(ErrorCode::BudgetExhausted)
                } else {
                    Expected::Done
                }
            }
            Does::Itself | Does::Echoes | Does::EchoesLouder => Expected::Done,
        }
    }

    /// The prompt of the request with this id.
    pub(super) fn prompt(&self, request: &RequestId) -> String {
        let takes = Prompt {
            request: request.clone(),
            takes: self.takes,
        };
        match &self.does {
            Does::Itself => takes.to_string(),
            Does::Asks(turns) => {
                let steps = (0..).zip(turns);
                let turns = steps.map(|(step, turn)| {
                    STANDARD.encode(self.delegation(request, Step::new(step), turn).to_string())
                });
                let turns: Vec<_> = turns.collect();
                format!("{takes} asks {}", turns.join(" then "))
            }
            Does::Echoes => format!("{takes} echoes"),
            Does::EchoesLouder => format!("{takes} echoes louder"),
        }
    }

    /// As a program says it.
    fn delegation(&self, request: &RequestId, step: Step, turn: &Turn) -> Value {
        let children = turn.children.iter().zip(0..).map(|(child, index)| {
            let id = ChildPlace { step, index }.child_of(&self.target, request);
            json!({
                "target": child.target, "action": ACTION, "prompt": child.prompt(&id),
                "budget": child.allowance.map(|it| json!({"descendants": it})),
            })
        });
        let join = match turn.join {
            Waits::All => json!("all"),
            Waits::Any => json!("any"),
            Waits::For(count) => json!(count),
        };
        json!({"children": children.collect::<Vec<_>>(), "join": join})
    }

    /// The children of the request with this id, in the order of their places.
    pub(super) fn children(&self, request: &RequestId) -> impl Iterator<Item = (RequestId, &Self)> {
        let turns: &[Turn] = match &self.does {
            Does::Asks(turns) if self.expected() == Expected::Done => turns,
            Does::Asks(_) | Does::Itself | Does::Echoes | Does::EchoesLouder => &[],
        };
        let all = (0..).map(Step::new).zip(turns).flat_map(|(step, turn)| {
            let children = turn.children.iter().zip(0..);
            children.map(move |(child, index)| (ChildPlace { step, index }, child))
        });
        all.map(|(place, child)| (place.child_of(&self.target, request), child))
    }

    /// Every request below the one with this id.
    pub(super) fn foresee(&self, request: &RequestId) -> Vec<Foreseen> {
        let levels = match self.does {
            Does::Itself | Does::Asks(_) => return self.below(request),
            // The first relay's prompt comes back to it.
            Does::Echoes => 1,
            Does::EchoesLouder => HOPS_MAX - 1,
        };
        let (mut foreseen, mut parent) = (Vec::new(), request.clone());
        for level in 1..=levels {
            let asker = if level % 2 == 1 { RELAY } else { MIRROR };
            let asker = asker.parse().expect("our own names are names");
            let request = ChildPlace::default().child_of(&asker, &parent);
            foreseen.push(Foreseen {
                request: request.clone(),
                parent,
                expected: if level == levels {
                    Expected::Refused(ErrorCode::Denied)
                } else {
                    Expected::Done
                },
            });
            parent = request;
        }
        foreseen
    }

    fn below(&self, request: &RequestId) -> Vec<Foreseen> {
        let each = self.children(request).flat_map(|(id, child)| {
            let below = child.below(&id);
            let one = Foreseen {
                request: id,
                parent: request.clone(),
                expected: child.expected(),
            };
            [one].into_iter().chain(below)
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::asks::CLERK;

    fn chain(depth: usize) -> Errand {
        let last = Errand::plain(CLERK, Takes::Moments);
        (0..depth).fold(last, |child, _| {
            Errand::relayed(vec![Turn {
                children: vec![child],
                join: Waits::All,
            }])
        })
    }

    #[test]
    fn whoever_asks_is_foreseen_with_the_ids_that_stand_in_the_prompts() {
        let root = "r-1".parse().expect("an id");
        let errand = chain(2);
        let foreseen = errand.foresee(&root);
        let prompt = errand.prompt(&root);
        let (head, told) = prompt.split_once(" asks ").expect("it asks");
        assert_eq!(head, "r-1 takes moments");
        let told = STANDARD.decode(told).expect("base64");
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        let child = told["children"][0]["prompt"].as_str().expect("a prompt");
        let (first, second) = (&foreseen[0].request, &foreseen[1]);
        assert!(child.starts_with(&format!("{first} takes moments asks ")));
        assert_eq!(&second.parent, first);
        assert_eq!(foreseen.len(), 2);
    }

    #[test]
    fn more_than_is_allowed_is_refused_and_asks_nobody() {
        let root = "r-1".parse().expect("an id");
        let children = vec![chain(0); CHILDREN_MAX + 1];
        let join = Waits::All;
        let crowd = Errand::relayed(vec![Turn { children, join }]);
        assert_eq!(crowd.expected(), Expected::Refused(ErrorCode::Denied));
        assert_eq!(crowd.foresee(&root), []);
        let mut poor = chain(1);
        poor.allowance = Some(0);
        let exhausted = Expected::Refused(ErrorCode::BudgetExhausted);
        assert_eq!(poor.expected(), exhausted);
    }
}
