//! What a request has to do, and what it asks of others, all the way down: known before anybody
//! begins, ids included.
//!
//! A prompt carries it as a text that the asked Puruto's program reads back, or as the script of an
//! agent.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    asks::{ACTION, MIRROR, PLANNER, RELAY},
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
    /// By these delegations, one after the other, at a relay or a planner.
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

    fn is_agents(&self) -> bool {
        self.target.as_str() == PLANNER
    }

    /// How it has to end if nothing comes in between.
    pub(super) fn expected(&self) -> Expected {
        match self.refusal() {
            // An agent reports what it was refused.
            Some(code) if !self.is_agents() => Expected::Refused(code),
            Some(_) => Expected::Done,
            None if self.takes == Takes::Ages => Expected::Refused(ErrorCode::Timeout),
            None => Expected::Done,
        }
    }

    /// Why nobody may be asked as it says, if nobody may.
    fn refusal(&self) -> Option<ErrorCode> {
        let turns = self.turns();
        let most = turns.iter().map(|it| it.children.len()).max().unwrap_or(0);
        if most > CHILDREN_MAX {
            return Some(ErrorCode::Denied);
        }
        let exhausted = self.allowance.is_some_and(|allowed| most > allowed);
        exhausted.then_some(ErrorCode::BudgetExhausted)
    }

    fn turns(&self) -> &[Turn] {
        match &self.does {
            Does::Asks(turns) => turns,
            Does::Itself | Does::Echoes | Does::EchoesLouder => &[],
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
            Does::Asks(_) if self.is_agents() => self.script(request),
            Does::Asks(_) => {
                let turns = self.delegations(request);
                let turns = turns.map(|it| STANDARD.encode(it.to_string()));
                format!("{takes} asks {}", turns.collect::<Vec<_>>().join(" then "))
            }
            Does::Echoes => format!("{takes} echoes"),
            Does::EchoesLouder => format!("{takes} echoes louder"),
        }
    }

    /// What an agent decides, step by step; then it reports.
    fn script(&self, request: &RequestId) -> String {
        let decisions = self.delegations(request);
        let decisions = decisions.map(|args| json!({"action": "delegate", "args": args}));
        json!({"script": decisions.collect::<Vec<_>>()}).to_string()
    }

    fn delegations(&self, request: &RequestId) -> impl Iterator<Item = Value> {
        let steps = (0..).map(Step::new).zip(self.turns());
        steps.map(|(step, turn)| self.delegation(request, step, turn))
    }

    /// As whoever asks says it.
    fn delegation(&self, request: &RequestId, step: Step, turn: &Turn) -> Value {
        let children = turn.children.iter().zip(0..).map(|(child, index)| {
            let id = ChildPlace { step, index }.child_of(&self.target, request);
            let mut told = json!({
                "target": child.target, "action": ACTION, "prompt": child.prompt(&id),
            });
            if let (Some(allowed), Some(told)) = (child.allowance, told.as_object_mut()) {
                told.insert("budget".to_owned(), json!({"descendants": allowed}));
            }
            told
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
        let turns = if self.refusal().is_none() {
            self.turns()
        } else {
            &[]
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
        poor.target = PLANNER.parse().expect("a name");
        assert_eq!(poor.expected(), Expected::Done);
        assert_eq!(poor.foresee(&root), []);
    }

    #[test]
    fn an_agents_prompt_is_its_script() {
        let root = "r-1".parse().expect("an id");
        let mut errand = chain(1);
        errand.target = PLANNER.parse().expect("a name");
        let script: Value = serde_json::from_str(&errand.prompt(&root)).expect("JSON");
        let child = &script["script"][0]["args"]["children"][0]["prompt"];
        let asked = &errand.foresee(&root)[0].request;
        assert_eq!(child, &format!("{asked} takes moments"));
    }
}
