//! Who may come in, before anything of a message is looked at.
//!
//! Owns that a caller has to be somebody, how much it may ask, and which targets it may ask. What
//! proved it goes no further.
//! Never: what the gateway's own policy allows; that is the same for everybody.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use super::{Door, metadata, tools};
use crate::{
    contract::PurutoName,
    gateway::{
        Principal,
        auth::{KEY_HEADER, Presented, Refusal},
        problem::Problem,
    },
};

/// Who asks, proven, and whom it may ask; an extension of each request that is let in.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    /// Who.
    pub(super) who: Principal,
    targets: Arc<BTreeSet<PurutoName>>,
}

impl Admitted {
    /// Whether it may ask `target`.
    pub(super) fn may_ask(&self, target: &PurutoName) -> bool {
        self.targets.contains(target)
    }
}

/// Lets a request in, or says what would let it in.
pub(super) async fn admit(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |it| it.0.ip());
    match admitted(&door, request.headers(), peer).await {
        Ok(admitted) => {
            forget_proof(request.headers_mut());
            request.extensions_mut().insert(admitted);
            next.run(request).await
        }
        Err(problem) => metadata::pointed_at(&door, problem.into_response()),
    }
}

async fn admitted(door: &Door, headers: &HeaderMap, peer: IpAddr) -> Result<Admitted, Problem> {
    let presented = Presented::new(headers);
    let who = door.gate.prove(&presented).await;
    let counted = who.as_ref().unwrap_or(&Principal::Anonymous);
    door.rate.count(counted, peer)?;
    let who = who?;
    let targets = targets(door, &who, &presented).await?;
    Ok(Admitted {
        who,
        targets: targets.into(),
    })
}

/// The targets that the caller may ask, of those that the gateway may.
async fn targets(
    door: &Door,
    who: &Principal,
    presented: &Presented<'_>,
) -> Result<BTreeSet<PurutoName>, Refusal> {
    let offers = tools::offered(&door.purutos, &door.policies.current(), &door.caller);
    let all: BTreeSet<_> = offers.into_iter().map(|offer| offer.target).collect();
    let mut allowed = BTreeSet::new();
    for target in &all {
        match door.gate.admit_to(target, presented).await {
            // A token says the same of every target.
            Ok(_) if matches!(who, Principal::Subject { .. }) => return Ok(all),
            Ok(_) => {
                allowed.insert(target.clone());
            }
            Err(Refusal::Denied {
                challenge: None, ..
            }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(allowed)
}

/// Whatever is done with the request from here on, nobody needs these.
fn forget_proof(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    headers.remove(&KEY_HEADER);
}
