//! `[nats]`: the broker.

use std::{path::PathBuf, time::Duration};

use crate::{
    config::{
        address::NatsUrls,
        section::section,
        value::{InboxName, Secret, Storage, Whole},
    },
    contract::Subjects,
};

section! {
    /// The broker.
    NatsConfig in "nats" {
        /// Where the servers are; several are separated by commas.
        url: NatsUrls = "nats://127.0.0.1:4222",
        /// A credentials file (`.creds`) to log in with.
        credentials: Option<PathBuf> = "",
        /// The user to log in as.
        user: Option<String> = "",
        /// The password of that user.
        password: Option<Secret> = "",
        /// A token to log in with.
        token: Option<Secret> = "",
        /// A name behind `_INBOX.` for the answers to this process, so that users who may hear no
        /// other keep them to themselves.
        inbox: Option<InboxName> = "",
        /// What every subject begins with; streams are named after it in upper case.
        prefix: Subjects = "puruto",
        /// How many servers keep each stream; 3 survives the loss of one.
        replicas: Whole<1, 5> = "1",
        /// Where streams are kept: `file` survives a restart of the server, `memory` does not.
        storage: Storage = "file",
        /// How many requests may wait in one lane of one target; a publish beyond that is refused.
        backlog: Whole<1, 100_000_000> = "1000000",
        /// How long results can be read.
        results_max_age: Duration = "72h",
        /// After how long without a word from its worker a request is delivered to another.
        ack_wait: Duration = "15s",
    }
}
