//! What goes into a program and what comes out of it, all at once.
//!
//! A program that does not read, or says much on one pipe while we wait on another, blocks nobody.

use futures_util::{FutureExt as _, future::try_join3};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStdin, ChildStdout},
};

use super::{config::OutputMax, fault::Fault};
use crate::handler::program::{self, Pipes};

/// Writes `request`, and gives everything that the program wrote once it has closed its pipes.
pub(super) async fn exchange(
    pipes: Pipes,
    request: &[u8],
    output_max: OutputMax,
) -> Result<Vec<u8>, Fault> {
    let fed = feed(pipes.stdin, request).map(Ok);
    let logged = program::log(pipes.stderr).map(Ok);
    let read = read(pipes.stdout, output_max);
    let ((), output, ()) = try_join3(fed, read, logged).await?;
    Ok(output)
}

/// Writes `request` and closes the pipe. A program may answer without having read it.
async fn feed(mut stdin: ChildStdin, request: &[u8]) {
    if let Err(error) = stdin.write_all(request).await {
        tracing::debug!(%error, "the program did not read its request");
    }
}

async fn read(stdout: ChildStdout, output_max: OutputMax) -> Result<Vec<u8>, Fault> {
    let limit = output_max.bytes();
    // One byte more tells too much from just enough.
    let bounded = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut output = Vec::new();
    let read = stdout.take(bounded).read_to_end(&mut output).await;
    match read.map_err(Fault::System)? {
        length if length > limit => Err(Fault::TooMuch(output_max)),
        _ => Ok(output),
    }
}
