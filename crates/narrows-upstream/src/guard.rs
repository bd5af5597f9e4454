//! The guard: a small process of the same binary that ends the process trees of the servers if the
//! gateway dies without doing so.
//!
//! A killed process cannot clean up, and the kernel's parent-death signal neither reaches
//! grandchildren nor survives the thread that spawned the child. Therefore the guard holds the
//! read end of a pipe whose write end only the gateway has. When the gateway ends for any reason,
//! the pipe is closed. `Guard` is the gateway's side, [`run`] is the guard process itself.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::Signal;

use crate::process::{self, ProcessTree};

/// The time that process trees have to exit after SIGTERM once the gateway has ended.
const GRACE: Duration = Duration::from_secs(2);
/// The pause between two starts of a guard that exits immediately.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// The time during which SIGKILL is repeated while new processes appear.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// A handle to a running guard, cheap to clone. When the last clone is dropped, the guard reads the
/// end of its pipe and exits. A guard that is killed is replaced.
#[derive(Clone)]
pub struct Guard(Arc<GuardInner>);

struct GuardInner {
    command: Vec<OsString>,
    mark: String,
    next_mark: AtomicU64,
    state: Mutex<GuardState>,
}

/// The guard process and the state that it must know.
struct GuardState {
    /// The pipe to the guard process. `None` while there is no such process.
    pipe: Option<ChildStdin>,
    /// True if the guard has missed a message because its pipe was full.
    out_of_sync: bool,
    #[cfg(test)]
    pid: u32,
    groups: BTreeSet<u32>,
}

/// A guard that is started together with the first child process.
#[derive(Default)]
pub struct LazyGuard {
    command: Option<Vec<OsString>>,
    subreaper: Option<Vec<OsString>>,
    started: OnceLock<Option<Guard>>,
}

impl LazyGuard {
    /// Takes the commands that start [`run`] and [`subreaper::run`](crate::subreaper::run).
    pub fn new(command: Option<Vec<OsString>>, subreaper: Option<Vec<OsString>>) -> LazyGuard {
        LazyGuard {
            command,
            subreaper,
            started: OnceLock::new(),
        }
    }

    /// Returns the guard, which is started on the first call. `None` if no command is configured or
    /// the guard cannot be started.
    pub fn get(&self) -> Option<&Guard> {
        let start = || {
            if self.subreaper.is_some() {
                process::adopt_orphans();
            }
            let started = Guard::start(self.command.as_deref()?);
            started
                .inspect_err(|error| tracing::warn!("could not start the guard process: {error}"))
                .ok()
        };
        self.started.get_or_init(start).as_ref()
    }

    /// Returns the command of the subreaper that starts servers.
    pub fn subreaper(&self) -> Option<&[OsString]> {
        self.subreaper.as_deref()
    }
}

impl Guard {
    /// Starts the guard with `command` (program and arguments), which must call [`run`].
    pub fn start(command: &[OsString]) -> io::Result<Guard> {
        let guard = Guard(Arc::new(GuardInner {
            command: command.to_vec(),
            mark: process::fresh_mark(),
            next_mark: AtomicU64::new(0),
            state: Mutex::new(GuardState {
                pipe: None,
                out_of_sync: false,
                #[cfg(test)]
                pid: 0,
                groups: BTreeSet::new(),
            }),
        }));
        let child = guard.0.begin()?;
        keep(Arc::downgrade(&guard.0), child)?;
        Ok(guard)
    }

    /// Returns a mark for a new process tree. All marks of one guard have a common prefix, so the
    /// guard finds a child even if the gateway dies after starting it and before calling
    /// [`Guard::watch`].
    pub fn mark(&self) -> String {
        format!(
            "{}.{}",
            self.0.mark,
            self.0.next_mark.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// Starts watching a process group. Must be called as soon as the group leader has been
    /// started.
    pub fn watch(&self, group: u32) {
        let mut state = self.0.state.lock();
        state.groups.insert(group);
        state.send(&format!("+{group}\n"));
    }

    /// Stops watching a process group. Called when its process tree has ended.
    pub fn release(&self, group: u32) {
        let mut state = self.0.state.lock();
        state.groups.remove(&group);
        state.send(&format!("-{group}\n"));
    }
}

impl GuardInner {
    /// Starts the guard process and sends it the current state.
    fn begin(&self) -> io::Result<Child> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the guard's command is empty",
            ));
        };
        let mut command = Command::new(program);
        let command = std::os::unix::process::CommandExt::process_group(
            command
                .args(arguments)
                // The guard needs no environment variables, and it must not carry the mark of a
                // gateway above this one, which would kill it before it can do its work.
                .env_clear()
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
            // In a process group of its own, the guard does not receive Ctrl-C from the terminal.
            0,
        );
        let mut child = process::start(|| command.spawn(), |child| Some(child.id()))?;
        let pipe = child.stdin.take();
        if let Some(pipe) = &pipe
            // A stopped guard must not block the gateway, so a full pipe is an error.
            && let Err(error) = rustix::io::ioctl_fionbio(pipe, true)
        {
            let _ = child.kill();
            let _ = child.wait();
            process::forget(child.id());
            return Err(error.into());
        }
        let mut state = self.state.lock();
        state.pipe = pipe;
        state.out_of_sync = false;
        #[cfg(test)]
        {
            state.pid = child.id();
        }
        let groups = state.groups.iter().map(|group| format!("+{group}\n"));
        let known: String = groups.collect();
        state.send(&format!("={}\n{known}", self.mark));
        Ok(child)
    }
}

