//! Resume: a claimed request that waited goes on, goes back to waiting, or ends with everything
//! below it.

use std::sync::Arc;

use super::{
    Pipeline, admit::Plan, claim::Claimed, delegating::Origin, park::Owing, receive::Turned, trail,
};
use crate::{
    broker::WalkBroker,
    contract::InvocationRequest,
    handler::crash::CrashPoint,
    store::{WalkStore, kin::Wait},
};

/// What becomes of a request that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It ends: nobody needs its children any more.
    Ends,
    /// It goes on.
    Over,
    /// Whoever parked it died before all of its children were asked.
    Unsent,
    /// It waits on.
    Waits,
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn resume(&self, mut claimed: Box<Claimed>) -> Result<Box<Claimed>, Turned> {
        if !claimed.hold.kin.waits {
            return Ok(claimed);
        }
        let (claims, key) = (&self.ports.claims, &claimed.asked.key);
        let session = Arc::clone(&claimed.hold.session);
        let Some(wait) = self
            .ports
            .insist(&session, "wait", || claims.wait(key))
            .await
        else {
            return Err(claimed.received.lapse());
        };
        let Some(wait) = wait else {
            return Ok(claimed);
        };
        let plan = match &claimed.plan {
            Plan::Run(request) => Some(Arc::clone(request)),
            Plan::Refuse(_) | Plan::Discard(_) => None,
        };
        match (self.standing(&claimed, &wait), plan) {
            (Standing::Ends, _) | (_, None) => {
                let running: Vec<_> = wait.running().map(|it| it.key.clone()).collect();
                self.cascade(running).await;
                Ok(claimed)
            }
            (Standing::Over, Some(_)) => {
                let owned = claimed.hold.owned(&claimed.asked.key);
                let step = wait.step;
                // Before the record forgets that they run.
                let rest: Vec<_> = wait.running().map(|it| it.key.clone()).collect();
                self.cascade(rest).await;
                let resumed = || claims.resume(&owned, step);
                if self
                    .ports
                    .insist(&session, "resume", resumed)
                    .await
                    .is_none()
                {
                    return Err(claimed.received.lapse());
                }
                trail::resumed(&claimed.asked, &claimed.hold, step);
                self.ports.crash.reached(CrashPoint::AfterResume);
                claimed.hold.kin.steps.push(step);
                Ok(claimed)
            }
            (Standing::Unsent, Some(request)) => Err(self.send_again(claimed, &request).await),
            (Standing::Waits, Some(_)) => {
                let owing = owing(*claimed);
                Err(self.let_go(owing).await)
            }
        }
    }

    fn standing(&self, claimed: &Claimed, wait: &Wait) -> Standing {
        let hold = &claimed.hold;
        let late = claimed.asked.deadline.passed(self.ports.clock.now());
        if late || hold.cancelled || hold.cancel.is_cancelled() {
            Standing::Ends
        } else if wait.is_over() {
            Standing::Over
        } else if wait.sent {
            Standing::Waits
        } else {
            Standing::Unsent
        }
    }

    async fn send_again(&self, claimed: Box<Claimed>, request: &InvocationRequest) -> Turned {
        let (claims, key) = (&self.ports.claims, &claimed.asked.key);
        let session = Arc::clone(&claimed.hold.session);
        let outbox = self
            .ports
            .insist(&session, "outbox", || claims.outbox(key))
            .await;
        let Some(outbox) = outbox else {
            return claimed.received.lapse();
        };
        let origin = Origin::of(request, &claimed.asked, &claimed.hold.kin);
        self.send(owing(*claimed), &origin, &outbox).await
    }
}

fn owing(claimed: Claimed) -> Owing {
    let Claimed {
        received,
        asked,
        hold,
        ..
    } = claimed;
    Owing {
        received,
        asked,
        hold,
    }
}
