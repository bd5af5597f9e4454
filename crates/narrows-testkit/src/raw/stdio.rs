//! A client on the stdin and stdout of a child process.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::client::{Client, Line, Waiting};
use super::limited;
use crate::LIMIT;
use crate::scripted::Framing;

/// The client of a running child. Dropping kills the child, but not its own children.
pub type Stdio = Client<Pipes>;

#[derive(Debug)]
pub struct Pipes {
    child: Child,
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: Arc<Mutex<String>>,
    framing: Framing,
}

impl Stdio {
    /// Starts the command with stdin, stdout and stderr piped.
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
                let mut heard = heard.lock().expect("no task panics while holding it");
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        Client::on(Pipes {
            child,
            pid,
            stdin,
            stdout: BufReader::new(stdout.expect("it is piped")),
            stderr: said,
            framing,
        })
    }

    pub fn pid(&self) -> u32 {
        self.line.pid
    }

    /// Returns all stderr output so far.
    pub fn stderr(&self) -> String {
        self.line.stderr()
    }

    /// Sends bytes without framing.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        limited("sending", self.line.send_bytes(bytes)).await;
    }

    pub fn close_stdin(&mut self) {
        self.line.stdin = None;
    }

    /// Waits until the child has ended.
    pub async fn wait(&mut self) -> ExitStatus {
        let status = timeout(LIMIT, self.line.child.wait()).await;
        let status = status.unwrap_or_else(|_| {
            panic!(
                "the child did not end within {LIMIT:?}; stderr:\n{}",
                self.stderr()
            )
        });
        status.expect("the child has not been waited for")
    }

    /// Sends SIGKILL to the child alone.
    pub async fn kill(&mut self) {
        self.line
            .child
            .kill()
            .await
            .expect("the child has not been waited for");
    }
}

impl Pipes {
    fn stderr(&self) -> String {
        self.stderr
            .lock()
            .expect("no task panics while holding it")
            .clone()
    }

    async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin was not closed");
        stdin.write_all(bytes).await.expect("the child reads");
        stdin.flush().await.expect("the child reads");
    }
}

impl Line for Pipes {
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()> {
        let frame = match self.framing {
            Framing::Newline => format!("{text}\n"),
            Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        };
        Box::pin(async move { self.send_bytes(frame.as_bytes()).await })
    }

    fn next_text(&mut self) -> Waiting<'_, Option<String>> {
        Box::pin(read_frame(self.framing, &mut self.stdout))
    }

    fn close(&mut self) -> Waiting<'_, ()> {
        self.stdin = None;
        Box::pin(std::future::ready(()))
    }

    fn circumstances(&self) -> String {
        format!("; stderr:\n{}", self.stderr())
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