impl GuardState {
    /// Sends lines to the guard. They are short enough that a pipe takes them whole or not at all.
    /// If the guard has exited, the pipe is closed, and the next guard receives all of `groups`. If
    /// the guard is only stopped, the pipe stays open, because the guard would take its end for the
    /// end of the gateway.
    fn send(&mut self, lines: &str) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write_all(lines.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.pipe = None,
            Err(error) if !self.out_of_sync => {
                self.out_of_sync = true;
                tracing::warn!(%error, "the guard process does not read its pipe; servers may keep running if the gateway is killed with SIGKILL");
            }
            _ => {}
        }
    }
}

/// Waits for the guard process in a separate thread, and starts another guard as long as the
/// gateway needs one.
fn keep(inner: Weak<GuardInner>, mut child: Child) -> io::Result<()> {
    let keeping = move || {
        loop {
            let _ = child.wait();
            process::forget(child.id());
            let Some(inner) = inner.upgrade() else { return };
            inner.state.lock().pipe = None;
            tracing::warn!("the guard process has ended; starting another");
            match inner.begin() {
                Ok(next) => {
                    tracing::info!(pid = next.id(), "a new guard process watches the servers");
                    child = next;
                }
                Err(error) => {
                    tracing::warn!(
                        "could not restart the guard process, so servers may keep running if the gateway is killed with SIGKILL: {error}"
                    );
                    return;
                }
            }
            drop(inner);
            // The pause limits how often a guard that cannot run is restarted.
            thread::sleep(RESTART_PAUSE);
        }
    };
    thread::Builder::new()
        .name("guard-restart".into())
        .spawn(keeping)
        .map(drop)
}

/// Runs the guard process. Returns when the gateway has ended and its process trees have been
/// ended.
///
/// The pipe from the gateway is stdin. Call this before allocating anything large, because the
/// guard lives as long as the gateway.
pub fn run() -> io::Result<()> {
    ignore_signals()?;
    // A guard that replaces another one is younger than the servers.
    process::include_older();
    let mut tree = read_commands(io::stdin().lock());
    end(&mut tree);
    Ok(())
}

/// Reads commands until the pipe is closed. Invalid or incomplete lines are ignored.
fn read_commands(input: impl BufRead) -> ProcessTree {
    let mut tree = ProcessTree::new(process::fresh_mark());
    for line in input.lines().map_while(Result::ok) {
        let Some((order, value)) = line.split_at_checked(1) else {
            continue;
        };
        match (order, value.parse::<u32>()) {
            ("=", _) if !value.is_empty() => tree = ProcessTree::new(value),
            ("+", Ok(group)) => tree.add_group(group),
            ("-", Ok(group)) => tree.remove_group(group),
            _ => {}
        }
    }
    tree
}

/// Ends all processes of the tree, first with SIGTERM and then with SIGKILL.
pub(crate) fn end(tree: &mut ProcessTree) {
    if tree.is_gone() {
        return;
    }
    tree.signal(Signal::TERM);
    if gone_within(tree, GRACE) {
        return;
    }
    let limit = Instant::now() + KILL_LIMIT;
    while Instant::now() < limit {
        // Repeated, because a process that forks during one round can escape it.
        tree.signal(Signal::KILL);
        if gone_within(tree, Duration::from_millis(50)) {
            return;
        }
    }
}

fn gone_within(tree: &mut ProcessTree, limit: Duration) -> bool {
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

/// Ignores signals that ask the gateway to exit. A terminal, `pkill` or a service manager often
/// sends them to the guard too, but its work only begins after the gateway has ended.
///
/// Setting a handler is `unsafe` in std, so tokio's handlers are used. They stay installed after
/// the runtime is dropped, and nothing reads their events.
pub(crate) fn ignore_signals() -> io::Result<()> {
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
