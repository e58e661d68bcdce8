//! The users of NATS that the project ships, each with its name for a password.

use std::{fmt::Write as _, fs};

use async_nats::ConnectOptions;

/// The shipped configuration, complete.
pub(crate) fn shipped() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/nats-users.conf");
    let mut conf = String::new();
    // In a file of one's own a variable stands in for the environment.
    for user in ["system", "operator", "worker", "alice"] {
        let variable = user.to_uppercase();
        writeln!(conf, "PURUTO_NATS_{variable}_PASSWORD: \"{user}\"").expect("a string");
    }
    conf + &fs::read_to_string(path).expect("the shipped file")
}

/// The same, without what is quoted so.
pub(crate) fn shipped_without(subject: &str) -> String {
    let (quoted, shipped) = (format!("\"{subject}\""), shipped());
    assert!(
        shipped.contains(&quoted),
        "{subject} is not in the shipped file"
    );
    shipped.replace(&quoted, "\"nothing\"")
}

/// How one of them logs in, with a client that is not ours.
pub(crate) fn login(user: &str) -> ConnectOptions {
    ConnectOptions::with_user_and_password(user.into(), user.into())
        .custom_inbox_prefix(format!("_INBOX.{user}"))
}
