//! The power to ask others, as the walk gives it to a handler: every rule is checked here, with the
//! chain that the fleet itself wrote down. Never: a hop or an ancestry that a message says of itself.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use super::{Ports, Session, admit::Asked, outcomes::Reading};
use crate::{
    broker::Broker,
    clock::WallTime,
    contract::{
        Ancestor, Ancestry, ChildPlace, ChildRequest, Deadline, Delegation, Fingerprint, Hop,
        InvocationRequest, Limits, PROMPT_BYTES_MAX, Spent, Step,
    },
    handler::{
        Budget,
        delegating::{ChildOutcome, Delegating, Planned, Refused, Rule},
    },
    store::{
        RequestKey, Waits,
        kin::{Child, Intent, Kin, Lineage, Park},
    },
};

/// How much may be delegated.
#[derive(Clone, Copy, Debug)]
pub struct DelegationRules {
    /// How many children one delegation has at most.
    pub max_children: u16,
    /// What a first caller's request may spend, all of its descendants included.
    pub root: Limits,
}

/// What a child's message takes beside its body, at most: subject and headers.
const ENVELOPE_BYTES_MAX: usize = 8 * 1024;

/// From where the children of one request come.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    parent: RequestKey,
    root: RequestKey,
    correlation: crate::contract::CorrelationId,
    /// How deep the parent stands.
    hop: Hop,
    /// The parent included.
    ancestry: Ancestry,
}

impl Origin {
    /// That of the children of `request`.
    pub(super) fn of(request: &InvocationRequest, asked: &Asked, kin: &Kin) -> Self {
        let lineage = kin.lineage.as_ref();
        let above = lineage.map(|it| it.ancestry.clone()).unwrap_or_default();
        Self {
            parent: asked.key.clone(),
            root: lineage.map_or_else(|| asked.key.clone(), |it| it.root.clone()),
            correlation: asked.correlation.clone(),
            hop: lineage.map_or(request.hop, |it| it.hop),
            ancestry: above.below(Ancestor {
                target: request.target.clone(),
                action: request.action.clone(),
                prompt: Fingerprint::of_bytes(request.prompt.as_bytes()),
            }),
        }
    }

    /// How deep its children stand; `None` beyond what the contract counts.
    fn hop_below(&self) -> Option<Hop> {
        Hop::new(u64::from(self.hop.depth()) + 1)
    }

    /// What is written down of `child` before it is asked.
    pub(super) fn intent(&self, child: &Child) -> Intent {
        Intent {
            child: child.clone(),
            correlation: self.correlation.clone(),
            lineage: Lineage {
                parent: self.parent.clone(),
                place: child.place,
                root: self.root.clone(),
                // A plan was made only where there is one.
                hop: self.hop_below().unwrap_or(self.hop),
                ancestry: self.ancestry.clone(),
                limits: child.limits,
            },
        }
    }
}

/// The power to ask others on behalf of one request. Most never use it, so it costs little to make.
pub(super) struct Asker<B, C> {
    pub(super) ports: Arc<Ports<B, C>>,
    pub(super) request: Arc<InvocationRequest>,
    pub(super) asked: Asked,
    pub(super) kin: Kin,
    pub(super) budget: Budget,
    pub(super) session: Arc<Session>,
}

impl<B, C> fmt::Debug for Asker<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asker({:?})", self.asked.key)
    }
}

impl<B: Broker, C: Waits> Delegating for Asker<B, C> {
    fn plan(&self, delegation: Delegation) -> Result<Planned, Refused> {
        let planning = Planning {
            ports: &self.ports,
            origin: Origin::of(&self.request, &self.asked, &self.kin),
            deadline: self.asked.deadline,
            budget: &self.budget,
        };
        planning.plan(delegation)
    }

    fn outcome(&self, step: Step) -> BoxFuture<'_, Option<Vec<ChildOutcome>>> {
        Box::pin(async move {
            if !self.kin.steps.contains(&step) {
                return None;
            }
            let reading = Reading {
                session: &self.session,
                correlation: &self.asked.correlation,
            };
            let outcomes = reading.outcomes(&self.ports, &self.asked.key, step);
            Some(outcomes.await)
        })
    }

    fn over(&self) -> &[Step] {
        &self.kin.steps
    }
}

/// A delegation being checked.
struct Planning<'a, B, C> {
    ports: &'a Ports<B, C>,
    origin: Origin,
    deadline: Deadline,
    budget: &'a Budget,
}

