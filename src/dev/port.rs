//! Ports that are free.
//!
//! A port that is free now may be taken a moment later: whoever starts a server on one must see
//! that it is *this* server which answers, and try another port if not.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
};

use super::{error::DevError, tool::Tool};
use crate::clock::Chance;

/// Free ports are drawn from here: below the range from which systems take the ports of outgoing
/// connections, so that no client that reconnects to a stopped server can sit on its port.
const LOWEST: u16 = 20_000;
/// How many ports are in the range that free ones are drawn from.
const RANGE: u16 = 12_000;
/// How many ports are tried before the machine is taken to have no free one.
const DRAWS: u32 = 64;

/// A TCP port on the loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(u16);

impl Port {
    /// Port `number`.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Its address on this machine.
    #[must_use]
    pub const fn address(self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.0)
    }

    /// Where `tool` usually listens.
    #[must_use]
    pub const fn usual(tool: Tool) -> Self {
        match tool {
            Tool::Nats => Self(4222),
            Tool::Redis => Self(6379),
        }
    }

    /// A port that is free at this moment, whatever is to listen there.
    ///
    /// # Errors
    ///
    /// [`DevError::NoPort`] when none was found.
    pub fn free(chance: &Chance) -> Result<Self, DevError> {
        (0..DRAWS)
            .map(|_| Self::draw(chance))
            .find(|port| port.is_free())
            .ok_or(DevError::NoPort { tries: DRAWS })
    }

    /// This port while it is free, else another one.
    ///
    /// # Errors
    ///
    /// [`DevError::NoPort`] when none was found.
    pub fn or_free(self, chance: &Chance) -> Result<Self, DevError> {
        if self.is_free() {
            return Ok(self);
        }
        Self::free(chance)
    }

    fn is_free(self) -> bool {
        TcpListener::bind(self.address()).is_ok()
    }

    fn draw(chance: &Chance) -> Self {
        let offset = chance.bits128() % u128::from(RANGE);
        Self(LOWEST + u16::try_from(offset).unwrap_or_default())
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which port a server shall listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// This one or none.
    Exactly(Port),
    /// The usual one if it is free, else any free one.
    Usual,
    /// Any free one, never the usual one.
    Free,
}

impl PortChoice {
    /// A port for `tool` that is free at this moment.
    ///
    /// # Errors
    ///
    /// [`DevError::PortTaken`] for an exact port that is in use, [`DevError::NoPort`] when no
    /// free one was found.
    pub fn pick(self, tool: Tool, chance: &Chance) -> Result<Port, DevError> {
        let usual = Port::usual(tool);
        match self {
            Self::Exactly(port) if port.is_free() => Ok(port),
            Self::Exactly(port) => Err(DevError::PortTaken { tool, port }),
            Self::Usual if usual.is_free() => Ok(usual),
            Self::Usual | Self::Free => Port::free(chance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_refused_when_asked_for_and_never_drawn() {
        let chance = Chance::seeded(7);
        let free = PortChoice::Free.pick(Tool::Nats, &chance).expect("free");
        let _taken = TcpListener::bind(free.address()).expect("bind");

        let exactly = PortChoice::Exactly(free).pick(Tool::Nats, &chance);
        assert!(matches!(exactly, Err(DevError::PortTaken { .. })));
        let again = PortChoice::Free.pick(Tool::Nats, &Chance::seeded(7));
        assert_ne!(again.expect("another"), free, "the same draw, but taken");
        assert_ne!(free.or_free(&chance).expect("another"), free);
    }
}
