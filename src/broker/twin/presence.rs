//! Who answers pings, and who only seems not to.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    super::{Pong, Presence},
    BrokerTwin, Shared,
};
use crate::store::SessionId;

/// Who listens, and since when the connections are up.
pub(super) struct Attendance {
    listening: HashSet<SessionId>,
    /// They listen but do not answer, as a stopped process.
    stopped: HashSet<SessionId>,
    connected: Instant,
}

impl Default for Attendance {
    fn default() -> Self {
        Self {
            listening: HashSet::new(),
            stopped: HashSet::new(),
            connected: Instant::now(),
        }
    }
}

/// Ends the listening when it is dropped, as a connection's end does.
struct Listening {
    shared: Arc<Shared>,
    session: SessionId,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let attendance = &mut self.shared.state().attendance;
        attendance.listening.remove(&self.session);
    }
}

/// What a test commands.
impl BrokerTwin {
    /// Every connection breaks and is made anew, now.
    pub fn reconnect(&self) {
        self.change(|state| state.attendance.connected = Instant::now());
    }

    /// Whoever answers for `session` keeps its connection but says nothing any more.
    pub fn stop_answering(&self, session: &SessionId) {
        self.change(|state| state.attendance.stopped.insert(session.clone()));
    }
}

impl Presence for BrokerTwin {
    async fn answer_pings(&self, session: &SessionId) {
        self.change(|state| state.attendance.listening.insert(session.clone()));
        let _listening = Listening {
            shared: Arc::clone(&self.shared),
            session: session.clone(),
        };
        std::future::pending::<()>().await;
    }

    async fn ping(&self, session: &SessionId, bound: Duration) -> Pong {
        let pong = {
            let attendance = &self.shared.state().attendance;
            match attendance.listening.contains(session) {
                false => Pong::NoResponders,
                true if attendance.stopped.contains(session) => Pong::Silent,
                true => Pong::Answered,
            }
        };
        if pong == Pong::Silent {
            tokio::time::sleep(bound).await;
        }
        pong
    }

    fn stable_for(&self) -> Duration {
        self.shared.state().attendance.connected.elapsed()
    }
}