impl<B: Broker, C> Planning<'_, B, C> {
    fn plan(&self, delegation: Delegation) -> Result<Planned, Refused> {
        let Delegation {
            step,
            children,
            join,
        } = delegation;
        let count = self.count(children.len())?;
        let hop = self.hop()?;
        for child in &children {
            self.may_ask(child, hop)?;
        }
        let slices = self.slices(&children)?;
        let planned = (0..).zip(children).zip(slices);
        let children = planned.map(|((index, child), limits)| {
            let place = ChildPlace { step, index };
            self.child(place, child, limits, hop)
        });
        Ok(Planned::checked(Park {
            step,
            join: join.of(count),
            children: children.collect::<Result<_, _>>()?,
        }))
    }

    fn count(&self, children: usize) -> Result<u16, Refused> {
        let most = self.ports.delegation.max_children;
        match u16::try_from(children) {
            Ok(0) => Err(refused(Rule::Request, "no children are named".to_owned())),
            Ok(count) if count <= most => Ok(count),
            Ok(_) | Err(_) => Err(refused(
                Rule::MaxChildren,
                format!(
                    "{children} children at once are more than {most} (delegation.max_children)"
                ),
            )),
        }
    }

    fn hop(&self) -> Result<Hop, Refused> {
        self.origin.hop_below().ok_or_else(|| {
            let message = format!(
                "the chain is {} requests deep already",
                self.origin.hop.depth()
            );
            refused(Rule::Policy, message)
        })
    }

    fn may_ask(&self, child: &ChildRequest, hop: Hop) -> Result<(), Refused> {
        let ChildRequest {
            target,
            action,
            prompt,
            ..
        } = child;
        let policies = self.ports.policies.current();
        let asker = &self.origin.parent.target;
        if let Err(denial) = policies.decide(asker, target, action, hop) {
            return Err(refused(Rule::Policy, denial.to_string()));
        }
        let again = Ancestor {
            target: target.clone(),
            action: action.clone(),
            prompt: Fingerprint::of_bytes(prompt.as_bytes()),
        };
        if self.origin.ancestry.repeats(&again) {
            let message = format!(
                "{target} was asked for {action} with the same prompt further up: {}",
                self.origin.ancestry
            );
            return Err(refused(Rule::Cycle, message));
        }
        if prompt.len() > PROMPT_BYTES_MAX {
            let length = prompt.len();
            let message =
                format!("the prompt for {target} has {length} bytes, more than {PROMPT_BYTES_MAX}");
            return Err(refused(Rule::Request, message));
        }
        Ok(())
    }

    /// What each child may spend of what is left. Who asks for nothing in particular gets an equal
    /// share, with one kept back for the parent itself.
    fn slices(&self, children: &[ChildRequest]) -> Result<Vec<Limits>, Refused> {
        let count = children.len() as u64;
        let themselves = Spent {
            descendants: count,
            ..Spent::default()
        };
        if let Err(exhausted) = self.budget.allows(themselves) {
            return Err(refused(Rule::MaxDescendants, exhausted.to_string()));
        }
        let left = self.budget.left().after(&themselves);
        let share = left.share(count + 1);
        let slices = children.iter().map(|child| match child.budget {
            Some(wanted) => wanted.or(&share),
            None => share,
        });
        let slices: Vec<_> = slices.collect();
        let mut granted = themselves;
        for slice in &slices {
            granted += slice.as_spent();
        }
        if let Err(exhausted) = self.budget.allows(granted) {
            return Err(refused(Rule::Budget, exhausted.to_string()));
        }
        match slices.iter().find(|it| it.requests == Some(0)) {
            Some(_) => Err(refused(
                Rule::Budget,
                "too few model requests are left for every child to make one".to_owned(),
            )),
            None => Ok(slices),
        }
    }

    fn child(
        &self,
        place: ChildPlace,
        child: ChildRequest,
        limits: Limits,
        hop: Hop,
    ) -> Result<(Child, bytes::Bytes), Refused> {
        let parent = &self.origin.parent;
        let deadline = self.deadline_of(&child, self.ports.clock.now());
        let request = InvocationRequest {
            request_id: place.child_of(&parent.target, &parent.request),
            correlation_id: self.origin.correlation.clone(),
            caller: parent.target.clone(),
            target: child.target,
            action: child.action,
            prompt: child.prompt,
            timeout_sec: child.timeout_sec,
            hop,
            extra: serde_json::Map::new(),
        };
        let body = request.to_json();
        let most = self.ports.broker.payload_max();
        if body.len() + ENVELOPE_BYTES_MAX > most {
            let message = format!(
                "a request of {} bytes is more than the broker takes",
                body.len()
            );
            return Err(refused(Rule::Request, message));
        }
        let child = Child {
            place,
            fingerprint: request.fingerprint(),
            key: RequestKey {
                target: request.target,
                request: request.request_id,
            },
            action: request.action,
            limits,
            deadline,
        };
        Ok((child, body.into()))
    }

    /// Never later than its parent's.
    fn deadline_of(&self, child: &ChildRequest, now: WallTime) -> Deadline {
        let own = child.timeout_sec.map(|it| it.duration());
        let policies = self.ports.policies.current();
        let timeout = own.unwrap_or_else(|| policies.default_timeout(&self.origin.parent.target));
        Deadline::of(now, timeout, Some(self.deadline.at()))
    }
}

const fn refused(rule: Rule, message: String) -> Refused {
    Refused { rule, message }
}
