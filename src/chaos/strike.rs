//! Strikes: carries the schedule out on the fleet, and says when each fault began and ended.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep_until, timeout},
};

use super::{
    asks::CLERK,
    fleet::Fleet,
    history::Event,
    raw::Raw,
    recorder::Recorder,
    run::ChaosFault,
    schedule::{Fault, Place, Planned, Side},
};
use crate::{
    clock::WRONG_CLOCK,
    contract::{Lane, Subjects},
    dev::{port::Port, server::Server},
    handler::crash::{CRASH_AT, CRASH_EXIT_CODE},
};

/// How long Redis may take to forget everything.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);

/// A clock so wrong that every time-out of a run would be over, or far away.
const FAST: &str = "+10m";
/// The other way.
const SLOW: &str = "-10m";

/// What a fault that has begun needs to be ended.
struct Begun {
    number: usize,
    until: Instant,
    fault: Fault,
    /// Where it struck.
    place: Option<Place>,
}

/// Carries out `planned`, in its order; ends when every fault has ended.
///
/// # Errors
/// Something that was killed cannot be started again.
pub(super) async fn run(
    fleet: &mut Fleet,
    planned: &[Planned],
    recorder: &Recorder,
) -> Result<(), ChaosFault> {
    let began = Instant::now();
    let mut strikes = Strikes { fleet, recorder };
    let mut open: Vec<Begun> = Vec::new();
    for (number, next) in planned.iter().enumerate() {
        let at = began + next.at;
        strikes.end_all_until(&mut open, Some(at)).await?;
        sleep_until(at).await;
        let place = strikes.begin(number, next.fault).await?;
        open.push(Begun {
            number,
            until: Instant::now() + next.lasts,
            fault: next.fault,
            place,
        });
    }
    strikes.end_all_until(&mut open, None).await
}

struct Strikes<'f> {
    fleet: &'f mut Fleet,
    recorder: &'f Recorder,
}

impl Strikes<'_> {
    /// Ends, in their order, the faults that end until then; all of them without a limit.
    async fn end_all_until(
        &mut self,
        open: &mut Vec<Begun>,
        limit: Option<Instant>,
    ) -> Result<(), ChaosFault> {
        open.sort_by_key(|it| std::cmp::Reverse(it.until));
        while let Some(begun) = open.pop_if(|it| limit.is_none_or(|limit| it.until <= limit)) {
            sleep_until(begun.until).await;
            self.end(&begun).await?;
            let number = begun.number;
            self.recorder.note(Event::FaultEnded { number });
        }
        Ok(())
    }

    /// Begins a fault; where it struck, where that is a worker.
    async fn begin(&mut self, number: usize, fault: Fault) -> Result<Option<Place>, ChaosFault> {
        let place = match fault {
            Fault::KillWorker { place }
            | Fault::DieAt { place, .. }
            | Fault::WrongClock { place, .. }
            | Fault::PauseWorker { place, .. }
            | Fault::Partition { place, .. } => Some(place),
            // Whoever it is; the first one while nobody is.
            Fault::KillSupervisor => Some(self.fleet.supervisor().await.unwrap_or(Place(0))),
            Fault::KillServer { .. }
            | Fault::PauseServer { .. }
            | Fault::EmptyRedis
            | Fault::Hostile { .. } => None,
        };
        let worker = place.and_then(|it| self.fleet.occupant(it)).cloned();
        self.recorder.note(Event::FaultBegan {
            number,
            fault,
            worker,
        });
        self.strike(fault, place).await?;
        Ok(place)
    }

    async fn strike(&mut self, fault: Fault, place: Option<Place>) -> Result<(), ChaosFault> {
        match (fault, place) {
            (Fault::KillWorker { .. } | Fault::KillSupervisor, Some(place)) => {
                Ok(self.fleet.kill(place).await?)
            }
            (Fault::WrongClock { fast, .. }, Some(place)) => {
                self.fleet.kill(place).await?;
                let wrong = if fast { FAST } else { SLOW };
                self.fleet.launch_with(place, &[(WRONG_CLOCK, wrong)]).await
            }
            (Fault::DieAt { point, .. }, Some(place)) => {
                self.fleet.kill(place).await?;
                let joint = [(CRASH_AT, point.name())];
                self.fleet.launch_with(place, &joint).await
            }
            (Fault::PauseWorker { .. }, Some(place)) => Ok(self.fleet.pause(place)?),
            (Fault::Partition { from, trouble, .. }, Some(place)) => {
                self.fleet.trouble(place, from, Some(trouble));
                Ok(())
            }
            (Fault::KillServer { server }, _) => Ok(self.server(server).kill().await?),
            (Fault::PauseServer { server }, _) => Ok(self.server(server).pause()?),
            (Fault::EmptyRedis, _) => {
                // It may be answered late and is then carried out all the same.
                let emptied = empty(self.fleet.servers.redis.port());
                drop(timeout(EMPTY_WITHIN, emptied).await);
                Ok(())
            }
            (Fault::Hostile { message }, _) => {
                self.send(message).await;
                Ok(())
            }
            // Those have a place.
            (
                Fault::KillWorker { .. }
                | Fault::KillSupervisor
                | Fault::DieAt { .. }
                | Fault::WrongClock { .. }
                | Fault::PauseWorker { .. }
                | Fault::Partition { .. },
                None,
            ) => Ok(()),
        }
    }

    async fn end(&mut self, begun: &Begun) -> Result<(), ChaosFault> {
        match (begun.fault, begun.place) {
            (Fault::KillWorker { .. } | Fault::KillSupervisor, Some(place)) => {
                self.fleet.launch(place).await
            }
            (Fault::DieAt { point, .. }, Some(place)) => {
                if let Some((worker, ended)) = self.fleet.end(place).await?
                    && ended.code() == Some(i32::from(CRASH_EXIT_CODE))
                {
                    self.recorder.note(Event::DiedAt { worker, point });
                }
                self.fleet.launch(place).await
            }
            (Fault::PauseWorker { .. }, Some(place)) => Ok(self.fleet.resume(place)?),
            (Fault::Partition { from, .. }, Some(place)) => {
                self.fleet.trouble(place, from, None);
                Ok(())
            }
            (Fault::KillServer { server }, _) => Ok(self.server(server).restart().await?),
            (Fault::PauseServer { server }, _) => Ok(self.server(server).resume()?),
            (
                Fault::EmptyRedis
                | Fault::Hostile { .. }
                | Fault::KillWorker { .. }
                | Fault::KillSupervisor
                | Fault::DieAt { .. }
                | Fault::WrongClock { .. }
                | Fault::PauseWorker { .. }
                | Fault::Partition { .. },
                _,
            ) => Ok(()),
        }
    }

    fn server(&mut self, side: Side) -> &mut Server {
        match side {
            Side::Nats => &mut self.fleet.servers.nats,
            Side::Redis => &mut self.fleet.servers.redis,
        }
    }

    /// One that was not stored was not sent.
    async fn send(&self, message: super::schedule::Hostile) {
        let Ok(target) = CLERK.parse() else { return };
        let subject = Subjects::default().invoke(&target, Lane::Normal);
        let port = self.fleet.servers.nats.port();
        let sent = async { Raw::connect(port).await?.publish(&subject, message).await };
        if let Ok(sequence) = sent.await {
            self.recorder
                .note(Event::HostileStored { sequence, message });
        }
    }
}

async fn empty(redis: Port) -> io::Result<()> {
    let mut stream = TcpStream::connect(redis.address()).await?;
    stream.write_all(b"FLUSHALL\r\n").await?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await?;
    Ok(())
}
