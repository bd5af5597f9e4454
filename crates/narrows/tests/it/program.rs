//! Runs `narrows` in its own folder and environment.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The program under test.
pub(crate) const NARROWS: &str = env!("CARGO_BIN_EXE_narrows");

/// An empty folder, removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    /// Creates a folder with this text as `narrows.json`.
    pub(crate) fn with(config: &str) -> Self {
        let folder = Folder::new();
        folder.write("narrows.json", config);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }

    /// Returns a command that runs the program with this folder as working directory and home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(NARROWS);
        command
            .args(arguments)
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.0)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::from(
            self.command(arguments)
                .output()
                .expect("the program can be run"),
        )
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> ProgramOutput {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be run");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        stdin
            .write_all(input.as_bytes())
            .expect("the program reads its input");
        drop(stdin);
        ProgramOutput::from(child.wait_with_output().expect("the program ends"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        ProgramOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }
}

impl ProgramOutput {
    /// Formats the exit code and both streams for golden tests.
    pub(crate) fn shown(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!(
            "exit {code}\n--- stdout\n{}--- stderr\n{}",
            self.stdout, self.stderr
        )
    }
}

/// A running program.
pub(crate) struct RunningProgram {
    pub(crate) child: Child,
}

impl RunningProgram {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        RunningProgram {
            child: command.spawn().expect("the program can be run"),
        }
    }

    /// Reads stderr up to the listen address and returns its port.
    pub(crate) fn port(&mut self) -> u16 {
        let mut stderr = self.child.stderr.take().expect("stderr is a pipe");
        let read = read_until(&mut stderr, |text| port_in(text).is_some());
        self.child.stderr = Some(stderr);
        port_in(&read).unwrap_or_else(|| panic!("no address in {read}"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(status.expect("kill can be run").success());
    }

    pub(crate) fn wait(mut self) -> ProgramOutput {
        let stderr = self.child.stderr.take();
        let stderr = std::thread::spawn(move || read_all(stderr));
        let stdout = read_all(self.child.stdout.take());
        let status = self.child.wait().expect("the program ends");
        let stderr = stderr.join().expect("stderr is UTF-8");
        ProgramOutput {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

/// A failed test leaves no process running.
impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(stream: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(mut stream) = stream {
        stream.read_to_string(&mut text).expect("it is UTF-8");
    }
    text
}

fn read_until(stderr: &mut ChildStderr, enough: impl Fn(&str) -> bool) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !enough(&String::from_utf8_lossy(&read)) && stderr.read(&mut byte).unwrap_or(0) == 1 {
        read.push(byte[0]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Returns the port of the first complete `http://127.0.0.1:PORT`.
fn port_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("http://127.0.0.1:")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}
