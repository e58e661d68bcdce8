//! Sessions: announces each opened session to the walk.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};

use crate::{
    broker::BrokerFault,
    clock::{Chance, WallTime},
    pipeline::{EpochWatch, Session},
    store::Epoch,
};

/// Between tries while the broker does not say what it knows of an epoch.
const AGAIN: Duration = Duration::from_millis(500);

/// Announces each session once `emptied` has said until when the store may lack records of requests
/// that have results, if it may: a claim made before that is known could buy an answer twice.
pub async fn announce(
    mut opened: mpsc::UnboundedReceiver<(Arc<Session>, Epoch)>,
    announced: watch::Sender<Option<Arc<Session>>>,
    epochs: EpochWatch,
    chance: Chance,
    emptied: impl AsyncFn(&Epoch) -> Result<Option<WallTime>, BrokerFault>,
) {
    while let Some((session, epoch)) = opened.recv().await {
        let until = loop {
            match emptied(&epoch).await {
                Ok(until) => break until,
                Err(fault) => {
                    tracing::warn!(%fault, "the store's epoch cannot be compared yet");
                    sleep(chance.around(AGAIN, 0.5)).await;
                }
            }
        };
        if let Some(until) = until {
            tracing::warn!(%until, "redis was emptied: results are looked for before work is done again");
            epochs.emptied_until(until);
        }
        tracing::info!(session = %session.id, "session opened");
        announced.send_replace(Some(session));
    }
}
