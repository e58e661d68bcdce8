//! Chat: one question to a model. The Puruto's prompt is the system message, the request's the user's.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Ended, Handler, Prices, telling::Telling};
use crate::{
    contract::{ResultError, Spent},
    runtime::{
        CallFailed, Fault, Message, ModelAnswer, ModelCall, contract::AnswerShape,
        repair::Repairing,
    },
};

/// Longest summary, in characters; the whole answer stands in `output.content`.
const SUMMARY_CHARS_MAX: usize = 280;

/// A parked request looks again no sooner than this: many may be parked at the same breaker ...
const PARKED_MIN: Duration = Duration::from_secs(1);

/// ... and no later than this: a breaker that waits for its probes does not know when it closes.
const PARKED_MAX: Duration = Duration::from_secs(15);

/// What becomes of a request whose model's circuit breaker is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnCircuitOpen {
    /// It is answered at once that there is no answer to be had.
    #[default]
    Fail,
    /// It waits, without a run slot, until the breaker lets it through or its deadline passes.
    Park,
}

impl OnCircuitOpen {
    /// How long a request waits whose call failed so; `None` where it does not wait.
    pub(super) fn parks(self, failed: &CallFailed) -> Option<Duration> {
        match (self, &failed.fault) {
            (Self::Park, Fault::CircuitOpen { retry_in, .. }) => {
                Some((*retry_in).clamp(PARKED_MIN, PARKED_MAX))
            }
            _ => None,
        }
    }
}

/// How a model is asked for its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answering {
    /// For the whole of it.
    #[default]
    Whole,
    /// For it piece by piece, as it is being written; listeners are told.
    Streamed,
}

/// Answers each request with what a model says.
pub struct Chat {
    models: Repairing,
    answer: AnswerShape,
    system: Option<Message>,
    on_circuit_open: OnCircuitOpen,
    answering: Answering,
    prices: Prices,
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chat({:?})", self.models.model())
    }
}

impl Chat {
    /// A chat over `models`; `prompt` is the Puruto's own instruction, shared by all its calls, and
    /// `answer` the form that every answer must have.
    #[must_use]
    pub fn new(
        models: Repairing,
        prompt: Option<Arc<str>>,
        answer: AnswerShape,
        on_circuit_open: OnCircuitOpen,
    ) -> Self {
        let system = prompt.map(Message::system);
        Self {
            models,
            answer,
            system,
            on_circuit_open,
            answering: Answering::default(),
            prices: Prices::default(),
        }
    }

    /// The same, asking its model in this way.
    #[must_use]
    pub fn answering(mut self, answering: Answering) -> Self {
        self.answering = answering;
        self
    }

