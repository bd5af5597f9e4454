//! The guard: a small process of the same binary that ends our children's
//! process trees if we die without having done so ourselves.
//!
//! Nothing runs in a process that was killed, and the kernel's parent-death
//! signal reaches neither grandchildren nor survives the spawning thread. So
//! the guard holds the reading end of a pipe whose other end only the gateway
//! has: however the gateway ends, the pipe ends with it. `Guard` is the
//! gateway's side, [`run`] is all that the other process does.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::process::{self, Tree};

/// How long trees get to end by SIGTERM once the gateway is gone.
const GRACE: Duration = Duration::from_secs(2);
/// How long SIGKILL is repeated for what keeps appearing.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// A running guard, as the gateway holds it. Cheap to clone; when the last
/// clone is dropped the guard sees the end of its pipe and exits.
#[derive(Clone)]
pub(crate) struct Guard(Arc<Held>);

struct Held {
    /// Taken only by `drop`.
    child: Option<Child>,
    mark: String,
    marks_given: AtomicU64,
    lost: AtomicBool,
}

/// A guard that starts with the first child process that needs one.
#[derive(Default)]
pub(crate) struct LazyGuard {
    command: Option<Vec<OsString>>,
    started: OnceLock<Option<Guard>>,
}

impl LazyGuard {
    pub(crate) fn new(command: Option<Vec<OsString>>) -> LazyGuard {
        LazyGuard {
            command,
            started: OnceLock::new(),
        }
    }

    /// `None` where there is none, or where it cannot be started.
    pub(crate) fn get(&self) -> Option<&Guard> {
        let start = || {
            let started = Guard::start(self.command.as_deref()?);
            started
                .inspect_err(|error| tracing::warn!("no guard process: {error}"))
                .ok()
        };
        self.started.get_or_init(start).as_ref()
    }
}

impl Guard {
    /// Starts the guard by `command`, program and arguments, which must lead to [`run`].
    pub(crate) fn start(command: &[OsString]) -> io::Result<Guard> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the guard's command is empty",
            ));
        };
        let mut child = std::os::unix::process::CommandExt::process_group(
            Command::new(program)
                .args(arguments)
                // It needs no variable of ours, and it must not carry the mark
                // of a gateway above us: that one would end it before its work.
                .env_clear()
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
            // A Ctrl-C at the terminal is not for the guard.
            0,
        )
        .spawn()?;
        if let Some(pipe) = &child.stdin
            // A guard that was stopped must not stop us, so a full pipe is an error instead of a wait.
            && let Err(error) = rustix::io::ioctl_fionbio(pipe, true)
        {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error.into());
        }
        let guard = Guard(Arc::new(Held {
            child: Some(child),
            mark: process::fresh_mark(),
            marks_given: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }));
        guard.tell(&format!("={}\n", guard.0.mark));
        Ok(guard)
    }

    /// A mark for a new tree. The guard knows what all marks it gives begin
    /// with, so it finds a child even if we die between starting and watching it.
    pub(crate) fn mark(&self) -> String {
        format!(
            "{}.{}",
            self.0.mark,
            self.0.marks_given.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// To be called as soon as a group leader has been started.
    pub(crate) fn watch(&self, group: u32) {
        self.tell(&format!("+{group}\n"));
    }

    /// To be called when the group's tree is gone.
    pub(crate) fn release(&self, group: u32) {
        self.tell(&format!("-{group}\n"));
    }

    /// One line; short enough that a pipe takes it whole or not at all.
    fn tell(&self, line: &str) {
        let Some(mut pipe) = self.0.child.as_ref().and_then(|child| child.stdin.as_ref()) else {
            return;
        };
        if let Err(error) = pipe.write_all(line.as_bytes())
            && !self.0.lost.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "the guard process is gone; a SIGKILL of the gateway would leave servers running");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        drop(child.stdin.take());
        // Waiting for it keeps no zombie where the process lives on (tests, an
        // embedder); it takes a moment, or a grace if groups were left to it.
        let _ = thread::Builder::new()
            .name("guard-reaper".into())
            .spawn(move || child.wait());
    }
}

/// The guard process itself: returns when the gateway is gone and its trees are ended.
///
/// Its stdin is the pipe from the gateway. It must be called before anything
/// large is set up, for it lives as long as the gateway does.
pub fn run() -> io::Result<()> {
    ignore_signals()?;
    let mut tree = read_orders(io::stdin().lock());
    end(&mut tree);
    Ok(())
}

/// Reads until the pipe ends. A line that makes no sense, or half of one, is passed over.
fn read_orders(input: impl BufRead) -> Tree {
    let mut tree = Tree::new(process::fresh_mark());
    for line in input.lines().map_while(Result::ok) {
        let Some((order, value)) = line.split_at_checked(1) else {
            continue;
        };
        match (order, value.parse::<u32>()) {
            ("=", _) if !value.is_empty() => tree = Tree::new(value),
            ("+", Ok(group)) => tree.add_group(group),
            ("-", Ok(group)) => tree.remove_group(group),
            _ => {}
        }
    }
    tree
}

/// Ends what is left, in order if it lets us.
fn end(tree: &mut Tree) {
    if tree.is_gone() {
        return;
    }
    tree.signal(Signal::TERM);
    if gone_within(tree, GRACE) {
        return;
    }
    let limit = Instant::now() + KILL_LIMIT;
    while Instant::now() < limit {
        // Again and again: what forks while we look escapes one round.
        tree.signal(Signal::KILL);
        if gone_within(tree, Duration::from_millis(50)) {
            return;
        }
    }
}

fn gone_within(tree: &mut Tree, limit: Duration) -> bool {
    let limit = Instant::now() + limit;
    loop {
        if tree.is_gone() {
            return true;
        }
        if Instant::now() >= limit {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What asks the gateway to end (a terminal, `pkill`, a service manager) often
/// reaches the guard too, whose work begins only after that.
///
/// Setting a handler is `unsafe` in std, so tokio's are used: they stay when the
/// runtime that set them is gone, and nobody listens to what they report.
fn ignore_signals() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _context = runtime.enter();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ] {
        let _ = signal(kind)?;
    }
    Ok(())
}
