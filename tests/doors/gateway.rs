//! A gateway process before a fleet, and whom it lets in.

use std::{
    fs::{self, File},
    process::Stdio,
};

use puruto_fleet::dev::port::Port;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::{Child, Command},
};

use crate::{
    certified::Certified,
    fleet::Fleet,
    patience::{until, within},
    support::{guard, ours_that_configure},
};

/// As whom gateways ask.
pub(crate) const CALLER: &str = "puruto-gateway";

/// A key that is good for everything.
pub(crate) const KEY: &str = "open-sesame";
/// One that is good for `clerk` alone.
pub(crate) const KEY_OF_CLERK: &str = "clerks-only";

const KEYS: &str = r#"
[[key]]
name = "master"
sha256 = "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7"
targets = ["*"]
skills = ["*"]

[[key]]
name = "clerk"
sha256 = "35a4be08cdfae1caf5d90ae2b273124d9f97aead40cd6f468b12c6a2e20cedfe"
targets = ["clerk"]
skills = []
"#;

/// A gateway process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Child,
    scheme: &'static str,
    port: Port,
}

impl Gateway {
    /// One that serves, with these variables of its own.
    pub(crate) async fn start(name: &str, fleet: &Fleet, more: &[(&str, &str)]) -> Self {
        let folder = fleet.servers.folder();
        let (keys, skills) = (folder.join("keys.toml"), folder.join("skills"));
        fs::write(&keys, KEYS).expect("a file");
        fs::create_dir_all(&skills).expect("a folder");
        let port = Port::free(&fleet.chance).expect("a port");
        let mut command = Command::from(guard().verb("gateway"));
        for name in ours_that_configure() {
            command.env_remove(name);
        }
        let log = File::create(folder.join(format!("{name}.log"))).expect("a file");
        command
            .envs(fleet.variables().iter().map(|(name, value)| (name, value)))
            .env("PURUTO_GATEWAY__LISTEN", port.address().to_string())
            .env("PURUTO_GATEWAY__TELEMETRY", "off")
            .env("PURUTO_GATEWAY__KEYS_FILE", &keys)
            .env("PURUTO_GATEWAY__SKILLS_DIR", &skills)
            .envs(more.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        let process = command.spawn().expect("a process");
        let gateway = Self {
            process,
            scheme: "http",
            port,
        };
        let serves = async || TcpStream::connect(port.address()).await.ok();
        until(&format!("{name} serves"), serves).await;
        gateway
    }

    /// One that serves behind TLS.
    pub(crate) async fn start_behind(name: &str, fleet: &Fleet, certified: &Certified) -> Self {
        let [certificate, key] = [&certified.certificate, &certified.key].map(|it| it.display());
        let more = [
            ("PURUTO_GATEWAY__TLS_CERTIFICATE", certificate.to_string()),
            ("PURUTO_GATEWAY__TLS_KEY", key.to_string()),
        ];
        let more = more.each_ref().map(|(name, value)| (*name, &**value));
        Self {
            scheme: "https",
            ..Self::start(name, fleet, &more).await
        }
    }

    /// Where something is on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.port.address())
    }

    /// Sends it this signal, and waits for its end.
    pub(crate) async fn end(mut self, signal: Signal) {
        let id = self.process.id().and_then(|it| it.try_into().ok());
        let id = id.and_then(Pid::from_raw).expect("it runs");
        kill_process(id, signal).expect("signalled");
        let ended = within("the gateway ends", self.process.wait()).await;
        ended.expect("its status");
    }

    /// Head and body of what it answers to this.
    pub(crate) async fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> Answer {
        let asked = async {
            let mut stream = TcpStream::connect(self.port.address()).await?;
            let (host, length) = (self.port.address(), body.len());
            let host = match head.contains("Host:") {
                true => String::new(),
                false => format!("Host: {host}\r\n"),
            };
            let question = format!(
                "{method} {path} HTTP/1.1\r\n{host}{head}Connection: close\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            );
            stream.write_all(question.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer = within(&format!("{method} {path} is answered"), asked).await;
        let answer = answer.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// What a gateway answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of this header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value)
    }
}
