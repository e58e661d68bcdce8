//! The lives of one connection: it is made anew again and again, and whoever uses it hears of it.
//!
//! Never: the making.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_nats::{Client, connection::State};
use tokio::{sync::watch, time::Instant};

/// A connection as it is now. A new life begins with each reconnect and each rebuild.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) client: Client,
    pub(super) life: u64,
    /// When this life began.
    born: Instant,
    /// For how long there was no connection before; zero for the first life.
    pub(super) gap: Duration,
}

impl Wire {
    /// For how long it has been up without a break; zero while it is down.
    pub(super) fn stable_for(&self) -> Duration {
        match self.client.connection_state() {
            State::Connected => self.born.elapsed(),
            State::Pending | State::Disconnected => Duration::ZERO,
        }
    }
}

#[derive(Debug)]
pub(super) struct Lives {
    wire: watch::Sender<Arc<Wire>>,
    /// When the connection broke, until it is made anew.
    broke: Mutex<Option<Instant>>,
}

impl Lives {
    /// The first one.
    pub(super) fn begin(client: Client) -> Self {
        let wire = Wire {
            client,
            life: 0,
            born: Instant::now(),
            gap: Duration::ZERO,
        };
        Self {
            wire: watch::Sender::new(Arc::new(wire)),
            broke: Mutex::new(None),
        }
    }

    /// The connection as it is now.
    pub(super) fn wire(&self) -> Arc<Wire> {
        Arc::clone(&self.wire.borrow())
    }

    /// Hears of each new life.
    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Wire>> {
        self.wire.subscribe()
    }

    /// The connection broke.
    pub(super) fn broke(&self) {
        let mut broke = self.broke.lock().unwrap_or_else(PoisonError::into_inner);
        broke.get_or_insert_with(Instant::now);
    }

    /// The connection was made anew.
    pub(super) fn next(&self, client: Client) {
        let broke = self.broke.lock();
        let broke = broke.unwrap_or_else(PoisonError::into_inner).take();
        let born = Instant::now();
        self.wire.send_modify(|wire| {
            *wire = Arc::new(Wire {
                client,
                life: wire.life + 1,
                born,
                gap: born - broke.unwrap_or(born),
            });
        });
    }
}
