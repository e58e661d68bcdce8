//! The two versions of the protocol that are spoken, and what each calls the same thing.

use axum::http::{HeaderMap, HeaderName};

use super::rpc::{RpcCode, RpcError};

/// The header in which a client says which version it speaks.
const HEADER: HeaderName = HeaderName::from_static("a2a-version");

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V03,
    V10,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Send,
    Stream,
    Get,
    Cancel,
    Subscribe,
    List,
    Push,
    ExtendedCard,
}

const METHODS: &[(&str, Version, Method)] = &[
    ("message/send", Version::V03, Method::Send),
    ("message/stream", Version::V03, Method::Stream),
    ("tasks/get", Version::V03, Method::Get),
    ("tasks/cancel", Version::V03, Method::Cancel),
    ("tasks/resubscribe", Version::V03, Method::Subscribe),
    (
        "tasks/pushNotificationConfig/set",
        Version::V03,
        Method::Push,
    ),
    (
        "tasks/pushNotificationConfig/get",
        Version::V03,
        Method::Push,
    ),
    (
        "tasks/pushNotificationConfig/list",
        Version::V03,
        Method::Push,
    ),
    (
        "tasks/pushNotificationConfig/delete",
        Version::V03,
        Method::Push,
    ),
    (
        "agent/getAuthenticatedExtendedCard",
        Version::V03,
        Method::ExtendedCard,
    ),
    ("SendMessage", Version::V10, Method::Send),
    ("SendStreamingMessage", Version::V10, Method::Stream),
    ("GetTask", Version::V10, Method::Get),
    ("CancelTask", Version::V10, Method::Cancel),
    ("SubscribeToTask", Version::V10, Method::Subscribe),
    ("ListTasks", Version::V10, Method::List),
    (
        "CreateTaskPushNotificationConfig",
        Version::V10,
        Method::Push,
    ),
    ("GetTaskPushNotificationConfig", Version::V10, Method::Push),
    (
        "ListTaskPushNotificationConfigs",
        Version::V10,
        Method::Push,
    ),
    (
        "DeleteTaskPushNotificationConfig",
        Version::V10,
        Method::Push,
    ),
    ("GetExtendedAgentCard", Version::V10, Method::ExtendedCard),
];

impl Method {
    /// The method of this name, and the version that calls it so.
    pub(super) fn named(name: &str) -> Option<(Version, Self)> {
        let mut all = METHODS.iter();
        let (_, version, method) = all.find(|(known, _, _)| *known == name)?;
        Some((*version, *method))
    }
}

/// Whether a client that sends `headers` speaks a version of ours. Which one its methods' names say:
/// clients of both send the header of the newer.
pub(super) fn spoken(headers: &HeaderMap) -> Result<(), RpcError> {
    let Some(value) = headers.get(HEADER) else {
        return Ok(());
    };
    let told = value.to_str().unwrap_or_default().trim();
    let mut numbers = told.split('.');
    match (numbers.next(), numbers.next()) {
        (Some("" | "1"), None) | (Some("0"), Some("3")) | (Some("1"), Some(_)) => Ok(()),
        _ => Err(RpcError::new(
            RpcCode::Version,
            "this version is not spoken here: use 1.0 or 0.3",
        )),
    }
}
