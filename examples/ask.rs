//! One resilient model call, without NATS or Redis.
//!
//! ```sh
//! cargo run --example ask                                          # a simulated model that fails twice
//! cargo run --example ask -- http://127.0.0.1:11434/v1 llama3.2 "Why is the sky blue?"
//! ```
//!
//! The log events of the call are printed as they happen, the answer in the end.

#![expect(clippy::print_stdout, reason = "an example that prints its answer")]

use std::{env, error::Error, sync::Arc, time::Duration};

use puruto_fleet::{
    clock::{Chance, Clock},
    runtime::{AgentRuntime, Message, ModelCall, Shared, config::ProviderConfig},
};
use tokio::time::Instant;

/// What stands in the `[model]` table of a Puruto's `worker.toml`.
const SIMULATED: &str = r#"
    provider = "simulated"
    answer = "You asked: {prompt}"
    latency = "50ms"
    errors = ["503", "429 1s"]
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let words: Vec<String> = env::args().skip(1).collect();
    let (table, prompt) = match words.as_slice() {
        [] => (SIMULATED.to_owned(), "Why is the sky blue?"),
        [base_url, model, prompt] => (openai(base_url, model), prompt.as_str()),
        _ => return Err("expected no argument, or: BASE_URL MODEL PROMPT".into()),
    };
    let config: ProviderConfig = toml::from_str(&table)?;
    // Whatever is called from one process shares its connections, breakers and retry budget. The
    // last one counts what happens; the fleet hands in its metrics here.
    let shared = Shared::new(Clock::system(), Chance::system(), Arc::new(()));
    let runtime = AgentRuntime::open(&config, |_| None, shared)?;
    let call = ModelCall::new(
        "ask-1".parse()?,
        runtime.model().clone(),
        vec![
            Message::system("Answer in one sentence."),
            Message::user(prompt),
        ],
        Instant::now() + Duration::from_secs(120),
    );
    let answer = runtime.call(&call).await?;
    println!("{}", answer.content);
    println!("{} tokens, by {}", answer.usage.total_tokens, answer.model);
    Ok(())
}

fn openai(base_url: &str, model: &str) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    format!(
        "provider = \"openai\"\nbase_url = {}\nmodel = {}",
        quoted(base_url),
        quoted(model)
    )
}
