//! `puruto schema`: the JSON Schema of what travels.

use clap::{Args, ValueEnum};

use super::{exit::Exit, failure::Failure, session::World};
use crate::contract::{event_schema, request_schema, result_schema, token_schema};

/// Flags of `puruto schema`.
#[derive(Args, Debug)]
pub(super) struct SchemaArgs {
    /// Of what
    of: Of,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    /// What a caller publishes
    Request,
    /// What it gets
    Result,
    /// What it hears of an answer that is being written
    Token,
    /// What is told of a request while it is worked on
    Event,
}

/// Shows the schema.
pub(super) fn run(args: &SchemaArgs, world: &World) -> Result<Exit, Failure> {
    let schema = match args.of {
        Of::Request => request_schema(),
        Of::Result => result_schema(),
        Of::Token => token_schema(),
        Of::Event => event_schema(),
    };
    world
        .output
        .answer(format_args!("{:#}", schema.to_value()))?;
    Ok(Exit::Ok)
}
