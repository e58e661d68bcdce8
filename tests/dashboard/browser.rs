//! Headless Chromium, told what to do over a pipe by the protocol of its developer tools.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{
    patience::within,
    support::{foreign::Missing, guard, places},
};

/// Names the browser of whoever has it elsewhere.
const VARIABLE: &str = "PURUTO_CHROMIUM";
/// Names the folder in which whoever wants to see it finds what was seen.
const SCREENSHOTS: &str = "PURUTO_SCREENSHOTS";
/// What it is called on PATH.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The pipe is on two more file descriptors, which a shell can give it.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2";

const FLAGS: [&str; 9] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--force-prefers-no-reduced-motion",
    "about:blank",
];

/// A browser with one page; it ends with the value that stands for it.
#[derive(Debug)]
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// What went wrong on the page, as the browser tells it.
    complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts one.
    pub(crate) async fn start() -> Result<Self, Missing> {
        let program = program().ok_or_else(|| Missing {
            tool: "Chromium",
            why: format!(
                "none of {} is on PATH; {VARIABLE} names another",
                NAMES.join(", ")
            ),
        })?;
        let profile = TempDir::new().expect("a temporary folder");
        let log = fs::File::create(profile.path().join("chromium.log")).expect("a file");
        let mut command = Command::from(guard().command(Path::new("sh")));
        command
            .args(["-c", START])
            .arg(&program)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(FLAGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        let mut process = command.spawn().expect("a process");
        let mut browser = Self {
            to: process.stdin.take().expect("its input"),
            from: BufReader::new(process.stdout.take().expect("its output")),
            process,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.attach().await;
        Ok(browser)
    }

    async fn attach(&mut self) {
        let made = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = made.await["targetId"].clone();
        let attaching = json!({"targetId": target, "flatten": true});
        let attached = self.call("Target.attachToTarget", attaching).await;
        let session = attached["sessionId"].as_str().expect("a session");
        self.session = session.to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({})).await;
        }
        self.looks(1_280, 800, "light").await;
    }

    /// Calls a method of the protocol.
    pub(crate) async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let answered = async {
            self.to.write_all(&bytes).await.expect("sent");
            loop {
                let message = self.next().await;
                if message["id"] == id {
                    break message;
                }
                self.hear(&message);
            }
        };
        let answer = within(method, answered).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        let read = self.from.read_until(0, &mut bytes).await.expect("bytes");
        let ended = self.process.try_wait();
        assert!(read > 0, "the browser ended: {ended:?}");
        bytes.pop();
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Notes what a page should not make a browser say.
    fn hear(&mut self, message: &Value) {
        let told = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(told.to_string()),
            Some("Log.entryAdded") if told["entry"]["source"] != "network" => {
                self.complaints.push(told.to_string());
            }
            Some("Runtime.consoleAPICalled") if told["type"] == "error" => {
                self.complaints.push(told.to_string());
            }
            _ => {}
        }
    }

    /// What went wrong on its pages so far: errors of scripts, and what the policy forbade.
    pub(crate) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Goes to a page and waits until it is there.
    pub(crate) async fn open(&mut self, address: &str) {
        let gone = self.call("Page.navigate", json!({"url": address})).await;
        assert!(gone.get("errorText").is_none(), "{gone}");
        self.until("document.readyState === 'complete'").await;
    }

    /// The value of an expression of the page.
    pub(crate) async fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let answer = self.call("Runtime.evaluate", asked).await;
        let failed = answer.get("exceptionDetails");
        assert!(failed.is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression of the page is true.
    pub(crate) async fn until(&mut self, expression: &str) {
        let guarded =
            format!("(() => {{ try {{ return !!({expression}) }} catch {{ return false }} }})()");
        let end = tokio::time::Instant::now() + crate::patience::WITHIN;
        while self.eval(&guarded).await != true {
            if tokio::time::Instant::now() > end {
                let text = self.eval("document.body?.innerText").await;
                panic!("never: {expression}, on\n{text}");
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Waits until the page says so, anywhere.
    pub(crate) async fn until_it_says(&mut self, text: &str) {
        let text = Value::from(text);
        self.until(&format!("document.body.innerText.includes({text})"))
            .await;
    }

    /// Clicks on the first button or link with this text or label.
    pub(crate) async fn click(&mut self, text: &str) {
        let text = Value::from(text);
        let found = format!(
            "[...document.querySelectorAll('dialog[open] button, button, a, summary')].find(it => \
             it.textContent.trim() === {text} || it.getAttribute('aria-label') === {text})"
        );
        self.until(&found).await;
        self.eval(&format!("{found}.click()")).await;
    }

    /// Presses and releases a key, as a person does.
    pub(crate) async fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            _ => 0,
        };
        let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        match key {
            "Enter" => down["text"] = "\r".into(),
            one if one.chars().count() == 1 => down["text"] = one.into(),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", down).await;
        let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", up).await;
    }

    /// Types a text where the focus is.
    pub(crate) async fn types(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text})).await;
    }

    /// Has a window of this size, and a preference.
    pub(crate) async fn looks(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size).await;
        let features = json!({
            "features": [{"name": "prefers-color-scheme", "value": scheme}],
        });
        self.call("Emulation.setEmulatedMedia", features).await;
    }

    /// Keeps what it shows, for whoever wants to see it: light, dark and small.
    pub(crate) async fn shows(&mut self, name: &str) {
        for (look, width, height, scheme) in [
            ("light", 1_280, 800, "light"),
            ("dark", 1_280, 800, "dark"),
            ("small", 390, 844, "light"),
        ] {
            self.looks(width, height, scheme).await;
            self.fits(name, width).await;
            let shot = self
                .call("Page.captureScreenshot", json!({"format": "png"}))
                .await;
            let shot = STANDARD.decode(shot["data"].as_str().expect("a picture"));
            if let Some(folder) = env::var_os(SCREENSHOTS).map(PathBuf::from) {
                fs::create_dir_all(&folder).expect("a folder");
                let path = folder.join(format!("{name}-{look}.png"));
                fs::write(path, shot.expect("base64")).expect("a file");
            }
        }
        self.looks(1_280, 800, "light").await;
    }

    /// Nothing but tables is wider than the window.
    async fn fits(&mut self, name: &str, width: u32) {
        let wide = self.eval("document.documentElement.scrollWidth").await;
        let wide = wide.as_u64().expect("a width");
        assert!(wide <= u64::from(width), "{name} is {wide} wide in {width}");
    }
}

fn program() -> Option<PathBuf> {
    let named = env::var_os(VARIABLE).map(PathBuf::from);
    let places = places();
    named.or_else(|| NAMES.iter().find_map(|name| places.on_path(name)))
}
