//! The fleet as a stranger's client sees it: subjects and streams, nothing of our own code.

use async_nats::{
    Client, ConnectOptions, HeaderMap, Message, Subscriber,
    jetstream::{self, Context, consumer, message::StreamMessage, stream},
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use crate::{
    fleet::CALLER,
    patience::{until, within},
};

/// Where requests wait.
pub(crate) const INVOKE: &str = "PURUTO_INVOKE";
/// Where results stand.
pub(crate) const RESULTS: &str = "PURUTO_RESULTS";
/// Where dead letters are kept.
pub(crate) const DEAD_LETTERS: &str = "PURUTO_DLQ";

/// A client of the broker.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) client: Client,
    jetstream: Context,
}

/// What is heard under a subject, in the order in which it was published.
#[derive(Debug)]
pub(crate) struct Heard(Subscriber);

impl Wire {
    /// Connects to any of the servers, whose addresses are joined by commas.
    pub(crate) async fn connect(url: &str) -> Self {
        Self::connect_with(ConnectOptions::new(), url).await
    }

    /// The same, as a user.
    pub(crate) async fn connect_with(options: ConnectOptions, url: &str) -> Self {
        let addresses: Vec<_> = url.split(',').map(str::to_owned).collect();
        let client = options.connect(addresses).await.expect("a connection");
        let jetstream = jetstream::new(client.clone());
        Self { client, jetstream }
    }

    /// Publishes under `subject`; the sequence under which the stream stored it.
    pub(crate) async fn publish(&self, subject: &str, body: impl AsRef<[u8]>) -> u64 {
        self.publish_with(subject, HeaderMap::new(), body).await
    }

    /// As [`Wire::publish`], with headers.
    pub(crate) async fn publish_with(
        &self,
        subject: &str,
        headers: HeaderMap,
        body: impl AsRef<[u8]>,
    ) -> u64 {
        let (subject, body) = (subject.to_owned(), body.as_ref().to_vec().into());
        let sent = self.jetstream.publish_with_headers(subject, headers, body);
        let stored = sent.await.expect("published").await.expect("stored");
        stored.sequence
    }

    /// As [`Wire::publish_with`]; nothing when the servers did not say that it is stored.
    pub(crate) async fn try_publish(
        &self,
        subject: &str,
        headers: HeaderMap,
        body: String,
    ) -> Option<u64> {
        let sent = self
            .jetstream
            .publish_with_headers(subject.to_owned(), headers, body.into());
        Some(sent.await.ok()?.await.ok()?.sequence)
    }

    /// Publishes a request to its target.
    pub(crate) async fn ask(&self, request: &Value) -> u64 {
        let target = request["target"].as_str().expect("a target");
        let subject = format!("puruto.invoke.{target}");
        self.publish(&subject, request.to_string()).await
    }

    /// Listens from now on.
    pub(crate) async fn listen(&self, subject: &str) -> Heard {
        let subscribed = self.client.subscribe(subject.to_owned()).await;
        let subscribed = subscribed.expect("a subscription");
        self.client.flush().await.expect("the server knows of it");
        Heard(subscribed)
    }

    /// What stands under a subject of the results.
    pub(crate) async fn stored(&self, subject: &str) -> Option<StreamMessage> {
        let stream = self.stream(RESULTS).await;
        stream.get_last_raw_message_by_subject(subject).await.ok()
    }

    /// The result of a request, as soon as it stands in the stream.
    pub(crate) async fn result(&self, request: &Value) -> StreamMessage {
        let subject = place_of(request);
        let what = format!("a result under {subject}");
        until(&what, async || self.stored(&subject).await).await
    }

    /// Whether nothing stands under `subject`; asked of a stream that answers.
    pub(crate) async fn messages(&self, stream: &str) -> u64 {
        let stream = self.stream(stream).await;
        stream.cached_info().state.messages
    }

    /// Everything that a stream has kept, oldest first.
    pub(crate) async fn all(&self, stream: &str) -> Vec<StreamMessage> {
        let stream = self.stream(stream).await;
        let state = &stream.cached_info().state;
        let mut all = Vec::new();
        for sequence in state.first_sequence..=state.last_sequence {
            // What was removed in between is no longer there.
            all.extend(stream.get_raw_message(sequence).await.ok());
        }
        all
    }

    /// Waits until no request waits or is unacknowledged.
    pub(crate) async fn until_all_is_done(&self) {
        until("no request is left in the stream", async || {
            (self.messages(INVOKE).await == 0).then_some(())
        })
        .await;
    }

    /// The state of the consumer of a lane.
    pub(crate) async fn consumer(&self, name: &str) -> consumer::Info {
        let stream = self.stream(INVOKE).await;
        stream.consumer_info(name).await.expect("the consumer")
    }

    /// The names of the lanes that are served.
    pub(crate) async fn consumers(&self) -> Vec<String> {
        let names = self.stream(INVOKE).await.consumer_names();
        names.try_collect().await.expect("the consumers")
    }

    /// How a stream is configured.
    pub(crate) async fn config(&self, stream: &str) -> stream::Config {
        self.stream(stream).await.cached_info().config.clone()
    }

    /// Configures a stream by hand.
    pub(crate) async fn configure(&self, config: &stream::Config) {
        let updated = self.jetstream.update_stream(config).await;
        updated.expect("configured");
    }

    /// Deletes a stream with all that it holds.
    pub(crate) async fn delete(&self, stream: &str) {
        let deleted = self.jetstream.delete_stream(stream).await;
        assert!(deleted.expect("deleted").success);
    }

    async fn stream(&self, name: &str) -> stream::Stream {
        let what = format!("the stream {name}");
        until(&what, async || self.jetstream.get_stream(name).await.ok()).await
    }
}

impl Heard {
    /// The next message.
    pub(crate) async fn next(&mut self) -> Message {
        let message = within("a message is heard", self.0.next()).await;
        message.expect("the subscription goes on")
    }

    /// The next message, however long it takes.
    pub(crate) async fn anything(&mut self) -> Message {
        self.0.next().await.expect("the subscription goes on")
    }

    /// The body of the next message.
    pub(crate) async fn result(&mut self) -> Value {
        json_of(&self.next().await.payload)
    }

    /// Whether nothing was heard beyond what was taken; everything that was published before this
    /// is asked has been heard by then.
    pub(crate) async fn nothing_more(&mut self, wire: &Wire) -> bool {
        wire.client.flush().await.expect("the server is there");
        tokio::time::timeout(std::time::Duration::from_millis(100), self.0.next())
            .await
            .is_err()
    }
}

/// A request of [`CALLER`] in a chain of its own.
pub(crate) fn request(id: &str, target: &str, prompt: &str) -> Value {
    json!({
        "request_id": id,
        "correlation_id": format!("chain-{id}"),
        "caller": CALLER,
        "target": target,
        "action": "do",
        "prompt": prompt,
    })
}

/// Where the result of a request with plain ids stands.
pub(crate) fn place_of(request: &Value) -> String {
    let part = |key: &str| request[key].as_str().expect("an id").to_owned();
    format!(
        "puruto.result.{}.{}",
        part("correlation_id"),
        part("request_id")
    )
}

/// A body as JSON.
pub(crate) fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("JSON")
}

/// The text of a header.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(async_nats::HeaderValue::as_str)
}
