//! One local server: started on a port, known to be up, stopped, killed, restarted on its data.
//!
//! Owns the child process and its log file. The data folder is the caller's, and stays.

use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use tokio::time::{sleep, timeout};

use super::{
    error::DevError,
    guard::Guard,
    nats,
    port::{Port, PortChoice},
    process::Process,
    redis::{self, Fsync},
    run::last_lines,
    tool::Tool,
};
use crate::clock::Chance;

/// How long a server may take from its start to its first answer.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// How often a starting server is asked.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// How long one such question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long a server may take to end after SIGTERM before it is killed.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// How many ports are tried when others take the drawn one first.
const PORT_TRIES: u32 = 5;
/// How many lines of its log a server's failure shows.
const LAST_WORDS: usize = 10;

/// What to start, and where.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which server it is.
    pub tool: Tool,
    /// Its program, as [`super::obtain`] gives it.
    pub program: PathBuf,
    /// The folder of its data and its log; made when missing.
    pub data: PathBuf,
    /// A configuration file of its own; what stands here goes before it.
    pub settings: Option<PathBuf>,
    /// How it has what it wrote put on the disk, where it is Redis.
    pub fsync: Fsync,
    /// Where it shall listen.
    pub port: PortChoice,
    /// Lets it not outlive us.
    pub guard: Guard,
}

/// A local server that answered when it was started; dropping it kills it.
#[derive(Debug)]
pub struct Server {
    launch: Launch,
    /// Tells our server from a stranger on the same port.
    name: String,
    port: Port,
    process: Process,
}

impl Server {
    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`DevError::NotReady`] with its last words when it does not come up; the others when its
    /// folder, its port or its process cannot be had.
    pub async fn start(launch: Launch, chance: &Chance) -> Result<Self, DevError> {
        fs::create_dir_all(&launch.data).map_err(DevError::file(&launch.data))?;
        let name = format!("puruto-{:032x}", chance.bits128());
        let mut tries = 1;
        loop {
            let port = launch.port.pick(launch.tool, chance)?;
            match up(&launch, &name, port).await {
                Ok(process) => {
                    return Ok(Self {
                        launch,
                        name,
                        port,
                        process,
                    });
                }
                // Somebody else may have taken the port since it was picked.
                Err(DevError::NotReady { .. }) if tries < PORT_TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Where clients connect: `nats://127.0.0.1:4222`, `redis://127.0.0.1:6379`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = match self.launch.tool {
            Tool::Nats => "nats",
            Tool::Redis => "redis",
        };
        format!("{scheme}://{}", self.port.address())
    }

    /// Where it listens, also after a restart.
    #[must_use]
    pub const fn port(&self) -> Port {
        self.port
    }

    /// Its process id; `None` while it is stopped.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// The file it logs to.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.launch.log()
    }

    /// Waits until it has ended, which it does not do by itself unless something is wrong.
    ///
    /// # Errors
    ///
    /// [`DevError::Process`] when the system cannot tell.
    pub async fn ended(&mut self) -> Result<(), DevError> {
        let ended = self.process.wait().await;
        ended.map(drop).map_err(self.failed())
    }

    /// Lets it end in good order, and kills it when that takes too long.
    ///
    /// # Errors
    ///
    /// [`DevError::Process`] when it cannot be signalled or waited for.
    pub async fn stop(&mut self) -> Result<(), DevError> {
        let ended = self.process.stop(STOP_WITHIN).await;
        ended.map(drop).map_err(self.failed())
    }

    /// Ends it at once, as a crash would.
    ///
    /// # Errors
    ///
    /// [`DevError::Process`] when it cannot be signalled or waited for.
    pub async fn kill(&mut self) -> Result<(), DevError> {
        let ended = self.process.kill().await;
        ended.map(drop).map_err(self.failed())
    }

    /// Starts it again on the same port and data; stops it first where it runs.
    ///
    /// # Errors
    ///
    /// As [`Server::start`] and [`Server::stop`].
    pub async fn restart(&mut self) -> Result<(), DevError> {
        self.stop().await?;
        self.process = up(&self.launch, &self.name, self.port).await?;
        Ok(())
    }

    /// Freezes it with its connections open, as a stalled machine would.
    ///
    /// # Errors
    ///
    /// [`DevError::Process`] when it cannot be signalled.
    pub fn pause(&self) -> Result<(), DevError> {
        self.process.pause().map_err(self.failed())
    }

    /// Lets it go on after [`Server::pause`].
    ///
    /// # Errors
    ///
    /// [`DevError::Process`] when it cannot be signalled.
    pub fn resume(&self) -> Result<(), DevError> {
        self.process.resume().map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> DevError {
        DevError::process(self.launch.tool)
    }
}

impl Launch {
    fn log(&self) -> PathBuf {
        self.data.join(format!("{}.log", self.tool))
    }

    fn open_log(&self) -> Result<File, DevError> {
        let log = self.log();
        let mut options = OpenOptions::new();
        let opened = options.create(true).append(true).open(&log);
        opened.map_err(DevError::file(log))
    }

    fn last_words(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&log), LAST_WORDS)
    }
}

/// Starts the server on `port` and waits until it, and no other, answers there.
async fn up(launch: &Launch, name: &str, port: Port) -> Result<Process, DevError> {
    let mut process = spawn(launch, name, port).await?;
    let why = match timeout(READY_WITHIN, ready(&mut process, launch, name, port)).await {
        Ok(Ok(())) => return Ok(process),
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {READY_WITHIN:?}"),
    };
    Err(DevError::NotReady {
        tool: launch.tool,
        port,
        why,
        log: launch.last_words(),
    })
}

async fn spawn(launch: &Launch, name: &str, port: Port) -> Result<Process, DevError> {
    let log = launch.open_log()?;
    let errors = log.try_clone().map_err(DevError::file(launch.log()))?;
    let mut command = launch.guard.command(&launch.program);
    match launch.tool {
        Tool::Nats => nats::add_arguments(&mut command, launch, port, name),
        Tool::Redis => redis::add_arguments(&mut command, launch, port),
    }
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    let spawned = Process::spawn(command).await;
    spawned.map_err(DevError::process(launch.tool))
}

/// Returns when the server answers; with a reason when it has ended.
async fn ready(
    process: &mut Process,
    launch: &Launch,
    name: &str,
    port: Port,
) -> Result<(), String> {
    loop {
        let ended = process.ended().map_err(|error| error.to_string())?;
        if let Some(status) = ended {
            return Err(format!("it ended with {status}"));
        }
        if is_up(process, launch.tool, name, port).await {
            return Ok(());
        }
        sleep(ASK_EVERY).await;
    }
}

async fn is_up(process: &Process, tool: Tool, name: &str, port: Port) -> bool {
    let Some(pid) = process.pid() else {
        return false;
    };
    let answer = async {
        match tool {
            Tool::Nats => nats::answers(port, name).await,
            Tool::Redis => redis::answers(port, pid).await,
        }
    };
    matches!(timeout(ANSWER_WITHIN, answer).await, Ok(Ok(true)))
}
