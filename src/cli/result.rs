//! `puruto result`: the result of a request.

use clap::Args;

use super::{
    exit::Exit,
    failure::Failure,
    session::{GlobalArgs, World, connect, explain},
    show,
};
use crate::{
    contract::{PurutoName, RequestId},
    policy::PolicySet,
};

/// Flags of `puruto result`.
#[derive(Args, Debug)]
pub(super) struct ResultArgs {
    /// The request
    #[arg(value_name = "REQUEST_ID")]
    id: RequestId,
    /// Only the request of this target
    #[arg(long, value_name = "NAME")]
    target: Option<PurutoName>,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// Shows the result, if there is one.
pub(super) async fn run(
    args: &ResultArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let client = connect(world, &gathered, PolicySet::default()).await?;
    let found = client.result(&args.id, args.target.as_ref()).await;
    let Some(result) = found.map_err(|fault| explain(&gathered, fault))? else {
        world.output.error(format_args!(
            "puruto: {} has no result; `puruto status` tells where it stands",
            args.id
        ));
        return Ok(Exit::Error);
    };
    let reader = world.output.reader(args.json);
    show::result(&world.output, reader, None, &result)?;
    Ok(Exit::of(&result))
}
