//! What the workers told of their walks, read from their logs; and whether a secret stands there.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use serde::Deserialize;

use super::{
    history::{CancelTold, ClaimId, Digest, Event, Kid, Origin, WorkerId},
    recorder::Recorder,
};
use crate::{
    clock::WallTime,
    contract::{PurutoName, RequestId, Step},
};

/// The filter under which a worker tells of its walks.
pub(super) const FILTER: &str = "info,puruto_fleet::pipeline::trail=debug";

/// Where such a line comes from.
const TRAIL: &str = "puruto_fleet::pipeline::trail";

#[derive(Deserialize)]
struct Line {
    timestamp: String,
    target: String,
    message: String,
    request_id: Option<RequestId>,
    nonce: Option<ClaimId>,
    digest: Option<Digest>,
    granted_ms: Option<u64>,
    attempt: Option<u32>,
    own: Option<bool>,
    parent: Option<RequestId>,
    root: Option<RequestId>,
    hop: Option<u8>,
    above: Option<String>,
    puruto: Option<PurutoName>,
    step: Option<Step>,
    join: Option<u16>,
    bytes: Option<u64>,
    children: Option<String>,
    wakes: Option<bool>,
    done: Option<bool>,
}

/// Adds to the history what `worker` logged at `log`.
///
/// # Errors
/// It cannot be read.
pub(super) fn read(
    worker: &WorkerId,
    log: &Path,
    secret: &str,
    recorder: &Recorder,
) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(log)?).split(b'\n');
    while let Some(line) = lines.next().transpose()? {
        let line = String::from_utf8_lossy(&line);
        if line.contains(secret) {
            let place = format!("the log of {worker}");
            recorder.note(Event::Leaked { place });
        }
        // The last line of one that was killed may be cut short.
        if let Ok(line) = serde_json::from_str::<Line>(&line)
            && line.target == TRAIL
            && let Some(at) = WallTime::parse_rfc3339(&line.timestamp)
            && let Some(event) = line.event(worker, recorder)
        {
            recorder.note_at(recorder.at_wall(at), event);
        }
    }
    Ok(())
}

impl Line {
    fn event(self, worker: &WorkerId, recorder: &Recorder) -> Option<Event> {
        let worker = worker.clone();
        let request = self.request_id.clone()?;
        let event = match self.message.as_str() {
            "claimed" => Event::Claimed {
                worker,
                request,
                claim: self.nonce?,
                granted: recorder.at_wall(WallTime::from_unix_millis(self.granted_ms?)),
                attempt: self.attempt?,
            },
            "started" => Event::Started {
                worker,
                request,
                claim: self.nonce.clone()?,
                origin: self.origin().map(Box::new),
            },
            "committing" => Event::Committing {
                worker,
                request,
                claim: self.nonce?,
            },
            "committed" => Event::Committed {
                worker,
                request,
                claim: self.nonce?,
                digest: self.digest?,
            },
            "refused" => Event::Refused {
                worker,
                request,
                claim: self.nonce?,
            },
            "publishing" => Event::Publishing {
                worker,
                request,
                digest: self.digest?,
            },
            "published" => Event::Published {
                worker,
                request,
                own: self.own?,
            },
            "acked" => Event::Acked { worker, request },
            _ => return self.delegation(worker, request),
        };
        Some(event)
    }

    /// What is told of requests that ask others.
    fn delegation(self, worker: WorkerId, request: RequestId) -> Option<Event> {
        let event = match self.message.as_str() {
            "parked" => Event::Parked {
                worker,
                request,
                claim: self.nonce?,
                target: self.puruto?,
                step: self.step?,
                join: self.join?,
                bytes: self.bytes?,
                children: kids(&self.children?)?,
            },
            "let go" => Event::LetGo {
                worker,
                request,
                claim: self.nonce?,
            },
            "child ended" => Event::ChildEnded {
                worker,
                request,
                parent: self.parent?,
                wakes: self.wakes?,
            },
            "resumed" => Event::Resumed {
                worker,
                request,
                claim: self.nonce?,
                step: self.step?,
            },
            "unwanted" => Event::Unwanted {
                worker,
                request,
                told: if self.done? {
                    CancelTold::AlreadyDone
                } else {
                    CancelTold::Flagged
                },
            },
            _ => return None,
        };
        Some(event)
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin {
            parent: self.parent.clone()?,
            root: self.root.clone()?,
            hop: self.hop?,
            above: self.above.clone()?,
        })
    }
}

fn kids(written: &str) -> Option<Vec<Kid>> {
    written.split(' ').map(|kid| kid.parse().ok()).collect()
}
