//! The server behind every transport: finds the rule for a message and runs its steps. JSON-RPC
//! messages are handled as plain JSON values.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{GRANDCHILDREN, Grandchild, Lists, RECEIVED, SERVERS, Script, Step};

/// Output to be framed by the transport. A transport drops output for which it has no form.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// The answer to a request, which is its last output.
    Answer(String),
    /// Any other message.
    Message(String),
    /// Bytes without a frame: see [`Step::Bytes`].
    Bytes(Vec<u8>),
    /// See [`Step::Binary`].
    Binary(Vec<u8>),
    /// See [`Step::Close`].
    Close { code: u16, reason: String },
    /// See [`Step::Status`].
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// See [`Step::HangUp`].
    HangUp,
}

/// The receiver of the output for one message.
pub(super) type Out = mpsc::UnboundedSender<Output>;

pub(super) type Outputs = mpsc::UnboundedReceiver<Output>;

pub(super) struct ScriptedServer {
    pub(super) script: Script,
    folder: PathBuf,
    pub(super) lists: Mutex<Lists>,
    asked: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    next_ask: AtomicU64,
    /// See [`Step::Mute`].
    mute: AtomicBool,
    /// Over HTTP: the ids of open sessions, including those of HTTP+SSE.
    pub(super) sessions: Mutex<Vec<String>>,
}

impl ScriptedServer {
    pub(super) fn new(script: Script, folder: &Path) -> Arc<ScriptedServer> {
        let server = ScriptedServer {
            lists: Mutex::new(script.lists.clone()),
            script,
            folder: folder.to_owned(),
            asked: Mutex::default(),
            next_ask: AtomicU64::new(1),
            mute: AtomicBool::new(false),
            sessions: Mutex::default(),
        };
        server.note(SERVERS, &std::process::id().to_string());
        Arc::new(server)
    }

    /// Records received data unchanged.
    pub(super) fn record(&self, line: &str) {
        self.note(RECEIVED, line);
    }

    pub(super) async fn start(self: &Arc<Self>, out: &Out) {
        let steps = self.script.at_start.clone();
        Exchange::new(self, Value::Null, out).run(&steps).await;
    }

    /// Handles one message. Each request runs in its own task.
    pub(super) fn handle(self: &Arc<Self>, text: &str, out: &Out) {
        let Ok(message) = serde_json::from_str::<Value>(text) else {
            return;
        };
        match (message["method"].as_str(), message.get("id")) {
            (Some(_), Some(_)) => {
                let (server, out) = (self.clone(), out.clone());
                tokio::spawn(async move { Exchange::new(&server, message, &out).answer().await });
            }
            (Some("notifications/initialized"), None) => {
                let (server, out) = (self.clone(), out.clone());
                tokio::spawn(async move {
                    let steps = server.script.after_initialized.clone();
                    Exchange::new(&server, message, &out).run(&steps).await;
                });
            }
            (Some(_), None) => {}
            (None, id) => {
                let asked = self
                    .asked
                    .lock()
                    .expect("no step panics")
                    .remove(&id.unwrap_or(&Value::Null).to_string());
                if let Some(waiting) = asked {
                    let _ = waiting.send(message);
                }
            }
        }
    }

    /// Returns true if the script may answer this request with an HTTP status.
    pub(super) fn may_give_status(&self, message: &Value) -> bool {
        fn in_steps(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Status { .. } => true,
                Step::Once(_, steps) => in_steps(steps),
                Step::Repeat(_, step) => in_steps(std::slice::from_ref(step)),
                _ => false,
            })
        }
        in_steps(self.steps_for(message))
    }

    fn steps_for(&self, message: &Value) -> &[Step] {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let name = params["name"].as_str().or(params["uri"].as_str());
        let fits = |rule: &&super::Rule| {
            rule.method == method && (rule.name.is_none() || rule.name.as_deref() == name)
        };
        let rule = self.script.rules.iter().find(fits);
        rule.map(|rule| rule.steps.as_slice()).unwrap_or_default()
    }

    fn note(&self, file: &str, line: &str) {
        let path = self.folder.join(file);
        let file = OpenOptions::new().create(true).append(true).open(path);
        // If the test's folder is already removed, the record is not needed.
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}

/// The handling of one message.
pub(super) struct Exchange<'a> {
    pub(super) server: &'a Arc<ScriptedServer>,
    pub(super) message: Value,
    out: &'a Out,
    answers: Vec<Value>,
    answered: bool,
}

impl<'a> Exchange<'a> {
    fn new(server: &'a Arc<ScriptedServer>, message: Value, out: &'a Out) -> Self {
        Exchange {
            server,
            message,
            out,
            answers: Vec::new(),
            answered: false,
        }
    }

    async fn answer(mut self) {
        let steps = self.server.steps_for(&self.message);
        self.run(steps).await;
        if !self.answered {
            self.usual();
        }
    }

