//! Park: a request that waits for others holds nothing. First its children are owed, then they are
//! asked, then the claim is let go of; its message stays in the stream until somebody wakes it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Pipeline,
    admit::Asked,
    claim::Hold,
    delegating::Origin,
    outcomes::answers,
    patience::Patience,
    receive::{Received, Turned},
    trail,
};
use crate::{
    broker::{Headers, WalkBroker},
    contract::{Header, InvocationRequest, Spent, message_id},
    handler::{crash::CrashPoint, delegating::Planned},
    store::{
        RequestKey, WalkStore,
        kin::{Child, ChildEnd, ChildEnded, Intended, Intent, LetGo, Owned, ParkAnswer, Resting},
    },
};

/// A waiting request whose wake got lost is looked at after this.
const LOOK_AFTER: Duration = Duration::from_secs(30);

/// A waiting request is delivered again no sooner than this: should the store have been emptied,
/// nothing else would remember it ...
const REST_DELAY: Duration = Duration::from_secs(30);

/// ... and twice as late each time, but no later than this: many that wait for long are not to keep
/// workers busy, and a day of waiting has to fit the broker's limit of deliveries.
const REST_DELAY_MAX: Duration = Duration::from_secs(480);

/// A request whose handler has planned what to ask of others.
#[derive(Debug)]
pub(super) struct Parking {
    pub(super) received: Received,
    pub(super) asked: Asked,
    pub(super) hold: Hold,
    pub(super) request: Arc<InvocationRequest>,
    pub(super) planned: Planned,
}

/// A request that waits, with those that it is owed.
#[derive(Debug)]
pub(super) struct Owing {
    pub(super) received: Received,
    pub(super) asked: Asked,
    pub(super) hold: Hold,
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn park(&self, parking: Parking) -> Turned {
        let Parking {
            received,
            asked,
            hold,
            request,
            planned,
        } = parking;
        let park = planned.park();
        if hold.kin.lineage.is_none() && !self.note_root(&asked, &hold).await {
            return received.lapse();
        }
        let owned = hold.owned(&asked.key);
        let claims = &self.ports.claims;
        let parked = self
            .ports
            .insist(&hold.session, "park", || claims.park(&owned, park));
        match parked.await {
            Some(ParkAnswer::Parked) => trail::parked(&asked, &hold, park),
            // Whoever has it next ends it.
            Some(ParkAnswer::Cancelled) => {
                return received.hand_over(asked.key, hold.left(), Duration::ZERO);
            }
            Some(ParkAnswer::Lost) | None => return received.lapse(),
        }
        self.ports.tell_delegated(&asked, hold.attempt, park);
        self.ports.crash.reached(CrashPoint::AfterPark);
        let origin = Origin::of(&request, &asked, &hold.kin);
        let owing = Owing {
            received,
            asked,
            hold,
        };
        self.send(owing, &origin, &park.children).await
    }

    /// Asks the children, then lets go. Every step can be done again by whoever takes over.
    pub(super) async fn send(
        &self,
        owing: Owing,
        origin: &Origin,
        outbox: &[(Child, Bytes)],
    ) -> Turned {
        for (child, body) in outbox {
            let intent = origin.intent(child);
            if !self.ask_child(&owing, &intent, body).await {
                return owing.received.lapse();
            }
            self.ports.crash.reached(CrashPoint::AmidChildren);
        }
        self.ports.crash.reached(CrashPoint::BeforeLetGo);
        self.let_go(owing).await
    }

    /// Gives the claim up; the message comes again when there is something to go on with.
    pub(super) async fn let_go(&self, owing: Owing) -> Turned {
        let Owing {
            received,
            asked,
            hold,
        } = owing;
        let (owned, resting) = (hold.owned(&asked.key), self.resting(&received, &asked));
        let claims = &self.ports.claims;
        let let_go = || claims.let_go(&owned, &resting);
        match self.ports.insist(&hold.session, "let go", let_go).await {
            Some(LetGo::Waiting) => {
                trail::let_go(&asked, &hold);
                self.ports.tell_waiting(&asked, hold.attempt);
                let delay = self.rest_delay(&received, &asked);
                received.nak(delay)
            }
            Some(LetGo::Ready) => received.hand_over(asked.key, hold.left(), Duration::ZERO),
            Some(LetGo::Lost) | None => received.lapse(),
        }
    }

    pub(super) fn resting(&self, received: &Received, asked: &Asked) -> Resting {
        Resting {
            ack: received.delivery.ack.clone(),
            deadline: asked.deadline,
            look_at: self.ports.clock.now().saturating_add(LOOK_AFTER),
        }
    }

    /// How long a waiting request stays away unless it is woken.
    pub(super) fn rest_delay(&self, received: &Received, asked: &Asked) -> Duration {
        let most = rest_delay(received.delivery.delivered);
        let left = asked.deadline.left(self.ports.clock.now());
        // Together with others that wait it would come back in one burst.
        self.ports.chance.around(most, 0.1).min(left)
    }

    async fn note_root(&self, asked: &Asked, hold: &Hold) -> bool {
        let claims = &self.ports.claims;
        let noted = || claims.note_root(&asked.correlation, &asked.key);
        self.ports
            .insist(&hold.session, "note root", noted)
            .await
            .is_some()
    }

