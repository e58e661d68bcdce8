//! One call of a script, packed as it is built.

use std::{fmt::Display, fmt::Write as _, time::Duration};

use redis::Cmd;

use super::{super::RequestKey, keys::Keys, scripts::Script};

/// A rough length of a key and its short arguments, in bytes, to pack without growing.
const ITEM_BYTES: usize = 512;

/// A script with its keys and arguments. All keys come before the first argument.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) script: &'static Script,
    pub(super) command: Cmd,
    /// Where texts are printed before they are packed.
    scratch: String,
}

impl Call {
    /// A call of `script` on `keys` keys, whose payloads have `payload` bytes altogether.
    pub(super) fn new(script: &'static Script, keys: usize, payload: usize) -> Self {
        let mut command = Cmd::with_capacity(3 + keys * 7, 64 + keys * ITEM_BYTES + payload);
        command.arg("EVALSHA").arg(script.hash.as_bytes()).arg(keys);
        Self {
            script,
            command,
            scratch: String::new(),
        }
    }

    pub(super) fn record(&mut self, keys: &Keys, key: &RequestKey) -> &mut Self {
        keys.write_record(&mut self.scratch, key);
        self.command.arg(self.scratch.as_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.command.arg(bytes);
        self
    }

    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        self.scratch.clear();
        // Writing to a string cannot fail.
        let _infallible = write!(self.scratch, "{text}");
        self.command.arg(self.scratch.as_bytes());
        self
    }

    pub(super) fn millis(&mut self, duration: Duration) -> &mut Self {
        self.text(duration.as_millis())
    }
}
