//! The methods of the protocol, each on the executions that every other door shares.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Door,
    agents::Agent,
    message::{Answered, Message, task_id},
    rpc::{Call, RpcCode, RpcError},
    stream::Telling,
    task::{TaskState, Told},
    version::{Method, Version},
};
use crate::{
    client::{ClientFault, Invocation},
    contract::{ErrorCode, ResultError},
    gateway::{
        Principal,
        executions::{Gone, Order, State, Unfound, Unstarted},
        server::Patience,
    },
    store::executions::Execution,
};

/// How long the answer to a cancel may wait until the task has let go.
const CANCEL_SETTLES: Duration = Duration::from_secs(5);

/// A caller who was let in, with the agent that is asked.
pub(super) struct Caller<'d> {
    pub(super) door: &'d Door,
    pub(super) agent: Agent<'d>,
    pub(super) who: Principal,
    /// By which its answer may begin later.
    pub(super) patience: Patience,
}

impl Caller<'_> {
    /// The answer to a call.
    pub(super) async fn answer(&self, call: &Call) -> Response {
        let answered = match call.method {
            Method::Send => self.send(call).await,
            Method::Stream => self.stream(call).await,
            Method::Get => self.get(call).await,
            Method::Cancel => self.cancel(call).await,
            Method::Subscribe => self.subscribe(call).await,
            Method::List => Err(RpcError::unsupported("tasks are not listed here")),
            Method::Push => {
                let why = "nothing is pushed from here: subscribe to the task";
                Err(RpcError::new(RpcCode::PushNotSupported, why))
            }
            Method::ExtendedCard => {
                let why = "the agent card is the same for everybody";
                Err(RpcError::new(RpcCode::NoExtendedCard, why))
            }
        };
        answered.unwrap_or_else(|error| Json(call.id.refuse(&error)).into_response())
    }

    async fn send(&self, call: &Call) -> Result<Response, RpcError> {
        let message = Message::read(&call.params)?;
        let answered = message.answered;
        let execution = self.start(message).await?;
        let state = match answered {
            Answered::AtOnce => self.door.desk.state(&execution).await?,
            Answered::Settled => self.settled(&execution, self.door.wait_max).await?,
        };
        let told = told(&execution, call.version);
        Ok(result(call, &told.sent(&state)))
    }

    async fn stream(&self, call: &Call) -> Result<Response, RpcError> {
        let message = Message::read(&call.params)?;
        let execution = self.start(message).await?;
        self.telling(call, &execution).await
    }

    async fn get(&self, call: &Call) -> Result<Response, RpcError> {
        let execution = self.find(call).await?;
        let state = self.door.desk.state(&execution).await?;
        Ok(result(call, &told(&execution, call.version).task(&state)))
    }

    async fn cancel(&self, call: &Call) -> Result<Response, RpcError> {
        let execution = self.find(call).await?;
        let desk = &self.door.desk;
        if desk.state(&execution).await?.status().is_final() {
            let why = "the task has ended and stays as it is";
            return Err(RpcError::new(RpcCode::TaskNotCancelable, why));
        }
        desk.cancel(&execution).await?;
        let state = self.settled(&execution, CANCEL_SETTLES).await?;
        Ok(result(call, &told(&execution, call.version).task(&state)))
    }

    async fn subscribe(&self, call: &Call) -> Result<Response, RpcError> {
        let execution = self.find(call).await?;
        let state = self.door.desk.state(&execution).await?;
        if state.status().is_final() {
            let why = "the task has ended: get it";
            return Err(RpcError::unsupported(why));
        }
        self.telling(call, &execution).await
    }

    async fn telling(&self, call: &Call, execution: &Execution) -> Result<Response, RpcError> {
        let desk = &self.door.desk;
        let tokens = desk.fleet().tokens(execution, 0).await?;
        let watched = desk.watch(execution).await?;
        let telling = Telling::new(call.id.clone(), call.version, watched, tokens);
        Ok(telling.into_response())
    }

    /// Starts what the message asks for; the same message is the same task.
    async fn start(&self, message: Message) -> Result<Execution, RpcError> {
        if let Some(task) = &message.task {
            return Err(self.not_continued(task).await);
        }
        let action = self.agent.action(message.action.as_ref());
        let action = action.map_err(RpcError::invalid_params)?;
        let target = self.agent.puruto.name.clone();
        // One who is known by no other name is told apart by the agent that is asked.
        let caller = format!("a2a/{target}");
        let asker = self.door.agents.caller().clone();
        let mut invocation = Invocation::new(asker, target, action, message.prompt);
        invocation.timeout = message.timeout;
        invocation.lane = message.lane;
        invocation.correlation_id = message.context;
        let on_behalf_of = json!({"id": name_of(&self.who), "type": "service"});
        invocation
            .extra
            .insert("on_behalf_of".to_owned(), on_behalf_of);
        let order = Order {
            who: self.who.clone(),
            skill: caller.as_str().into(),
            caller: caller.into(),
            invocation,
            idempotency: Some(message.id),
        };
        Ok(self.door.desk.start(order).await?.execution)
    }

    /// Why nothing can be said to a task that is there already.
    async fn not_continued(&self, task: &str) -> RpcError {
        match self.task(task).await {
            Err(error) => error,
            Ok(_) => RpcError::unsupported(
                "a task takes one message: send the next without its taskId, in the same contextId",
            ),
        }
    }

    async fn find(&self, call: &Call) -> Result<Execution, RpcError> {
        self.task(task_id(&call.params)?).await
    }

    /// The task of this id, if it is one of this agent.
    async fn task(&self, id: &str) -> Result<Execution, RpcError> {
        let execution = self.door.desk.find(&self.who, id).await?;
        if execution.key.target == self.agent.puruto.name {
            Ok(execution)
        } else {
            Err(RpcError::no_task())
        }
    }

    /// How the task stands once it has ended or waits for somebody, or after `within`.
    async fn settled(&self, execution: &Execution, within: Duration) -> Result<State, RpcError> {
        self.patience.allow(within);
        let watched = self.door.desk.watch(execution).await?;
        let is_settled = |state: &State| TaskState::of(state).is_settled();
        let state = watched.until(Instant::now() + within, is_settled).await;
        state.map_err(|Gone| RpcError::no_task())
    }
}

