//! Looks at a request and at whatever it waits for.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::facts::{Ahead, Ending, Facts, Stands};
use crate::{
    client::{ClientFault, Queued, Sought, Standing, Status},
    clock::WallTime,
    contract::{Deadline, ErrorCode, Header, InvocationResult, Outcome, PurutoName, RequestId},
    inspect::{Onlooker, Server, circuits_of, reports},
    policy::PolicySet,
    puruto::Fleet,
    store::{
        RequestKey, Waits as _,
        kin::{Child, WaitsOn},
    },
};

/// Requests that lie before one, of which so many are counted.
const AHEAD_MAX: u64 = 1_000;

/// Children that are looked at, of each request ...
const CHILDREN_MAX: usize = 8;

/// ... and how deep.
const DEPTH_MAX: usize = 16;

/// Looks at requests, by the workers that were there when it began.
#[derive(Debug)]
pub struct Looking<'o> {
    onlooker: &'o Onlooker,
    workers: Vec<Worker>,
    purutos: Option<Fleet>,
    policies: PolicySet,
}

/// A worker that is alive: its targets and what its session is called.
#[derive(Debug)]
struct Worker {
    name: String,
    session: Option<String>,
    targets: Vec<String>,
}

impl<'o> Looking<'o> {
    /// Sees who is there.
    ///
    /// # Errors
    /// There is no connection to the broker.
    pub async fn begin(onlooker: &'o Onlooker) -> Result<Self, ClientFault> {
        let reports = reports(&onlooker.nats, &onlooker.subjects).await?;
        let workers = reports.into_iter().filter_map(|endpoints| {
            let report = endpoints.first()?.1.clone();
            Some(Worker {
                name: report.worker,
                session: report.session,
                targets: endpoints.into_iter().map(|(target, _)| target).collect(),
            })
        });
        Ok(Self {
            workers: workers.collect(),
            // Where the workers folder is elsewhere, nothing is said of models.
            purutos: Fleet::load(&onlooker.workers_dir).ok(),
            policies: PolicySet::load(&onlooker.workers_dir).0,
            onlooker,
        })
    }