    /// The same, counting what its answers cost.
    #[must_use]
    pub fn priced(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    async fn answer(&self, context: &Context) -> Result<ModelAnswer, CallFailed> {
        let mut call = self.call(context);
        match self.answering {
            Answering::Whole => self.asked(&call).await,
            Answering::Streamed => {
                let (sink, telling) = Telling::of(context);
                call.tokens = Some(sink);
                // The call ends with its answer, and with it what is told.
                let asking = async move { self.asked(&call).await };
                telling.during(asking).await
            }
        }
    }

    /// Whoever gave the deadline ends the waiting there.
    async fn asked(&self, call: &ModelCall) -> Result<ModelAnswer, CallFailed> {
        loop {
            let outcome = self.models.call(call).await;
            let failed = outcome.as_ref().err();
            match failed.and_then(|it| self.on_circuit_open.parks(it)) {
                Some(delay) => call.wait(delay).await,
                None => return outcome,
            }
        }
    }

    fn spent(&self, answer: &ModelAnswer) -> Spent {
        Spent {
            tokens: answer.usage.total_tokens,
            cost: self.prices.cost(&answer.model, &answer.usage),
            ..Spent::default()
        }
    }

    fn call(&self, context: &Context) -> ModelCall {
        let user = Message::user(Arc::<str>::from(context.request.prompt.as_str()));
        ModelCall {
            answer: self.answer.clone(),
            made: context.calls_made.count(0),
            waiting: Some(Arc::clone(&context.waiting)),
            ..ModelCall::new(
                context.request.request_id.clone(),
                self.models.model().clone(),
                self.system.iter().cloned().chain([user]).collect(),
                context.deadline,
            )
        }
    }
}

impl Handler for Chat {
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>> {
        Box::pin(async move {
            let one = Spent {
                requests: 1,
                ..Spent::default()
            };
            context.budget.allows(one)?;
            let answer = self.answer(&context).await;
            let mut spent = answer
                .as_ref()
                .map_or_else(|_| Spent::default(), |it| self.spent(it));
            spent.requests = context.calls_made.total();
            context.budget.spend(spent);
            match answer {
                Ok(answer) => Ok(Ended::Answer(result_of(&answer))),
                Err(failed) => Err(failed.to_result_error()),
            }
        })
    }
}

fn result_of(answer: &ModelAnswer) -> Value {
    json!({
        "summary": summary_of(&answer.content),
        "output": answer,
    })
}

/// The first line that says something, cut to a readable length.
pub(super) fn summary_of(content: &str) -> String {
    let line = content.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Map;
    use tokio::time::Instant;

    use super::*;
    use crate::{
        clock::{Chance, Clock},
        contract::{Draft, MintedIds},
        runtime::{
            FinishReason, Shared, Usage, config::ProviderConfig, repair::Repair, routes::Routes,
        },
    };

    fn context(prompt: &str) -> Context {
        let body = json!({"target": "t", "action": "a", "prompt": prompt}).to_string();
        let draft = Draft::parse(body.as_bytes()).expect("valid");
        let request = draft.complete(MintedIds::of_message("S", 1, 1));
        Context::bare(Arc::new(request), Instant::now() + Duration::from_secs(60))
    }

    fn chat(table: &str) -> Chat {
        let config: ProviderConfig = toml::from_str(table).expect("a model table");
        let shared = Shared::new(Clock::system(), Chance::seeded(1), Arc::new(()));
        let routes = Routes::open(&config, &[], |_| None, &shared).expect("a route");
        let prompt = Some("You pay invoices.".into());
        let models = Repairing::new(routes, Repair::Never);
        Chat::new(models, prompt, AnswerShape::Text, OnCircuitOpen::Fail)
    }

    #[tokio::test]
    async fn an_answer_becomes_a_summary_and_the_output() {
        let chat = chat("provider = \"simulated\"\nanswer = \"\\nPaid: {prompt}\\nThank you.\"\n");
        let ended = chat.handle(context("#123")).await.expect("an answer");
        let Ended::Answer(result) = ended else {
            panic!("{ended:?}");
        };
        assert_eq!(result["summary"], "Paid: #123");
        assert_eq!(result["output"]["content"], "\nPaid: #123\nThank you.");
        assert_eq!(result["output"]["finish_reason"], "stop");
        assert!(result["output"]["usage"]["total_tokens"].is_u64());
    }

    #[tokio::test]
    async fn what_an_answer_consumed_is_counted_and_costs_what_its_model_costs() {
        let table = "provider = 'simulated'\nmodel = 'm'\nanswer = 'yes'";
        let prices = Prices::read(["m=1/1"]).expect("prices");
        let context = context("x");
        let chat = chat(table).priced(prices);
        chat.handle(context.clone()).await.expect("an answer");
        let spent = context.budget.unrecorded();
        assert!(spent.tokens > 0 && spent.requests == 1);
        assert_eq!(spent.cost.0, spent.tokens);
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_keeps_failing_is_an_error_for_the_caller() {
        let errors = "errors = [\"503\", \"503\", \"503\", \"503\", \"503\"]";
        let chat = chat(&format!(
            "provider = \"simulated\"\nanswer = \"x\"\n{errors}\n"
        ));
        let error = chat.handle(context("x")).await.expect_err("no answer");
        assert_eq!(error.kind(), Some("model_unavailable"));
    }

    #[test]
    fn a_token_count_that_is_an_estimate_says_so_to_the_caller() {
        let usage = json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5});
        let answer = ModelAnswer {
            content: "hi".to_owned(),
            json: None,
            model: "m".parse().expect("valid"),
            usage: Usage {
                prompt_tokens: 2,
                completion_tokens: 3,
                total_tokens: 5,
            },
            finish_reason: FinishReason::Stop,
            tool_calls: vec![],
            citations: vec![],
            metadata: Map::from_iter([("usage_estimated".to_owned(), true.into())]),
        };
        let output = json!({
            "content": "hi", "model": "m", "usage": usage, "finish_reason": "stop",
            "metadata": {"usage_estimated": true},
        });
        assert_eq!(result_of(&answer)["output"], output);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let summary = summary_of(&"é".repeat(500));
        assert_eq!(summary.chars().count(), SUMMARY_CHARS_MAX + 3);
        assert_eq!(summary_of(" \n\n"), "");
    }
}
