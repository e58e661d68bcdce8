//! `[client]`: a caller.

use std::time::Duration;

use crate::{config::section::section, contract::PurutoName};

section! {
    /// A caller.
    ClientConfig in "client" {
        /// Who asks when neither `--caller` nor a `.puruto-ipc.json` in the working folder says.
        caller: PurutoName = "puruto-cli",
        /// How long beyond its deadline a result is waited for: it has to travel too.
        grace: Duration = "3s",
        /// How often a result that has not arrived is looked for in the stream.
        read_back_interval: Duration = "5s",
    }
}
