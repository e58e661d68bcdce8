//! `puruto health`: whether the worker, or the gateway, on this machine serves.
//!
//! Asks its own port, so that a container's health check needs no other program. Never:
//! NATS or Redis; how it gets on with them is for it to say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use clap::Args;

use super::{exit::Exit, failure::Failure, session::GlobalArgs, session::World};
use crate::{config::Offered, dev::probe};

/// Flags of `puruto health`.
#[derive(Args, Debug)]
pub(super) struct HealthArgs {
    /// Ask the gateway instead of the worker
    #[arg(long)]
    gateway: bool,
}

/// Prints what the process says about its readiness.
pub(super) async fn run(
    args: &HealthArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let config = &gathered.config;
    let (role, telemetry) = if args.gateway {
        ("gateway", config.gateway.telemetry)
    } else {
        ("worker", config.worker.telemetry)
    };
    let Offered::At(served) = telemetry else {
        let what = format!("{role}.telemetry is off: there is nobody to ask");
        return Err(Failure::Usage(what));
    };
    let address = reachable(served);
    match probe::ask(address, "/readyz").await {
        Ok((status, body)) => {
            world.output.answer(body)?;
            Ok(if status == 200 { Exit::Ok } else { Exit::Error })
        }
        Err(error) => {
            let source = gathered.effective.source_of(role, "telemetry");
            Err(Failure::NotServing {
                what: format!("no {role} answers at {address}: {error}"),
                source_of: source.map_or_else(String::new, ToString::to_string),
                key: format!("{role}.telemetry"),
            })
        }
    }
}

/// Where a process on this machine reaches what is served at `served`.
fn reachable(served: SocketAddr) -> SocketAddr {
    let ip = match served.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, served.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_everywhere_is_asked_on_this_machine() {
        for (served, asked) in [
            ("0.0.0.0:9464", "127.0.0.1:9464"),
            ("[::]:9464", "[::1]:9464"),
            ("10.0.0.7:80", "10.0.0.7:80"),
        ] {
            let served = served.parse().expect("an address");
            assert_eq!(reachable(served).to_string(), asked);
        }
    }
}
