//! `[redis]`: the lease store.

use std::time::Duration;

use crate::{
    config::{
        section::section,
        value::{RedisPrefix, Secret, Whole},
    },
    store::redis::RedisUrl,
};

section! {
    /// The lease store.
    RedisConfig in "redis" {
        /// Where the server is, or the Sentinels that know.
        url: RedisUrl = "redis://127.0.0.1:6379",
        /// The user to log in to the Sentinels as, where they ask for one.
        sentinel_user: Option<String> = "",
        /// The password for the Sentinels; that of the servers stands in `url`.
        sentinel_password: Option<Secret> = "",
        /// What every key begins with.
        prefix: RedisPrefix = "puruto",
        /// Over how many partitions records are spread; fixed for the life of a data set.
        partitions: Whole<1, 256> = "16",
        /// How long to wait for a connection.
        connect_timeout: Duration = "5s",
        /// How long to wait for the answer to one script.
        response_timeout: Duration = "2s",
        /// How long the record of a done request is kept, so that the same request is recognised.
        retention: Duration = "72h",
        /// After how long without a renewal a worker's claims are free for others.
        session_ttl: Duration = "15s",
        /// How often a worker renews its session.
        session_renew: Duration = "3750ms",
        /// How long before its session could end a worker that cannot renew stops working.
        session_margin: Duration = "3s",
    }
}