fn name_of(who: &Principal) -> &str {
    match who {
        Principal::Anonymous => "anonymous",
        Principal::Key(name) => name,
        Principal::Subject { subject, .. } => subject,
    }
}

const fn told(execution: &Execution, version: Version) -> Told<'_> {
    Told { execution, version }
}

fn result(call: &Call, result: &Value) -> Response {
    Json(call.id.answer(result)).into_response()
}

impl From<Unstarted> for RpcError {
    fn from(unstarted: Unstarted) -> Self {
        match unstarted {
            Unstarted::Refused(error) => refused(&error),
            Unstarted::Conflict => {
                Self::invalid_params("message.messageId was used for another message")
            }
            Unstarted::Fault(fault) => fault.into(),
        }
    }
}

fn refused(error: &ResultError) -> RpcError {
    match error.code {
        ErrorCode::Denied => RpcError::unsupported(&error.message),
        ErrorCode::TargetNotFound
        | ErrorCode::Timeout
        | ErrorCode::InvalidResponse
        | ErrorCode::IpcError
        | ErrorCode::Cancelled
        | ErrorCode::BudgetExhausted => RpcError::new(RpcCode::Internal, &*error.message),
    }
}

impl From<Unfound> for RpcError {
    fn from(unfound: Unfound) -> Self {
        match unfound {
            Unfound::Unknown | Unfound::Gone => Self::no_task(),
            Unfound::Fault(fault) => fault.into(),
        }
    }
}

impl From<ClientFault> for RpcError {
    /// Where a server is, or what it said, is for the log and not for callers.
    fn from(fault: ClientFault) -> Self {
        if let ClientFault::PromptTooLong { .. } = fault {
            return Self::invalid_params(fault);
        }
        tracing::warn!(%fault, "gateway_fleet_unanswered");
        let why = "the fleet does not answer at the moment: try again";
        Self::new(RpcCode::Internal, why)
    }
}
