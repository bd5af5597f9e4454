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

use crate::process::{self, Tree};

/// The time that trees get to end by SIGTERM once the gateway is gone.
const GRACE: Duration = Duration::from_secs(2);
/// Between two starts of a guard that ends at once.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// The time for which SIGKILL is repeated while new processes appear.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// A running guard, as the gateway holds it. Cheap to clone; when the last
/// clone is dropped the guard sees the end of its pipe and exits. A guard that
/// is killed is replaced by another.
#[derive(Clone)]
pub struct Guard(Arc<Held>);

struct Held {
    command: Vec<OsString>,
    mark: String,
    marks_given: AtomicU64,
    state: Mutex<Watching>,
}

/// The guard process and what it must know.
struct Watching {
    /// None while there is no such process.
    pipe: Option<ChildStdin>,
    /// True if it missed something.
    behind: bool,
    #[cfg(test)]
    pid: u32,
    groups: BTreeSet<u32>,
}

/// A guard that starts with the first child process that needs one.
#[derive(Default)]
pub struct LazyGuard {
    command: Option<Vec<OsString>>,
    subreaper: Option<Vec<OsString>>,
    started: OnceLock<Option<Guard>>,
}

impl LazyGuard {
    /// The commands lead to [`run`] and to [`subreaper::run`](crate::subreaper::run).
    pub fn new(command: Option<Vec<OsString>>, subreaper: Option<Vec<OsString>>) -> LazyGuard {
        LazyGuard {
            command,
            subreaper,
            started: OnceLock::new(),
        }
    }

    /// `None` where there is none, or where it cannot be started.
    pub fn get(&self) -> Option<&Guard> {
        let start = || {
            if self.subreaper.is_some() {
                process::adopt_orphans();
            }
            let started = Guard::start(self.command.as_deref()?);
            started
                .inspect_err(|error| tracing::warn!("no guard process: {error}"))
                .ok()
        };
        self.started.get_or_init(start).as_ref()
    }

    /// The command that starts servers.
    pub fn subreaper(&self) -> Option<&[OsString]> {
        self.subreaper.as_deref()
    }
}

impl Guard {
    /// Starts the guard by `command`, program and arguments, which must lead to [`run`].
    pub fn start(command: &[OsString]) -> io::Result<Guard> {
        let guard = Guard(Arc::new(Held {
            command: command.to_vec(),
            mark: process::fresh_mark(),
            marks_given: AtomicU64::new(0),
            state: Mutex::new(Watching {
                pipe: None,
                behind: false,
                #[cfg(test)]
                pid: 0,
                groups: BTreeSet::new(),
            }),
        }));
        let child = guard.0.begin()?;
        keep(Arc::downgrade(&guard.0), child)?;
        Ok(guard)
    }

    /// A mark for a new tree. The guard knows what all marks it gives begin
    /// with, so it finds a child even if we die between starting and watching it.
    pub fn mark(&self) -> String {
        format!(
            "{}.{}",
            self.0.mark,
            self.0.marks_given.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// To be called as soon as a group leader has been started.
    pub fn watch(&self, group: u32) {
        let mut state = self.0.state.lock();
        state.groups.insert(group);
        state.tell(&format!("+{group}\n"));
    }

    /// To be called when the group's tree is gone.
    pub fn release(&self, group: u32) {
        let mut state = self.0.state.lock();
        state.groups.remove(&group);
        state.tell(&format!("-{group}\n"));
    }
}

impl Held {
    /// Starts the process and says all that it must know.
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
                // It needs no variable of ours, and it must not carry the mark
                // of a gateway above us: that one would end it before its work.
                .env_clear()
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
            // A Ctrl-C at the terminal is not for the guard.
            0,
        );
        let mut child = process::start(|| command.spawn(), |child| Some(child.id()))?;
        let pipe = child.stdin.take();
        if let Some(pipe) = &pipe
            // A guard that was stopped must not stop us, so a full pipe is an error instead of a wait.
            && let Err(error) = rustix::io::ioctl_fionbio(pipe, true)
        {
            let _ = child.kill();
            let _ = child.wait();
            process::forget(child.id());
            return Err(error.into());
        }
        let mut state = self.state.lock();
        state.pipe = pipe;
        state.behind = false;
        #[cfg(test)]
        {
            state.pid = child.id();
        }
        let groups = state.groups.iter().map(|group| format!("+{group}\n"));
        let known: String = groups.collect();
        state.tell(&format!("={}\n{known}", self.mark));
        Ok(child)
    }
}

impl Watching {
    /// Short enough that a pipe takes it whole or not at all. The pipe to a
    /// guard that is gone is closed, and the next guard learns all from
    /// `groups`. One that was stopped keeps its pipe: it would take its end for
    /// that of the gateway.
    fn tell(&mut self, lines: &str) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write_all(lines.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.pipe = None,
            Err(error) if !self.behind => {
                self.behind = true;
                tracing::warn!(%error, "the guard process does not read; a SIGKILL of the gateway may leave servers running");
            }
            _ => {}
        }
    }
}

/// Waits for the guard process in a thread of its own, and starts another for
/// as long as the gateway needs one.
fn keep(held: Weak<Held>, mut child: Child) -> io::Result<()> {
    let keeping = move || {
        loop {
            let _ = child.wait();
            process::forget(child.id());
            let Some(held) = held.upgrade() else { return };
            held.state.lock().pipe = None;
            tracing::warn!("the guard process has ended; starting another");
            match held.begin() {
                Ok(next) => {
                    tracing::info!(pid = next.id(), "another guard process watches the servers");
                    child = next;
                }
                Err(error) => {
                    tracing::warn!(
                        "no guard process, so a SIGKILL of the gateway may leave servers running: {error}"
                    );
                    return;
                }
            }
            drop(held);
            // One that cannot live is not started without a pause.
            thread::sleep(RESTART_PAUSE);
        }
    };
    thread::Builder::new()
        .name("guard-keeper".into())
        .spawn(keeping)
        .map(drop)
}

/// The guard process itself: returns when the gateway is gone and its trees are ended.
///
/// Its stdin is the pipe from the gateway. It must be called before anything
/// large is set up, for it lives as long as the gateway does.
pub fn run() -> io::Result<()> {
    ignore_signals()?;
    // A guard that replaces another is younger than the servers.
    process::include_older();
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
pub(crate) fn end(tree: &mut Tree) {
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

/// Signals that ask the gateway to end (by a terminal, `pkill`, a service manager)
/// often reach the guard too, whose work begins only after that.
///
/// Setting a handler is `unsafe` in std, so tokio's are used: they stay when the
/// runtime that set them is gone, and nobody listens to what they report.
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
