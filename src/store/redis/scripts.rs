//! The scripts as the server knows them: by the hash of their text.

use std::sync::LazyLock;

/// One script; what it takes and answers stands in the head of its file.
#[derive(Debug)]
pub(super) struct Script {
    /// Names the operation in a fault.
    pub(super) name: &'static str,
    /// The prelude, what it shares with its like, and the script's own file.
    pub(super) source: &'static str,
    /// SHA-1 of the source, in hexadecimal digits.
    pub(super) hash: LazyLock<String>,
}

macro_rules! scripts {
    ($($constant:ident = $name:literal $(with $shared:literal)*),* $(,)?) => {
        $(pub(super) static $constant: Script = {
            const SOURCE: &str = concat!(
                include_str!("../scripts/prelude.lua"),
                $(include_str!(concat!("../scripts/", $shared, ".lua")),)*
                include_str!(concat!("../scripts/", $name, ".lua")),
            );
            Script {
                name: $name,
                source: SOURCE,
                hash: LazyLock::new(|| redis::Script::new(SOURCE).get_hash().to_owned()),
            }
        };)*

        /// Every script, to load them all.
        pub(super) static ALL: &[&Script] = &[$(&$constant),*];
    };
}

scripts! {
    ASK_VERDICT = "ask_verdict" with "kin" with "run" with "rest",
    CANCEL = "cancel" with "kin" with "run",
    CHECKPOINT = "checkpoint" with "kin" with "run",
    CHILD_ENDED = "child_ended" with "kin",
    CIRCUIT_ADMIT = "circuit_admit" with "circuit",
    CIRCUIT_REPORT = "circuit_report" with "circuit",
    CLAIM = "claim" with "kin",
    COMMIT = "commit" with "kin" with "run",
    CORRECT = "correct",
    DECIDE = "decide",
    DUE = "due" with "kin",
    EXECUTION_BEGIN = "execution_begin",
    EXECUTION_LIST = "execution_list",
    INTEND = "intend",
    LEAD = "lead",
    LET_GO = "let_go" with "kin" with "run" with "rest",
    NOTE_ROOT = "note_root",
    OUTBOX = "outbox",
    PARK = "park" with "kin" with "run",
    READ = "read" with "kin",
    RELEASE = "release",
    RESUME = "resume" with "kin" with "run",
    RUN_CREATE = "run_create" with "run",
    RUN_EVENTS = "run_events",
    RUN_READ = "run_read" with "kin",
    SESSION_ANSWERS = "session_answers",
    SESSION_CLOSE = "session_close",
    SESSION_EVICT = "session_evict",
    SESSION_HELD = "session_held",
    SESSION_OPEN = "session_open",
    SESSION_REGISTER = "session_register",
    SESSION_RENEW = "session_renew",
    SESSION_ROSTER = "session_roster",
    SETTLE = "settle",
    WAIT_READ = "wait_read",
}
