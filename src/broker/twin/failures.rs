//! Which calls of the twin fail, and how.

/// Which call is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`super::super::Broker::publish_result`].
    PublishResult,
    /// [`super::super::Broker::read_result`].
    ReadResult,
    /// [`super::super::Broker::ack`].
    Ack,
    /// [`super::super::Asking::publish_request`].
    PublishRequest,
    /// [`super::super::Stored`], each of its calls.
    Stored,
    /// [`super::super::DeadLetters::bury`].
    Bury,
}

/// Whether a call that times out was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailAt {
    /// It never arrived.
    BeforeEffect,
    /// It was carried out; only its answer is lost.
    AfterEffect,
}
