//! Reads a streamed body to its end, and passes on what it says as it says it.
//!
//! Never: a time-out for an answer that is not whole; the body has its own.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    assembly::{Assembler, Assembly, Frames},
    endpoint::Response,
    transport::Body,
};
use crate::runtime::{
    Fault,
    contract::Draft,
    stream::{Delta, TokenSink},
};

/// Longest streamed body, in bytes: each word comes with what all of them have in common.
pub(super) const BODY_MAX: usize = 16 * 1024 * 1024;

/// How long a body may take to end behind a whole answer, for its connection to be used again.
const END_WAIT: Duration = Duration::from_millis(250);

/// # Errors
/// The body broke or ended before the answer was whole, or it tells of a fault.
pub(super) async fn read<F: Frames, A: Assembler>(
    response: Response,
    assembly: Assembly<F, A>,
    tokens: &TokenSink,
) -> Result<Draft, Fault> {
    let wish = response.retry_after;
    let outcome = assembled(response.body, assembly, tokens).await;
    outcome.map_err(|fault| fault.not_before(wish))
}

async fn assembled<F: Frames, A: Assembler>(
    body: Body,
    mut assembly: Assembly<F, A>,
    tokens: &TokenSink,
) -> Result<Draft, Fault> {
    let mut body = body.up_to(BODY_MAX);
    let broke = loop {
        let chunk = if assembly.is_settled() {
            let ended = timeout(END_WAIT, body.chunk()).await;
            ended.unwrap_or(Ok(None))
        } else {
            body.chunk().await
        };
        match chunk {
            Ok(Some(chunk)) => pass(assembly.push(&chunk)?, tokens),
            Ok(None) => {
                pass(assembly.end()?, tokens);
                break None;
            }
            Err(fault) => break Some(fault),
        }
    };
    assembly.draft(broke)
}

fn pass(deltas: Vec<Delta>, tokens: &TokenSink) {
    deltas.into_iter().for_each(|delta| tokens.emit(delta));
}
