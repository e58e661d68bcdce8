//! Why a command did not come to an answer: one line for a person, one exit code.

use std::io;

use super::{
    bench::BenchFault, demo::DemoFault, dev::DevFault, exit::Exit, gateway::GatewayFault,
    worker::WorkerFault,
};
use crate::{
    broker::BrokerFault, chaos::ChaosFault, client::ClientFault, config::Mistakes,
    store::StoreFault,
};

/// Why a command did not come to an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The configuration has mistakes.
    #[error("{0}")]
    Config(#[from] Mistakes),
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The fleet gave no answer.
    #[error(transparent)]
    Client(ClientFault),
    /// A server cannot be reached, and where its address came from.
    #[error("{what} (address from {source_of}); is it running? `puruto dev` starts one here")]
    NoConnection {
        /// Which, and why.
        what: String,
        /// Who gave the address.
        source_of: String,
    },
    /// The process that was asked about does not answer at its own port.
    #[error(
        "{what} (address from {source_of}); is it running? those of `puruto dev` have other addresses, which .puruto/dev.env lists: name one with --set {key}=ADDRESS:PORT"
    )]
    NotServing {
        /// Which, and why.
        what: String,
        /// Who gave the address.
        source_of: String,
        /// The key that names it.
        key: String,
    },
    /// What was named is not there.
    #[error("{0}")]
    NotThere(String),
    /// No result within the time that was given.
    #[error("{0}")]
    Timeout(String),
    /// The worker could not start or stop.
    #[error(transparent)]
    Worker(#[from] WorkerFault),
    /// The gateway could not start or stop.
    #[error(transparent)]
    Gateway(#[from] GatewayFault),
    /// The fleet on this machine could not run, or had to end by itself.
    #[error(transparent)]
    Dev(#[from] DevFault),
    /// The measurement did not end.
    #[error(transparent)]
    Bench(#[from] BenchFault),
    /// The faults did not come to a verdict.
    #[error(transparent)]
    Chaos(#[from] ChaosFault),
    /// The demo cannot be shown, or not to its end.
    #[error(transparent)]
    Demo(#[from] DemoFault),
    /// Logs or traces cannot be set up.
    #[error("{0}")]
    Telemetry(String),
    /// Standard input or output failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Failure {
    /// How the command ends.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Config(_) | Self::Usage(_) | Self::Telemetry(_) => Exit::Usage,
            Self::Client(fault) => exit_of(fault),
            Self::NoConnection { .. } | Self::NotServing { .. } => Exit::NoConnection,
            Self::Timeout(_) => Exit::Timeout,
            Self::Dev(fault) if fault.is_usage() => Exit::Usage,
            Self::Demo(fault) if fault.is_usage() => Exit::Usage,
            Self::NotThere(_)
            | Self::Dev(_)
            | Self::Demo(_)
            | Self::Worker(_)
            | Self::Gateway(_)
            | Self::Bench(_)
            | Self::Chaos(_) => Exit::Error,
            // Whoever read our output has what it wanted.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Ok,
            Self::Io(_) => Exit::Error,
        }
    }

    /// Whether there is somebody to tell.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

const fn exit_of(fault: &ClientFault) -> Exit {
    match fault {
        ClientFault::PromptTooLong { .. }
        | ClientFault::OtherGoal { .. }
        | ClientFault::TargetUnknown { .. }
        | ClientFault::Ambiguous { .. }
        | ClientFault::Broker(BrokerFault::TooLarge { .. }) => Exit::Usage,
        ClientFault::Broker(BrokerFault::Unreachable { .. } | BrokerFault::TimedOut { .. })
        | ClientFault::Store(
            StoreFault::Unreachable { .. }
            | StoreFault::TimedOut { .. }
            | StoreFault::Unready { .. },
        ) => Exit::NoConnection,
        ClientFault::Broker(
            BrokerFault::Refused { .. } | BrokerFault::Denied { .. } | BrokerFault::Unsuitable(_),
        )
        | ClientFault::Store(StoreFault::Nonsense { .. } | StoreFault::Unsuitable(_))
        | ClientFault::Unreadable { .. }
        | ClientFault::NoDeadLetter(_)
        | ClientFault::NotQueued { .. }
        | ClientFault::ChainUnknown { .. } => Exit::Error,
    }
}

/// Which server a fault says cannot be reached: the section of its address.
pub(super) const fn unreachable_section(fault: &ClientFault) -> Option<&'static str> {
    match fault {
        ClientFault::Broker(BrokerFault::Unreachable { .. }) => Some("nats"),
        ClientFault::Store(StoreFault::Unreachable { .. }) => Some("redis"),
        ClientFault::PromptTooLong { .. }
        | ClientFault::Broker(_)
        | ClientFault::Store(_)
        | ClientFault::Unreadable { .. }
        | ClientFault::NoDeadLetter(_)
        | ClientFault::NotQueued { .. }
        | ClientFault::ChainUnknown { .. }
        | ClientFault::OtherGoal { .. }
        | ClientFault::TargetUnknown { .. }
        | ClientFault::Ambiguous { .. } => None,
    }
}
