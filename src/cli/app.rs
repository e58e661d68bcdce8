//! The command line: which verbs there are, and what becomes of each.

use std::{ffi::OsString, future::Future};

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{
    approve::{self, DecideArgs},
    bench::{self, BenchArgs},
    cancel, chaos, check, completions, configuration, demo,
    dev::{self, DevArgs},
    dlq,
    doctor::{self, DoctorArgs},
    events,
    exit::{Exit, TABLE},
    failure::Failure,
    gateway::{self, GatewayArgs},
    gateway_key::{self, GatewayKeyArgs},
    health::{self, HealthArgs},
    invoke,
    listing::{self, ListArgs},
    logs, result, runs, schema,
    session::{GlobalArgs, World},
    status, tree, watch, why,
    worker::{self, WorkerArgs},
};

/// A message-queue driven worker fleet for AI agents, on NATS JetStream and Redis
#[derive(Debug, Parser)]
#[command(name = "puruto", version, after_help = TABLE, arg_required_else_help = true)]
pub(super) struct App {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask a Puruto for something and wait for the result
    #[command(after_help = TABLE)]
    Invoke(invoke::InvokeArgs),
    /// Follow the results of one chain as they come
    Watch(watch::WatchArgs),
    /// Tell where a request stands
    Status(status::StatusArgs),
    /// Print the result of a request
    #[command(after_help = TABLE)]
    Result(result::ResultArgs),
    /// Show what happened to a request, or follow it
    #[command(after_help = TABLE)]
    Events(events::EventsArgs),
    /// Show which request of a chain asked which, how each stands and what it spent
    Tree(tree::TreeArgs),
    /// Say in plain words why a request is not finished
    Why(why::WhyArgs),
    /// Begin, work on, show and cancel the runs of agents
    Run(runs::RunArgs),
    /// Let a request run that waits to be approved
    Approve(DecideArgs),
    /// Refuse a request that waits to be approved
    Reject(DecideArgs),
    /// Cancel a request with all that it asked, or a whole chain
    Cancel(cancel::CancelArgs),
    /// Look at the requests that died, and run them again
    Dlq(dlq::DlqArgs),
    /// List the workers that are there
    Workers(ListArgs),
    /// List what waits for each target, what is at work and how fast it goes
    Targets(ListArgs),
    /// Play with a fleet of its own, and tell whether every outcome is right
    Demo(demo::DemoArgs),
    /// Run the whole fleet on this machine: NATS, Redis, workers and a gateway
    Dev(DevArgs),
    /// Run one worker process
    Worker(WorkerArgs),
    /// Serve the fleet to whoever speaks HTTP: skills, other agents, and a page to watch it
    Gateway(GatewayArgs),
    /// Strike a fleet of its own with faults, and prove that nothing was lost
    Chaos(chaos::ChaosArgs),
    /// Tell whether the worker, or the gateway, on this machine serves
    #[command(after_help = TABLE)]
    Health(HealthArgs),
    /// Measure what an invocation costs on this machine
    Bench(BenchArgs),
    /// Make a key for a caller of the gateway
    GatewayKey(GatewayKeyArgs),
    /// Check every Puruto's folder and policy, and every skill
    Check(check::CheckArgs),
    /// Check the installation: servers, permissions, streams, clocks, workers
    Doctor(DoctorArgs),
    /// Print the configuration in force and where each value was given
    Config(configuration::ConfigArgs),
    /// Print the JSON Schema of a request, a result, an event or a piece of an answer
    Schema(schema::SchemaArgs),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
}

/// Runs the command in `args`, the program's name first; tells `world` what came of it.
pub fn run(args: impl IntoIterator<Item = OsString>, world: &mut World) -> Exit {
    let app = match App::try_parse_from(args) {
        Ok(app) => app,
        Err(error) => return usage(&error, world),
    };
    app.dispatch(world).unwrap_or_else(|failure| {
        if !failure.is_silent() {
            for line in failure.to_string().lines() {
                world.output.error(format_args!("puruto: {line}"));
            }
        }
        failure.exit()
    })
}

/// What clap says: help and version are answers, the rest are errors.
fn usage(error: &clap::Error, world: &World) -> Exit {
    let text = error.render();
    if error.use_stderr() {
        world.output.error(text.to_string().trim_end());
        return Exit::Usage;
    }
    // A reader that is gone needs no help.
    world.output.answer(text.to_string().trim_end()).ok();
    Exit::Ok
}

/// Why a verb with servers and workers of its own heeds no option of every verb.
const OWN_FLEET: &str = "it starts a fleet of its own and goes by no configuration of yours";
/// Why `dev` heeds none that names a server.
const OWN_SERVERS: &str =
    "it starts servers of its own; --nats-port and --redis-port say where they listen";
