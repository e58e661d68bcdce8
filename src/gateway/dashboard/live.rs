//! The overview of the fleet: read once a second at most, for all who watch together, and not at
//! all while nobody does.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{feed::Feed, overview::Reader};
use crate::inspect::Onlooker;

/// Between two readings.
const READ_EVERY: Duration = Duration::from_secs(1);

/// How old the last reading may be for whoever comes new.
const FRESH: Duration = Duration::from_secs(3);

/// How long whoever comes new waits for a reading.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// A part of the overview, or why it could not be read.
pub(super) type Part = Result<Value, String>;

/// What there is to see at a glance, each part by itself.
#[derive(Clone, Debug)]
pub(super) struct Overview {
    pub(super) targets: Part,
    pub(super) workers: Part,
    pub(super) servers: Part,
    pub(super) letters: Part,
    pub(super) requests: Part,
}

impl Overview {
    /// Each part with its name.
    pub(super) fn parts(&self) -> [(&'static str, &Part); 5] {
        [
            ("targets", &self.targets),
            ("workers", &self.workers),
            ("servers", &self.servers),
            ("letters", &self.letters),
            ("requests", &self.requests),
        ]
    }
}

/// The latest overview, and when it was read; none before the first.
pub(super) type Latest = Option<(Instant, Arc<Overview>)>;

/// Reads the overview for whoever watches.
#[derive(Debug)]
pub(super) struct Live {
    latest: watch::Sender<Latest>,
    wanted: Notify,
}

impl Live {
    /// Begins to read for whoever will watch, until `stop`.
    pub(super) fn start(onlooker: Onlooker, feed: Arc<Feed>, stop: CancellationToken) -> Arc<Self> {
        let live = Arc::new(Self {
            latest: watch::Sender::new(None),
            wanted: Notify::new(),
        });
        let reading = Arc::clone(&live);
        tokio::spawn(async move {
            let read = reading.read(Reader::new(onlooker, feed));
            stop.run_until_cancelled(read).await;
        });
        live
    }

    /// Watches; what is there already may be old.
    pub(super) fn watch(&self) -> watch::Receiver<Latest> {
        let watching = self.latest.subscribe();
        self.wanted.notify_one();
        watching
    }

    /// One overview of now; none where it cannot be had in time.
    pub(super) async fn overview(&self) -> Option<Arc<Overview>> {
        let mut watching = self.watch();
        let is_fresh =
            |latest: &Latest| latest.as_ref().is_some_and(|(at, _)| at.elapsed() < FRESH);
        let fresh = timeout(READ_WITHIN, watching.wait_for(is_fresh)).await;
        let latest = fresh.ok()?.ok()?;
        latest.as_ref().map(|(_, overview)| Arc::clone(overview))
    }

    async fn read(&self, mut reader: Reader) {
        loop {
            if self.latest.receiver_count() == 0 {
                self.wanted.notified().await;
            }
            let overview = Arc::new(reader.read().await);
            self.latest.send_replace(Some((Instant::now(), overview)));
            sleep(READ_EVERY).await;
        }
    }
}
