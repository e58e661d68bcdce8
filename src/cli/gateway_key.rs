//! `puruto gateway-key`: a new key for a caller of the gateway.

use std::io;

use clap::Args;

use super::{exit::Exit, failure::Failure, session::World};
use crate::gateway::auth::keys::{KeyName, Minted, Patterns};

/// Flags of `puruto gateway-key`.
#[derive(Args, Debug)]
pub(super) struct GatewayKeyArgs {
    /// What its holder is called
    name: KeyName,
    /// A skill that it may invoke, or the beginning of several with a star; may be repeated
    #[arg(long = "skill", value_name = "PATTERN", default_value = "*")]
    skills: Vec<String>,
    /// A target that it may ask without a skill, in the same way
    #[arg(long = "target", value_name = "PATTERN")]
    targets: Vec<String>,
}

/// Prints the entry of the file of keys, and beside it, this once, the key: so the first can be
/// appended to the file while the second is read.
pub(super) fn run(args: &GatewayKeyArgs, world: &World) -> Result<Exit, Failure> {
    for patterns in [&args.skills, &args.targets] {
        let read = Patterns::read(patterns.iter().map(String::as_str));
        read.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let key = Minted::new().map_err(io::Error::other)?;
    let entry = key.entry(&args.name, &args.skills, &args.targets);
    world.output.answer(entry)?;
    let told = "the key, shown only now; add its entry to the gateway's keys_file:";
    world.output.error(format_args!("{told}\n{}", key.expose()));
    Ok(Exit::Ok)
}
