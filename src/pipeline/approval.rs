//! Approval: a request whose action a person has to allow waits for that person, holding nothing.
//!
//! A verdict counts for the payload that it was given about, and for no other.

use std::{sync::Arc, time::Duration};

use super::{Pipeline, Service, admit::Plan, claim::Claimed, receive::Turned};
use crate::{
    broker::WalkBroker,
    contract::{ErrorCode, ResultError},
    store::{
        WalkStore,
        kin::{LetGo, Verdict},
    },
};

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn approval(&self, mut claimed: Box<Claimed>) -> Result<Box<Claimed>, Turned> {
        if !self.needs_verdict(&claimed) {
            return Ok(claimed);
        }
        let fingerprint = claimed.asked.fingerprint;
        let verdict = claimed.hold.kin.verdict.take();
        match verdict.filter(|it| it.fingerprint == fingerprint) {
            Some(verdict) if verdict.approved => Ok(claimed),
            Some(verdict) => {
                claimed.plan = Plan::Refuse(rejected(&verdict));
                Ok(claimed)
            }
            None => Err(self.ask_verdict(*claimed).await),
        }
    }

    fn needs_verdict(&self, claimed: &Claimed) -> bool {
        let (Plan::Run(request), Service::Here { actions, .. }) =
            (&claimed.plan, &claimed.received.served.service)
        else {
            return false;
        };
        let hold = &claimed.hold;
        let ends = hold.cancelled
            || hold.cancel.is_cancelled()
            || claimed.asked.deadline.passed(self.ports.clock.now());
        actions.needs_approval(&request.action) && !ends
    }

    async fn ask_verdict(&self, claimed: Claimed) -> Turned {
        let Claimed {
            received,
            asked,
            hold,
            ..
        } = claimed;
        let session = Arc::clone(&hold.session);
        let (owned, resting) = (hold.owned(&asked.key), self.resting(&received, &asked));
        let claims = &self.ports.claims;
        let asking = || claims.ask_verdict(&owned, &resting);
        match self.ports.insist(&session, "ask verdict", asking).await {
            Some(LetGo::Waiting) => {
                self.ports.tell_approval_wanted(&asked, hold.attempt);
                let delay = self.rest_delay(&received, &asked);
                received.nak(delay)
            }
            Some(LetGo::Ready) => received.hand_over(asked.key, hold.left(), Duration::ZERO),
            Some(LetGo::Lost) | None => received.lapse(),
        }
    }
}

fn rejected(verdict: &Verdict) -> ResultError {
    let Verdict { by, note, .. } = verdict;
    let said = note.as_ref().map(|it| format!(": {it}"));
    let message = format!("rejected by {by}{}", said.unwrap_or_default());
    ResultError::new(ErrorCode::Denied, message).with("rejected_by", by.as_str())
}
