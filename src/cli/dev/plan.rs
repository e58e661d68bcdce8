//! What is to be started, settled before anything is.
//!
//! Owns how flags, configuration and environment become a plan. Never: a process.

use std::{env, ffi::OsString, num::NonZeroU16, path::PathBuf, time::Duration};

use super::{DevArgs, DevFault, dashboard::WayIn, screen::Screen};
use crate::{
    broker::nats::LIBRARY_LOGS,
    cli::session::{GlobalArgs, World, workers_dir_flag},
    config::{Config, Environment, Gathered, Inputs, LogStyle, Source, gather},
    dev::{
        find::Places,
        guard::Guard,
        port::{Port, PortChoice},
        tool::Tool,
    },
};

/// What the fleet is started with.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) workers_dir: PathBuf,
    pub(super) workers: NonZeroU16,
    pub(super) data_dir: PathBuf,
    pub(super) nats_port: PortChoice,
    pub(super) redis_port: PortChoice,
    pub(super) gateway_port: Option<Port>,
    /// How long a worker takes at most to drain.
    pub(super) drain_timeout: Duration,
    /// What workers get on their command line beside ours.
    pub(super) arguments: Vec<OsString>,
    /// What workers get in their environment beside ours.
    pub(super) variables: Vec<(String, String)>,
    pub(super) way_in: WayIn,
    pub(super) places: Places,
    pub(super) guard: Guard,
}

impl Plan {
    /// What these flags ask for, with the configuration that the workers will have.
    ///
    /// # Errors
    ///
    /// Our own program cannot be named.
    pub(super) fn new(
        args: &DevArgs,
        global: &GlobalArgs,
        gathered: &Gathered,
        world: &World,
        screen: &Screen,
    ) -> Result<Self, DevFault> {
        let config = &gathered.config;
        let style = log_style(config, screen);
        Ok(Self {
            workers_dir: config.worker.workers_dir.clone(),
            workers: args.workers,
            data_dir: args.data_dir.clone(),
            nats_port: port(args.nats_port),
            redis_port: port(args.redis_port),
            gateway_port: args.gateway_port.map(Port::new),
            drain_timeout: config.worker.drain_timeout,
            arguments: global.for_workers(),
            variables: style.into_iter().chain(log_filter(gathered)).collect(),
            way_in: WayIn::new(config, &world.chance),
            places: places(&world.environment),
            guard: Guard::new(env::current_exe()?),
        })
    }
}

fn port(asked: Option<u16>) -> PortChoice {
    match asked {
        Some(number) => PortChoice::Exactly(Port::new(number)),
        None => PortChoice::Usual,
    }
}

/// A worker writes into a pipe, but who reads it is in front of our screen.
fn log_style(config: &Config, screen: &Screen) -> Option<(String, String)> {
    let style = match config.log.format {
        LogStyle::Auto if screen.is_coloured() => "pretty",
        LogStyle::Auto => "plain",
        // As somebody asked for.
        LogStyle::Json | LogStyle::Plain | LogStyle::Pretty => return None,
    };
    Some(("PURUTO_LOG__FORMAT".to_owned(), style.to_owned()))
}

/// What the client library of NATS logs, the fleet tells as well: only whoever asks sees it twice.
fn log_filter(gathered: &Gathered) -> Option<(String, String)> {
    let source = gathered.effective.source_of("log", "filter");
    let nobody_asked = source == Some(&Source::Default);
    let filter = || format!("info,{LIBRARY_LOGS}=off");
    nobody_asked.then(|| ("PURUTO_LOG__FILTER".to_owned(), filter()))
}

/// The configuration that the workers will have.
pub(super) fn configuration(
    args: &DevArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Gathered, DevFault> {
    let mut flags = global.flags();
    flags.extend(workers_dir_flag(args.workers_dir.as_deref()));
    // Our own servers are not up yet. That some are named keeps out what a `puruto dev` that was
    // killed has left in this folder.
    let ours = [("NATS_URL", Port::usual(Tool::Nats).address().to_string())];
    let named = world
        .environment
        .iter()
        .map(|(name, value)| (name, value.to_owned()));
    let gathered = gather(&Inputs {
        folder: &world.folder,
        file: global.config.as_deref(),
        environment: &named.chain(ours).collect(),
        flags: &flags,
    });
    gathered.map_err(DevFault::Config)
}

/// Where programs are sought, as the environment says.
pub(in crate::cli) fn places(environment: &Environment) -> Places {
    let named = |tool: Tool| environment.get(tool.variable()).map(PathBuf::from);
    Places {
        nats_server: named(Tool::Nats),
        redis_server: named(Tool::Redis),
        search_path: environment
            .get("PATH")
            .map(OsString::from)
            .unwrap_or_default(),
        tool_folder: Places::TOOL_FOLDER.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Flag;

    fn filter(environment: &[(&str, &str)], flags: &[Flag]) -> Option<String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let gathered = gather(&Inputs {
            folder: Path::new("nowhere"),
            file: None,
            environment: &environment.iter().map(owned).collect(),
            flags,
        });
        log_filter(&gathered.expect("a configuration")).map(|(_, filter)| filter)
    }

    #[test]
    fn the_client_library_is_heard_only_by_whoever_chose_what_is_logged() {
        let flag = Flag {
            flag: "--set".to_owned(),
            key: "log.filter".to_owned(),
            value: "debug".to_owned(),
        };
        assert_eq!(filter(&[], &[]).as_deref(), Some("info,async_nats=off"));
        assert_eq!(filter(&[("PURUTO_LOG__FILTER", "info")], &[]), None);
        assert_eq!(filter(&[], &[flag]), None);
    }
}
