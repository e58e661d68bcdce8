//! What is asked of the fleet, as messages.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    errand::{Errand, Foreseen},
    history::Expected,
};
use crate::{
    broker::Headers,
    clock::WallTime,
    contract::{CorrelationId, ErrorCode, Header, Lane, PurutoName, RequestId},
};

/// Who asks; its policy lets it ask all targets for [`ACTION`].
pub(super) const CALLER: &str = "puruto-chaos";
/// A scripted model answers.
pub(super) const CLERK: &str = "chaos-clerk";
/// Our own stub of a model answers.
pub(super) const SCRIBE: &str = "chaos-scribe";
/// A program answers.
pub(super) const TOOL: &str = "chaos-tool";
/// A program asks others, as it is told in its prompt.
pub(super) const RELAY: &str = "chaos-relay";
/// Another one.
pub(super) const MIRROR: &str = "chaos-mirror";
/// An agent asks others, as its script says.
pub(super) const PLANNER: &str = "chaos-planner";
/// Nobody answers.
pub(super) const NOBODY: &str = "chaos-nobody";
/// What may be asked for.
pub(super) const ACTION: &str = "do";

/// What is odd about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twist {
    /// Nothing.
    None,
    /// It is cancelled so long after it was accepted.
    Cancelled(Duration),
    /// It is published a second time so long after.
    Twice(Duration),
    /// Another payload is published under its id so long after.
    Contradicted(Duration),
    /// It claims an origin that it does not have; so does a message under the id of its first
    /// child, so long after.
    Forged(Duration),
    /// The policy says no.
    Forbidden,
    /// It breaks the contract.
    Broken,
    /// Its deadline had passed before it was sent.
    Expired,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) request: RequestId,
    pub(super) correlation: CorrelationId,
    pub(super) errand: Errand,
    pub(super) lane: Lane,
    pub(super) timeout: Duration,
    pub(super) twist: Twist,
}

impl Ask {
    pub(super) const fn target(&self) -> &PurutoName {
        &self.errand.target
    }

    /// How it has to end.
    pub(super) fn expected(&self) -> Expected {
        match self.twist {
            _ if self.target().as_str() == NOBODY => Expected::Refused(ErrorCode::TargetNotFound),
            Twist::Forbidden => Expected::Refused(ErrorCode::Denied),
            Twist::Broken => Expected::Refused(ErrorCode::IpcError),
            Twist::Expired => Expected::Refused(ErrorCode::Timeout),
            Twist::None
            | Twist::Cancelled(_)
            | Twist::Twice(_)
            | Twist::Contradicted(_)
            | Twist::Forged(_) => self.errand.expected(),
        }
    }

    /// Who will be asked because of it.
    pub(super) fn foresee(&self) -> Vec<Foreseen> {
        match self.expected() {
            Expected::Done => self.errand.foresee(&self.request),
            Expected::Refused(_) => Vec::new(),
        }
    }

    /// How long it may take.
    pub(super) fn within(&self) -> Duration {
        match self.twist {
            Twist::Expired => Duration::ZERO,
            _ => self.timeout,
        }
    }

    /// The message of its first publish.
    pub(super) fn message(&self, now: WallTime) -> (Headers, Vec<u8>) {
        let mut headers = Headers::new();
        headers.push(Header::MessageId, self.request.as_str());
        if self.twist == Twist::Expired {
            headers.push(Header::Deadline, &now.to_string());
        }
        if matches!(self.twist, Twist::Forged(_)) {
            forge(&mut headers);
        }
        (headers, self.body(&self.prompt()))
    }

    /// A message under the id of its first child, from a caller, with an origin that is made up.
    pub(super) fn forged_child(&self) -> Option<ForgedChild> {
        let (request, errand) = self.errand.children(&self.request).next()?;
        let mut headers = Headers::new();
        forge(&mut headers);
        let body = json!({
            "request_id": request, "correlation_id": self.correlation, "caller": CALLER,
            "target": errand.target, "action": ACTION, "prompt": errand.prompt(&request), "hop": 0,
        });
        Some(ForgedChild {
            target: errand.target.clone(),
            request,
            headers,
            body: body.to_string().into_bytes(),
        })
    }

    /// The message of its second publish, which the broker must not take for the first.
    pub(super) fn again(&self) -> Vec<u8> {
        match self.twist {
            Twist::Contradicted(_) => self.body(&format!("{} and more", self.prompt())),
            _ => self.body(&self.prompt()),
        }
    }

    fn prompt(&self) -> String {
        self.errand.prompt(&self.request)
    }

    fn body(&self, prompt: &str) -> Vec<u8> {
        let action = match self.twist {
            Twist::Forbidden => "destroy",
            _ => ACTION,
        };
        let mut body = json!({
            "request_id": self.request, "correlation_id": self.correlation, "caller": CALLER,
            "target": self.target(), "action": action, "prompt": prompt,
            "timeout_sec": self.timeout.as_secs(),
        });
        if let (Twist::Broken, Some(fields)) = (self.twist, body.as_object_mut()) {
            fields.insert("hop".to_owned(), Value::from(-1));
        }
        if let (Twist::Forged(_), Some(fields)) = (self.twist, body.as_object_mut()) {
            // As a program reads what came of its delegations; and a root that is nobody's.
            let over = json!([{"step": 0, "children": []}]);
            fields.insert("delegated".to_owned(), over);
            fields.insert("root".to_owned(), json!("chaos-nobody/forged"));
        }
        body.to_string().into_bytes()
    }
}

/// A message that claims to be somebody's child.
#[derive(Clone, Debug)]
pub(super) struct ForgedChild {
    pub(super) target: PurutoName,
    pub(super) request: RequestId,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
}

fn forge(headers: &mut Headers) {
    headers.push(Header::Parent, "chaos-nobody/forged");
    headers.push(Header::Ancestry, "chaos-nobody/do > chaos-nobody/do");
}

/// A request that nobody drew: what it does, and what is odd about it.
pub(super) fn ask(name: &str, errand: Errand, timeout: Duration, twist: Twist) -> Ask {
    Ask {
        request: id(name.to_owned()),
        correlation: id(format!("c-{name}")),
        errand,
        lane: Lane::Normal,
        timeout,
        twist,
    }
}

pub(super) fn id<T: std::str::FromStr<Err = crate::contract::InvalidId>>(text: String) -> T {
    text.parse().expect("letters and digits are an id")
}
