//! A gateway process, and what a caller over HTTP sees of it.

use std::{fs, time::Duration};

use puruto_fleet::dev::{
    launch::{Launch, Output, Role},
    member::Member,
    port::Port,
};
use reqwest::{Client, Method, RequestBuilder, header::HeaderMap};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    fleet::Fleet,
    patience::{until, within},
    support::{guard, ours_that_configure},
};

/// No answer takes longer that is not waited for on purpose.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A gateway process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Member,
    url: String,
    telemetry: Port,
    client: Client,
}

/// What a request was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Fleet {
    /// A gateway process that serves; it may ask whatever [`Fleet::open_to_http`] allows.
    pub(crate) async fn gateway(&self, name: &str) -> Gateway {
        let [listen, telemetry] = [(); 2].map(|()| Port::free(&self.chance).expect("a port"));
        let launch = Launch {
            role: Role::Gateway { listen },
            name: name.to_owned(),
            workers_dir: self.servers.folder().join("workers"),
            folder: Some(self.servers.folder().to_owned()),
            telemetry,
            arguments: Vec::new(),
            set: self.variables().to_vec(),
            unset: ours_that_configure(),
            output: Output::File(self.servers.folder().join(format!("{name}.log"))),
            guard: guard(),
        };
        // The client asks for one, though nothing here speaks TLS.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let gateway = Gateway {
            process: Member::start(&launch).await.expect("a process"),
            url: format!("http://{}", listen.address()),
            telemetry,
            client: Client::builder()
                .timeout(ANSWER_WITHIN)
                .build()
                .expect("a client"),
        };
        until("the gateway serves", async || {
            let asked = gateway.client.get(gateway.at("/.well-known/skill-sharing"));
            asked.send().await.ok()
        })
        .await;
        gateway
    }

    /// Lets gateways ask these targets for anything.
    pub(crate) fn open_to_http(&self, targets: &[&str]) {
        self.allow("puruto-gateway", targets);
    }

    /// Offers a skill.
    pub(crate) fn skill(&self, descriptor: &Value) {
        let folder = self.servers.folder().join("config/skills");
        fs::create_dir_all(&folder).expect("a folder");
        let id = descriptor["id"].as_str().expect("an id");
        fs::write(folder.join(format!("{id}.json")), descriptor.to_string()).expect("a file");
    }

    /// Gives out keys: each name's key is `key-of-<name>`, good for every skill.
    pub(crate) fn keys_for(&self, names: &[&str]) {
        let entry = |name: &&str| {
            let digest = Sha256::digest(format!("key-of-{name}"));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("[[key]]\nname = \"{name}\"\nsha256 = \"{digest}\"\nskills = [\"*\"]\n")
        };
        let folder = self.servers.folder().join("config");
        fs::create_dir_all(&folder).expect("a folder");
        let entries: String = names.iter().map(entry).collect();
        fs::write(folder.join("gateway-keys.toml"), entries).expect("a file");
    }
}

impl Gateway {
    /// The address of a path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// What it shows of itself when it is scraped.
    pub(crate) async fn metrics(&self) -> String {
        self.process.metrics().await.expect("its metrics")
    }

    /// Where it tells how it is.
    pub(crate) fn telemetry(&self) -> String {
        self.telemetry.address().to_string()
    }

    /// What it tells there.
    pub(crate) async fn told(&self, path: &str) -> Answer {
        let url = format!("http://{}{path}", self.telemetry());
        answered(self.client.get(url)).await
    }

    /// Ends it as a crash would.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.expect("killed");
    }

    /// Tells it to stop, and waits for nothing.
    pub(crate) fn tell_to_stop(&self) {
        let pid = self.process.pid().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(Pid::from_raw).expect("it runs");
        kill_process(pid, Signal::TERM).expect("signalled");
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::POST, path, &[], Some(body)).await
    }

    /// Asks with these headers and this body.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let mut asked = self.client.request(method, self.at(path));
        for (name, value) in headers {
            asked = asked.header(*name, *value);
        }
        if let Some(body) = body {
            let json = ("content-type", "application/json");
            asked = asked.header(json.0, json.1).body(body.to_string());
        }
        answered(asked).await
    }

    /// The events of an execution that come until the stream ends, each its fields.
    pub(crate) async fn events(&self, id: &str, last: Option<&str>) -> Vec<Told> {
        let asked = self
            .client
            .get(self.at(&format!("/v1/executions/{id}/events")));
        let asked = match last {
            Some(last) => asked.header("last-event-id", last),
            None => asked,
        };
        let text = within("the stream of events ends", async {
            let answer = asked.send().await.expect("an answer");
            answer.text().await.expect("events")
        })
        .await;
        let events = text.split("\n\n").filter(|it| it.contains("event:"));
        events.map(Told::read).collect()
    }

    /// Waits until an execution stands so, and what is told of it then.
    pub(crate) async fn until_status(&self, id: &str, status: &str) -> Value {
        let what = format!("{id} is {status}");
        until(&what, async || {
            let seen = self.get(&format!("/v1/executions/{id}")).await.body;
            (seen["status"] == status).then_some(seen)
        })
        .await
    }
}

/// An event as it was sent.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Told {
    fn read(block: &str) -> Self {
        let field = |name: &str| {
            let mut lines = block.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.unwrap_or_else(|| panic!("no {name} in {block}"))
        };
        Self {
            id: field("id").to_owned(),
            event: field("event").to_owned(),
            data: serde_json::from_str(field("data")).expect("JSON"),
        }
    }
}

async fn answered(asked: RequestBuilder) -> Answer {
    let answer = asked.send().await.expect("an answer");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let text = answer.text().await.expect("a body");
    Answer {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::Null),
    }
}
