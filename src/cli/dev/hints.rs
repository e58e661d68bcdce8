//! What a person can do with the running fleet, in a few lines.

use std::{env, time::Duration};

use crate::{
    config::{DEV_ENV, Environment},
    contract::PurutoName,
    dev::port::Port,
    puruto::{Actions, Fleet, Puruto},
};

/// Where the fleet is.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    pub(super) nats: String,
    pub(super) redis: String,
    pub(super) gateway: Option<Port>,
    pub(super) telemetry: Vec<Port>,
}

impl Addresses {
    /// Where each worker, and the gateway, shows its metrics.
    pub(super) fn metrics(&self) -> Vec<String> {
        let url = |port: &Port| format!("http://{}/metrics", port.address());
        self.telemetry.iter().map(url).collect()
    }
}

/// The lines, for a fleet that was up after that time.
pub(super) fn of(
    addresses: &Addresses,
    purutos: &Fleet,
    environment: &Environment,
    after: Duration,
) -> Vec<String> {
    let mut lines = vec![
        format!("ready after {after:.1?}; Ctrl-C ends it. In another terminal, in this folder:"),
        format!("  {} {}", program(), verb(purutos)),
        format!("  nats --server {} sub 'puruto.result.>'", addresses.nats),
    ];
    let gateway = addresses.gateway.iter();
    lines.extend(
        gateway.map(|port| format!("  curl http://{}/.well-known/skill-sharing", port.address())),
    );
    let metrics = addresses.metrics().into_iter();
    lines.extend(metrics.map(|url| format!("  curl {url}")));
    let named = [
        "NATS_URL",
        "REDIS_URL",
        "PURUTO_NATS__URL",
        "PURUTO_REDIS__URL",
    ];
    if let Some(name) = named.iter().find(|name| environment.get(name).is_some()) {
        lines.push(format!(
            "{name} is set here: where it is set, other commands follow it and not {DEV_ENV}"
        ));
    }
    lines
}

/// How this program was called: that is how it can be called again.
pub(in crate::cli) fn program() -> String {
    let called = env::args_os().next().unwrap_or_default();
    called.into_string().unwrap_or_else(|_| "puruto".to_owned())
}

/// A request that the fleet answers.
fn verb(purutos: &Fleet) -> String {
    let documented = "puruto-financial".parse().ok();
    let documented = documented.and_then(|name: PurutoName| purutos.get(&name));
    if documented.is_some() {
        return "invoke puruto-financial pay_invoice \"Paga la factura #123\"".to_owned();
    }
    match purutos.targets().next() {
        Some(target) => format!("invoke {} {} \"...\"", target.name, action(target)),
        None => "check".to_owned(),
    }
}

fn action(target: &Puruto) -> String {
    match target.worker.as_ref().map(|worker| &worker.actions) {
        Some(Actions::Only(actions)) => actions.keys().next().map(ToString::to_string),
        Some(Actions::Every) | None => None,
    }
    .unwrap_or_else(|| "ask".to_owned())
}
