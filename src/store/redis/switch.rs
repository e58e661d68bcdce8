//! Notices that another server is the master now.
//!
//! A master that was cut off from its Sentinels, or frozen, is not closed to us: what is written
//! there is lost, and calls to it only time out. So the Sentinels are asked while all seems well.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{super::StoreFault, link::Shared, sentinel::Sentinels};

/// How often they are asked.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Gives up the connection whenever it leads to a server that is no longer the master.
pub(super) async fn watch(shared: Arc<Shared>, sentinels: Arc<Sentinels>) {
    loop {
        sleep(ASK_EVERY).await;
        let Some(up) = shared.up() else { continue };
        // Silent Sentinels are no reason to leave a server that answers.
        let Ok(master) = sentinels.master().await else {
            continue;
        };
        let master = master.addr().to_string();
        if *up.address != *master {
            let reason = format!("the master is now at {master}");
            shared.give_up(&up, StoreFault::Unready { reason });
        }
    }
}