    /// What is found of the one request with this id, of one target or of all.
    ///
    /// # Errors
    /// Broker or store did not answer, no such request is known, or several targets have one.
    pub async fn why(
        &self,
        id: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Facts, ClientFault> {
        let client = &self.onlooker.client;
        let request = id.clone();
        let found = client.status(id, target).await?;
        let mut targets: Vec<_> = found.into_iter().filter_map(|it| it.target).collect();
        if targets.is_empty() {
            let queued = client.queued(Sought::Request(id), target).await?;
            targets.extend(queued.into_iter().map(|it| it.target));
            targets.dedup();
        }
        let target = match (targets.pop(), targets.is_empty(), target) {
            (Some(only), true, _) => only,
            (Some(last), false, _) => {
                targets.push(last);
                return Err(ClientFault::Ambiguous { request, targets });
            }
            (None, _, Some(named)) => named.clone(),
            (None, _, None) => return Err(ClientFault::NotQueued { request }),
        };
        self.at(RequestKey { target, request }, None, 0).await
    }

    /// What is found of it; `child` is how its parent knows it, if it has one.
    fn at<'a>(
        &'a self,
        key: RequestKey,
        child: Option<&'a Child>,
        depth: usize,
    ) -> BoxFuture<'a, Result<Facts, ClientFault>> {
        Box::pin(async move {
            let RequestKey { target, request } = &key;
            let found = self.onlooker.client.status(request, Some(target)).await?;
            let status = found.into_iter().next();
            let is_done = status
                .as_ref()
                .is_some_and(|it| matches!(it.standing, Standing::Done(_)));
            let queued = if is_done {
                None
            } else {
                let sought = Sought::Request(request);
                let queued = self.onlooker.client.queued(sought, Some(target)).await?;
                queued.into_iter().next()
            };
            let now = self.onlooker.clock.now();
            let deadline = child.map(|it| it.deadline);
            let deadline = deadline.or_else(|| queued.as_ref().map(|it| self.deadline_of(it)));
            let servers = if is_done {
                Vec::new()
            } else {
                self.servers_of(target).await
            };
            Ok(Facts {
                stands: self.stands(&key, status, queued.as_ref(), depth).await?,
                left: deadline.map(|it| it.left(now)),
                servers,
                key,
            })
        })
    }

    async fn stands(
        &self,
        key: &RequestKey,
        status: Option<Status>,
        queued: Option<&Queued>,
        depth: usize,
    ) -> Result<Stands, ClientFault> {
        let workers = self.workers_of(&key.target);
        let Some(status) = status else {
            return match queued {
                Some(queued) => self.queued(queued, workers).await,
                None => Ok(Stands::Unknown),
            };
        };
        Ok(match status.standing {
            Standing::Done(result) => Stands::Done(ending(result)),
            Standing::Intended => match queued {
                Some(queued) => self.queued(queued, workers).await?,
                None => Stands::GivenBack { workers },
            },
            Standing::Flagged
            | Standing::Claimed {
                cancelled: true, ..
            }
            | Standing::Waiting {
                cancelled: true, ..
            } => Stands::Cancelling,
            Standing::Claimed {
                owner_alive: true,
                owner,
                ..
            } => Stands::Running {
                worker: self.named(owner.as_str()),
                since: status.age.unwrap_or_default(),
                attempt: status.attempts.unwrap_or(1),
            },
            Standing::Claimed { .. } => Stands::Orphaned { workers },
            Standing::Released => Stands::GivenBack { workers },
            Standing::Waiting {
                on: WaitsOn::Verdict,
                ..
            } => Stands::AwaitingVerdict,
            Standing::Waiting {
                on: WaitsOn::Children,
                ..
            } => self.waiting(key, depth).await?,
        })
    }

    async fn queued(&self, queued: &Queued, workers: usize) -> Result<Stands, ClientFault> {
        let Queued { target, lane, .. } = queued;
        let delivered = self.onlooker.nats.delivered_up_to(target, *lane).await?;
        let ahead = match delivered {
            None => Ahead::NoLane,
            Some(delivered) if delivered >= queued.message.sequence => Ahead::Delivered,
            Some(delivered) => {
                let counted = self.onlooker.client.ahead_of(queued, delivered, AHEAD_MAX);
                match counted.await? {
                    AHEAD_MAX => Ahead::AtLeast(AHEAD_MAX),
                    ahead => Ahead::Exactly(ahead),
                }
            }
        };
        Ok(Stands::Queued {
            lane: *lane,
            ahead,
            workers,
        })
    }

    async fn waiting(&self, key: &RequestKey, depth: usize) -> Result<Stands, ClientFault> {
        let wait = self.onlooker.store.wait(key).await?;
        let Some(wait) = wait else {
            return Ok(Stands::GivenBack {
                workers: self.workers_of(&key.target),
            });
        };
        let unfinished: Vec<_> = wait.running().collect();
        let looked_at = if depth < DEPTH_MAX { CHILDREN_MAX } else { 0 };
        let mut running = Vec::new();
        for child in unfinished.iter().take(looked_at) {
            running.push(self.at(child.key.clone(), Some(child), depth + 1).await?);
        }
        Ok(Stands::Waiting {
            wanted: wait.join,
            ended: wait.children.len() - unfinished.len(),
            more: unfinished.len() - running.len(),
            running,
        })
    }

    fn workers_of(&self, target: &PurutoName) -> usize {
        let serves = |worker: &&Worker| worker.targets.iter().any(|it| it == target.as_str());
        self.workers.iter().filter(serves).count()
    }

    /// The worker that has this session.
    fn named(&self, session: &str) -> Option<String> {
        let has = |worker: &&Worker| worker.session.as_deref() == Some(session);
        self.workers.iter().find(has).map(|it| it.name.clone())
    }

    fn deadline_of(&self, queued: &Queued) -> Deadline {
        let request = &queued.request;
        let own = request.timeout_sec.map(|it| it.duration());
        let timeout: Duration =
            own.unwrap_or_else(|| self.policies.default_timeout(&request.caller));
        let headers = queued.message.headers.as_ref().ok();
        let cut = headers.and_then(|it| it.get(Header::Deadline));
        let cut = cut.and_then(WallTime::parse_rfc3339);
        Deadline::of(queued.message.stored_at, timeout, cut)
    }

    /// The servers of a target's models that have trouble, as far as the fleet shares that.
    async fn servers_of(&self, target: &PurutoName) -> Vec<Server> {
        let puruto = self.purutos.as_ref().and_then(|it| it.get(target));
        let Some(spec) = puruto.and_then(|it| it.worker.as_ref()) else {
            return Vec::new();
        };
        let mut troubled = Vec::new();
        for circuit in circuits_of(spec, &self.onlooker.environment) {
            // A store that does not say is no reason to say nothing of the rest.
            if let Ok(Some(trouble)) = self.onlooker.trouble(&circuit).await {
                let name = circuit.as_str().to_owned();
                troubled.push(Server { name, trouble });
            }
        }
        troubled
    }
}

fn ending(result: Option<InvocationResult>) -> Ending {
    match result.map(|it| it.outcome) {
        None => Ending::Forgotten,
        Some(Outcome::Ok(_)) => Ending::Ok,
        Some(Outcome::Error(error)) => Ending::Error {
            good: (error.code == ErrorCode::BudgetExhausted)
                .then(|| {
                    error
                        .details
                        .as_ref()?
                        .get("good")?
                        .as_str()
                        .map(str::to_owned)
                })
                .flatten(),
            code: error.code,
            message: error.message,
        },
    }
}