    /// Makes a child expected and publishes it; `false` once the claim may be lost.
    async fn ask_child(&self, owing: &Owing, intent: &Intent, body: &Bytes) -> bool {
        let claims = &self.ports.claims;
        let intended = || claims.intend(intent);
        let intended = self
            .ports
            .insist(&owing.hold.session, "intend", intended)
            .await;
        match intended {
            Some(Intended::Expected) => self.publish_child(owing, intent, body).await,
            // It has its answer, or can have none: its parent reads which.
            Some(Intended::Done | Intended::Conflict) => self.count_as_ended(owing, intent).await,
            None => false,
        }
    }

    async fn publish_child(&self, owing: &Owing, intent: &Intent, body: &Bytes) -> bool {
        let subjects = &self.ports.subjects;
        let subject = subjects.invoke(&intent.child.key.target, owing.received.delivery.lane);
        let headers = child_headers(owing, intent);
        let mut patience = Patience::new(&self.ports.chance, None);
        // Who is late already is ended by whoever keeps the time.
        while !owing.asked.deadline.passed(self.ports.clock.now()) {
            if !owing.hold.session.is_live() {
                return false;
            }
            let published = self
                .ports
                .broker
                .publish_request(&subject, &headers, body.clone());
            match published.await {
                Ok(ack) if ack.duplicate => return self.asked_before(owing, intent).await,
                Ok(_) => return true,
                Err(fault) => self.ports.broker_faulted(&fault, "publish child"),
            }
            tokio::select! {
                () = owing.hold.session.fenced.cancelled() => return false,
                _ = patience.wait() => {}
            }
        }
        true
    }

    /// The broker stored nothing, because it had stored the same before. That message may be gone,
    /// if the child has ended and an emptied store knows nothing of it: its result tells.
    async fn asked_before(&self, owing: &Owing, intent: &Intent) -> bool {
        let Intent {
            child, correlation, ..
        } = intent;
        let place = self.ports.subjects.result(correlation, &child.key.request);
        let mut patience = Patience::new(&self.ports.chance, None);
        while owing.hold.session.is_live() {
            match self.ports.broker.read_result(&place).await {
                Ok(Some(stored)) if answers(&stored, child) => {
                    return self.count_as_ended(owing, intent).await;
                }
                // Whoever has the message ends it.
                Ok(_) => return true,
                Err(fault) => self.ports.broker_faulted(&fault, "read result"),
            }
            patience.wait().await;
        }
        false
    }

    async fn count_as_ended(&self, owing: &Owing, intent: &Intent) -> bool {
        let (claims, parent) = (&self.ports.claims, &owing.asked.key);
        let child = std::slice::from_ref(&intent.child.key);
        let session = &owing.hold.session;
        let record = self
            .ports
            .insist(session, "read", || claims.read(child))
            .await;
        let Some(record) = record.map(|mut it| it.pop().flatten()) else {
            return false;
        };
        // A record under its id that is another request's spent nothing for it.
        let own = record.filter(|it| it.lineage.as_ref() == Some(&intent.lineage));
        let ended = ChildEnded {
            place: intent.child.place,
            end: ChildEnd::Answered,
            spent: own.map_or_else(Spent::default, |it| it.spent),
        };
        let told = || claims.child_ended(parent, &ended);
        self.ports
            .insist(&owing.hold.session, "child ended", told)
            .await
            .is_some()
    }
}

impl Hold {
    /// The claim by its name.
    pub(super) fn owned(&self, key: &RequestKey) -> Owned {
        Owned {
            key: key.clone(),
            nonce: self.nonce,
        }
    }
}

fn child_headers(owing: &Owing, intent: &Intent) -> Headers {
    let mut headers = Headers::new();
    let Intent {
        child,
        correlation,
        lineage,
    } = intent;
    let id = message_id(&child.key.request, correlation, child.fingerprint);
    headers.push(Header::MessageId, &id);
    headers.push(Header::Priority, owing.received.delivery.lane.as_str());
    headers.push(Header::Deadline, &owing.asked.deadline.at().to_string());
    let RequestKey { target, request } = &lineage.parent;
    headers.push(Header::Parent, &format!("{target}/{request}"));
    headers.push(Header::Ancestry, &lineage.ancestry.to_string());
    owing.asked.trace.inject(&mut headers);
    headers
}

/// How long a waiting request stays away that was delivered this often: about as long as it has
/// waited already.
fn rest_delay(delivered: u64) -> Duration {
    let doublings = u32::try_from(delivered.saturating_sub(1)).unwrap_or(u32::MAX);
    let delay = REST_DELAY.saturating_mul(2_u32.saturating_pow(doublings));
    delay.min(REST_DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_request_comes_back_ever_more_rarely() {
        let delays = [0, 1, 2, 3, 5, 6, u64::MAX].map(|it| rest_delay(it).as_secs());
        assert_eq!(delays, [30, 30, 60, 120, 480, 480, 480]);
    }

    #[test]
    fn a_request_that_waits_for_a_day_stays_within_the_limit_of_deliveries() {
        let waits: Duration = (1..300).map(rest_delay).sum();
        assert!(waits > Duration::from_secs(86_400), "{waits:?}");
    }
}