/// Why a verb that only prints heeds none.
const NO_CONFIGURATION: &str = "it goes by no configuration";

impl Verb {
    /// Refuses what is an option of every verb, but would be passed over by this one.
    fn refuse_unheeded(&self, global: &GlobalArgs) -> Result<(), Failure> {
        match self {
            Self::Demo(_) => global.refuse_all("demo", OWN_FLEET),
            Self::Chaos(_) => global.refuse_all("chaos", OWN_FLEET),
            Self::Bench(_) => global.refuse_all("bench", OWN_FLEET),
            Self::Dev(_) => global.refuse_servers("dev", OWN_SERVERS),
            Self::GatewayKey(_) => global.refuse_all("gateway-key", NO_CONFIGURATION),
            Self::Schema(_) => global.refuse_all("schema", NO_CONFIGURATION),
            Self::Completions(_) => global.refuse_all("completions", NO_CONFIGURATION),
            // They gather the configuration, which these options are part of.
            Self::Invoke(_)
            | Self::Watch(_)
            | Self::Status(_)
            | Self::Result(_)
            | Self::Events(_)
            | Self::Tree(_)
            | Self::Why(_)
            | Self::Run(_)
            | Self::Approve(_)
            | Self::Reject(_)
            | Self::Cancel(_)
            | Self::Dlq(_)
            | Self::Workers(_)
            | Self::Targets(_)
            | Self::Worker(_)
            | Self::Gateway(_)
            | Self::Health(_)
            | Self::Check(_)
            | Self::Doctor(_)
            | Self::Config(_) => Ok(()),
        }
    }
}

impl App {
    fn dispatch(self, world: &mut World) -> Result<Exit, Failure> {
        let Self { global, verb } = self;
        verb.refuse_unheeded(&global)?;
        match verb {
            Verb::Invoke(args) => {
                let invocation = args.prepare(&global, world)?;
                block_on(invoke::run(invocation, world))
            }
            Verb::Watch(args) => block_on(watch::run(&args, &global, world)),
            Verb::Status(args) => block_on(status::run(&args, &global, world)),
            Verb::Result(args) => block_on(result::run(&args, &global, world)),
            Verb::Events(args) => block_on(events::run(&args, &global, world)),
            Verb::Tree(args) => block_on(tree::run(&args, &global, world)),
            Verb::Run(args) => block_on(runs::run(args, &global, world)),
            Verb::Why(args) => block_on(why::run(&args, &global, world)),
            Verb::Approve(args) => block_on(approve::approve(&args, &global, world)),
            Verb::Reject(args) => block_on(approve::reject(&args, &global, world)),
            Verb::Cancel(args) => block_on(cancel::run(&args, &global, world)),
            Verb::Dlq(args) => block_on(dlq::run(&args, &global, world)),
            Verb::Workers(args) => block_on(listing::workers(&args, &global, world)),
            Verb::Targets(args) => block_on(listing::targets(&args, &global, world)),
            Verb::Demo(args) => block_on(async {
                let all_right = demo::run(&args, world).await?;
                Ok(if all_right { Exit::Ok } else { Exit::Error })
            }),
            Verb::Dev(args) => block_on(async {
                dev::run(&args, &global, world).await?;
                Ok(Exit::Ok)
            }),
            Verb::Worker(args) => {
                let gathered = global.gather(world, args.flags())?;
                let logs = logs::start(&gathered.config, world)?;
                let drained = worker::work(&gathered.config, &world.environment);
                logs.finish(world);
                drained?;
                Ok(Exit::Ok)
            }
            Verb::Gateway(args) => gateway::run(&args, &global, world),
            Verb::Chaos(args) => block_on(async {
                let holds = chaos::run(&args, world).await?;
                Ok(if holds { Exit::Ok } else { Exit::Error })
            }),
            Verb::Health(args) => block_on(health::run(&args, &global, world)),
            Verb::Bench(args) => {
                let report = block_on(async { Ok(bench::run(&args, world).await?) })?;
                world.output.raw(report.as_bytes())?;
                Ok(Exit::Ok)
            }
            Verb::GatewayKey(args) => gateway_key::run(&args, world),
            Verb::Check(args) => check::run(&args, &global, world),
            Verb::Doctor(args) => block_on(doctor::run(&args, &global, world)),
            Verb::Config(args) => configuration::run(&args, &global, world),
            Verb::Schema(args) => schema::run(&args, world),
            Verb::Completions(args) => completions::run(&args, Self::command(), world),
        }
    }
}

/// Runs a verb to its end, on one thread.
fn block_on<T>(verb: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(verb)
}
