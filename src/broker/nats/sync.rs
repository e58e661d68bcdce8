//! Asks a server when it writes through to its disk.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use super::link::Link;
use crate::broker::SyncInterval;

/// Where servers report on their JetStream. Answered in the system account, and where that exports
/// the service and ours imports it.
const REPORTS: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// Nobody depends on the answer.
const WITHIN: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Report {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    sync_interval: u64,
    #[serde(default)]
    sync_always: bool,
}

/// What the first server that answers says of itself.
pub(super) async fn interval(link: &Link) -> SyncInterval {
    let body = Bytes::from_static(br#"{"config":true}"#);
    match link.request(REPORTS, None, body, WITHIN).await {
        Ok(answer) => read(&answer.payload),
        Err(_) => SyncInterval::Unknown,
    }
}

fn read(report: &[u8]) -> SyncInterval {
    match serde_json::from_slice::<Report>(report) {
        Ok(report) if report.data.config.sync_always => SyncInterval::Always,
        Ok(report) if report.data.config.sync_interval > 0 => {
            SyncInterval::Every(Duration::from_nanos(report.data.config.sync_interval))
        }
        Ok(_) | Err(_) => SyncInterval::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_the_interval_and_anything_else_tells_nothing() {
        let report = |config: &str| format!(r#"{{"server":{{}},"data":{{"config":{config}}}}}"#);
        let rows = [
            (
                report(r#"{"sync_interval":120000000000}"#),
                SyncInterval::Every(Duration::from_secs(120)),
            ),
            (
                report(r#"{"sync_interval":120000000000,"sync_always":true}"#),
                SyncInterval::Always,
            ),
            (report("{}"), SyncInterval::Unknown),
            ("hello".to_owned(), SyncInterval::Unknown),
        ];
        for (report, interval) in rows {
            assert_eq!(read(report.as_bytes()), interval, "{report}");
        }
    }
}