    async fn run(&mut self, steps: &[Step]) {
        for step in steps {
            Box::pin(self.step(step)).await;
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Reply(result) => self.reply(result),
            Step::Error(error) => self.finish("error", error),
            Step::ReplyParams => self.reply_text(&self.message["params"].to_string()),
            Step::ReplyAnswers => self.reply_text(&Value::from(self.answers.clone()).to_string()),
            Step::ReplyLength(length) => self.reply_text(&"x".repeat(*length)),
            Step::ReplyEnvironment => self.reply_text(&surroundings().to_string()),
            Step::Wait(name) => self.wait(name).await,
            Step::Reach(name) => drop(File::create(self.file(&format!("reached-{name}")))),
            Step::Stall => std::future::pending().await,
            Step::Block(name) => self.block(name),
            Step::Mute => self.server.mute.store(true, Ordering::Relaxed),
            Step::CloseOutput => close_output(),
            Step::Notify { method, params } => self.send(format!(
                r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#,
                Value::from(method.as_str())
            )),
            Step::Progress { progress, total } => self.progress(*progress, *total),
            Step::Ask { method, params } => self.ask(method, params).await,
            Step::Say(text) => self.send(text.clone()),
            Step::Complain { lines, text } => complain(*lines, text),
            Step::Spawn(kind) => self.spawn(*kind),
            Step::Relist(lists) => {
                *self.server.lists.lock().expect("no step panics") = lists.clone()
            }
            Step::Once(name, steps) => {
                let file = self.file(&format!("once-{name}"));
                if OpenOptions::new()
                    .create_new(true)
                    .write(true)
                    .open(file)
                    .is_ok()
                {
                    self.run(steps).await;
                }
            }
            Step::Repeat(times, step) => {
                for _ in 0..*times {
                    Box::pin(self.step(step)).await;
                }
            }
            Step::Bytes(bytes) => self.put(Output::Bytes(bytes.clone())),
            Step::Binary(bytes) => self.put(Output::Binary(bytes.clone())),
            Step::Close { code, reason } => {
                let (code, reason) = (*code, reason.clone());
                self.end(Output::Close { code, reason });
            }
            Step::Status {
                code,
                headers,
                body,
            } => {
                let (code, headers, body) = (*code, headers.clone(), body.clone());
                self.end(Output::Status {
                    code,
                    headers,
                    body,
                });
            }
            Step::HangUp => self.end(Output::HangUp),
            Step::ForgetSessions => self.server.sessions.lock().expect("no step panics").clear(),
            Step::Exit(status) => std::process::exit(*status),
            Step::Die => die(),
        }
    }

    /// Polls for the file, which is simple and lets the test see the released names.
    async fn wait(&self, name: &str) {
        let file = self.file(&format!("release-{name}"));
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Blocks the runtime, which has only this thread.
    fn block(&self, name: &str) {
        let file = self.file(&format!("release-{name}"));
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    async fn ask(&mut self, method: &str, params: &str) {
        let number = self.server.next_ask.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-ask-{number}", self.server.script.name);
        let (sender, answer) = oneshot::channel();
        let id = Value::from(id).to_string();
        self.server
            .asked
            .lock()
            .expect("no step panics")
            .insert(id.clone(), sender);
        let method = Value::from(method);
        self.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#
        ));
        if let Ok(mut answer) = answer.await {
            let body = if answer["error"].is_null() {
                answer["result"].take()
            } else {
                json!({ "error": answer["error"] })
            };
            self.answers.push(body);
        }
    }

    fn progress(&self, progress: u64, total: u64) {
        let token = &self.message["params"]["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": progress, "total": total });
            self.send(
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
                    .to_string(),
            );
        }
    }

    fn spawn(&self, kind: Grandchild) {
        let command = match kind {
            Grandchild::InGroup => Command::new("sleep")
                .arg("1000")
                .stdin(Stdio::null())
                .spawn(),
            Grandchild::OwnSession => Command::new("setsid")
                .args(["sleep", "1000"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn(),
        };
        let mut child = command.expect("sleep and setsid are there");
        self.server.note(GRANDCHILDREN, &child.id().to_string());
        // A zombie would look like a leftover process.
        std::thread::spawn(move || child.wait());
    }

    pub(super) fn reply_text(&mut self, text: &str) {
        self.reply(&json!({ "content": [{ "type": "text", "text": text }] }).to_string());
    }

    pub(super) fn reply(&mut self, result: &str) {
        self.finish("result", result);
    }

    pub(super) fn refuse(&mut self, code: i64, message: &str) {
        self.finish(
            "error",
            &json!({ "code": code, "message": message }).to_string(),
        );
    }

    fn finish(&mut self, member: &str, body: &str) {
        let id = &self.message["id"];
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"{member}":{body}}}"#);
        self.end(Output::Answer(answer));
    }

    /// Sends output that takes the place of an answer.
    fn end(&mut self, output: Output) {
        self.answered = true;
        if !self.server.mute.load(Ordering::Relaxed) {
            self.put(output);
        }
    }

    fn send(&self, text: String) {
        self.put(Output::Message(text));
    }

    fn put(&self, output: Output) {
        // The client may have disconnected already.
        let _ = self.out.send(output);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.server.folder.join(name)
    }
}

fn surroundings() -> Value {
    let env: serde_json::Map<String, Value> = std::env::vars()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cwd = std::env::current_dir().map(|cwd| cwd.display().to_string());
    json!({ "cwd": cwd.unwrap_or_default(), "args": args, "env": env })
}

fn complain(lines: u64, text: &str) {
    let mut stderr = std::io::stderr().lock();
    for number in 1..=lines {
        let _ = writeln!(stderr, "{text} {number}");
    }
}

/// Closes stdout by replacing it. This is the only handle to it, so the reader sees the end.
fn close_output() {
    let nowhere = OpenOptions::new().write(true).open("/dev/null");
    let nowhere = nowhere.expect("/dev/null opens");
    rustix::stdio::dup2_stdout(nowhere).expect("stdout can be replaced");
}

/// Kills the server, as the kernel does when memory runs out.
fn die() -> ! {
    let own = std::process::id().to_string();
    let _ = Command::new("kill").args(["-9", &own]).status();
    std::process::abort()
}
