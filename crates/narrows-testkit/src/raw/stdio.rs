//! A client that speaks to a child's stdin and stdout.

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::LIMIT;
use crate::scripted::Framing;

/// A running child. Killed when dropped (it alone, not what it has started).
#[derive(Debug)]
pub struct Stdio {
    child: Child,
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: Arc<Mutex<String>>,
    framing: Framing,
    /// Read while something else was waited for.
    aside: VecDeque<Value>,
    next_id: u64,
}

impl Stdio {
    /// Starts the command with all three streams piped.
    pub fn start(command: &mut Command) -> Stdio {
        Stdio::start_framed(command, Framing::Newline)
    }

    pub fn start_framed(command: &mut Command, framing: Framing) -> Stdio {
        let piped = std::process::Stdio::piped;
        let command = command
            .stdin(piped())
            .stdout(piped())
            .stderr(piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the command starts");
        let pid = child.id().expect("it was not waited for");
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let said = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(stderr.expect("it is piped")).lines();
        let heard = said.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut heard = heard.lock().expect("nobody panics with it");
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Stdio {
            child,
            pid,
            stdin,
            stdout: BufReader::new(stdout.expect("it is piped")),
            stderr: said,
            framing,
            aside: VecDeque::new(),
            next_id: 1,
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// All that came on stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("nobody panics with it").clone()
    }

    /// Sends one message as it is, in a frame.
    pub async fn send_text(&mut self, text: &str) {
        let frame = match self.framing {
            Framing::Newline => format!("{text}\n"),
            Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        };
        self.send_bytes(frame.as_bytes()).await;
    }

    /// Sends bytes without a frame.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin was not closed");
        stdin.write_all(bytes).await.expect("the child reads");
        stdin.flush().await.expect("the child reads");
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends a request and gives its id.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Sends a request and waits for its whole answer. Other messages wait for [`Stdio::next`].
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer_to(id).await
    }

    pub async fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
    }

    /// Says hello; gives the result.
    pub async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "raw-client", "version": "1.0.0" });
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let mut answer = self.call("initialize", params).await;
        assert!(
            answer["error"].is_null(),
            "initialize was refused: {answer}"
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        answer["result"].take()
    }

    /// The next message, in the order they came.
    pub async fn next(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read().await,
        }
    }

    /// The next frame as it is; `None` at the end. What was put aside is not seen.
    pub async fn next_text(&mut self) -> Option<String> {
        let read = timeout(LIMIT, read_frame(self.framing, &mut self.stdout)).await;
        read.unwrap_or_else(|_| panic!("nothing came within {LIMIT:?}; stderr:\n{}", self.stderr()))
    }

    pub async fn answer_to(&mut self, id: u64) -> Value {
        self.find(|message| message["id"] == id && message["method"].is_null())
            .await
    }

    /// The next notification or question of this method.
    pub async fn message(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// The first message that fits; others are put aside.
    pub async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.aside.iter().position(&fits) {
            return self.aside.remove(place).expect("it was just found");
        }
        loop {
            let message = self.read().await;
            if fits(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// What was read and not asked for so far.
    pub fn aside(&self) -> impl Iterator<Item = &Value> {
        self.aside.iter()
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the child.
    pub async fn wait(&mut self) -> ExitStatus {
        let status = timeout(LIMIT, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| {
            panic!(
                "it did not end within {LIMIT:?}; stderr:\n{}",
                self.stderr()
            )
        });
        status.expect("it is our child")
    }

    /// SIGKILL, to the child alone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it is our child");
    }

    async fn read(&mut self) -> Value {
        let Some(text) = self.next_text().await else {
            panic!("the output ended; stderr:\n{}", self.stderr());
        };
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }
}

async fn read_frame(framing: Framing, stdout: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    match framing {
        Framing::Newline => {
            let count = stdout.read_line(&mut line).await.expect("stdout is text");
            (count > 0).then(|| line.trim_end_matches('\n').to_owned())
        }
        Framing::ContentLength => {
            let mut length = None;
            loop {
                line.clear();
                if stdout.read_line(&mut line).await.expect("stdout is text") == 0 {
                    return None;
                }
                match line.trim_end().split_once(':') {
                    Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                        length = Some(value.trim().parse().expect("a length"));
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length.expect("a frame has a length")];
            stdout.read_exact(&mut body).await.expect("a whole frame");
            Some(String::from_utf8(body).expect("text"))
        }
    }
}
