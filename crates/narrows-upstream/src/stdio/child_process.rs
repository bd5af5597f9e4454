//! Owns one child process: waits for its exit, ends it when the channel is closed, and ends all
//! processes that it has started.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use tokio::process::Child;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::channel::Closer;
use crate::guard::Guard;
use crate::process::{self, ProcessTree};

/// The minimum time to wait for a killed process. Killing takes effect immediately, except on a
/// process that is inside a system call.
const KILL_WAIT: Duration = Duration::from_millis(100);
/// The time to wait for the rest of stderr, which is already in the pipe once all its writers have
/// exited.
const STDERR_WAIT: Duration = Duration::from_millis(100);

pub(super) struct ChildProcess {
    owned: OwnedTree,
    writer: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<()>>,
    life: watch::Sender<ProcessState>,
    closing: CancellationToken,
}

/// The state of the child process itself, independent of its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    Running,
    /// The exit status is `None` if another part of the program has reaped the child.
    Ended(Option<ExitStatus>),
}

impl ProcessState {
    pub(super) fn is_over(&self) -> bool {
        *self != ProcessState::Running
    }
}

/// A command to end the child. If it is sent, the child is ended gracefully, and the contained
/// sender is dropped when that is done. If it is dropped without being sent, the child is killed
/// immediately.
type CloseRequest = oneshot::Sender<()>;

impl ChildProcess {
    pub(super) fn new(
        child: Child,
        pid: u32,
        tree: ProcessTree,
        guard: Option<Guard>,
    ) -> ChildProcess {
        ChildProcess {
            owned: OwnedTree {
                child,
                pid,
                tree,
                guard,
                over: false,
            },
            writer: None,
            stderr: None,
            life: watch::Sender::new(ProcessState::Running),
            closing: CancellationToken::new(),
        }
    }

    /// Sets the tasks that serve the pipes of the child. They end together with the child.
    pub(super) fn owning(mut self, writer: JoinHandle<()>, stderr: JoinHandle<()>) -> ChildProcess {
        self.writer = Some(writer);
        self.stderr = Some(stderr);
        self
    }

    /// Sets the channel on which the exit is reported, and the token that is cancelled when the
    /// child should exit.
    pub(super) fn reporting(
        mut self,
        life: watch::Sender<ProcessState>,
        closing: CancellationToken,
    ) -> ChildProcess {
        self.life = life;
        self.closing = closing;
        self
    }

    pub(super) fn start(self, grace: Duration) -> Closer {
        let (order, close_requests) = oneshot::channel::<CloseRequest>();
        tokio::spawn(self.run(grace, close_requests));
        Box::new(move || {
            let (done, finished) = oneshot::channel();
            Box::pin(async move {
                // If the task has already ended, there is nothing left to wait for.
                if order.send(done).is_ok() {
                    let _ = finished.await;
                }
            })
        })
    }

    async fn run(mut self, grace: Duration, mut close_requests: oneshot::Receiver<CloseRequest>) {
        // Held until the end, because the closer waits until it is dropped.
        let mut order = tokio::select! {
            biased;
            order = &mut close_requests => Some(order),
            () = self.exited() => None,
        };
        let start = Instant::now();
        let gone = match &order {
            Some(Ok(_)) => {
                self.leave(grace / 2).await;
                self.terminate().await || self.gone_by(start + grace * 9 / 10).await
            }
            Some(Err(_)) => {
                self.closing.cancel();
                false
            }
            // The child has exited without a command. Its descendants get time to exit, unless the
            // channel is dropped meanwhile.
            None => {
                let limit = start + grace / 2;
                let mut gone = self.terminate().await;
                if !gone {
                    tokio::select! {
                        ended = self.gone_by(limit) => gone = ended,
                        late = &mut close_requests => order = Some(late),
                    }
                }
                if let Some(Ok(_)) = order {
                    gone = self.gone_by(limit).await;
                }
                gone
            }
        };
        let gone = gone || self.kill(start + grace).await;
        self.finish(gone).await;
        drop(order);
    }

    /// Closes stdin and gives the server time to exit.
    async fn leave(&mut self, limit: Duration) {
        // The tree is read first, because the children of a server can no longer be found after it
        // has exited.
        self.with_tree(ProcessTree::collect).await;
        self.closing.cancel();
        let _ = timeout(limit, self.exited()).await;
    }

    /// Sends SIGTERM to the remaining processes. Returns true if there are none.
    async fn terminate(&mut self) -> bool {
        self.with_tree(|tree| {
            let gone = tree.is_gone();
            if !gone {
                tree.signal(Signal::TERM);
            }
            gone
        })
        .await
    }

    /// Kills the remaining processes. Repeated, because a process that forks during one round can
    /// escape it.
    async fn kill(&mut self, limit: Instant) -> bool {
        let limit = limit.max(Instant::now() + KILL_WAIT);
        loop {
            self.with_tree(|tree| tree.signal(Signal::KILL)).await;
            if self
                .gone_by(limit.min(Instant::now() + KILL_WAIT / 2))
                .await
            {
                return true;
            }
            if Instant::now() >= limit {
                return false;
            }
        }
    }

    async fn finish(mut self, gone: bool) {
        let exited = timeout(KILL_WAIT, self.exited()).await.is_ok();
        if exited && gone && self.end_orphans().await {
            self.owned.over = true;
            process::forget(self.owned.pid);
            if let Some(guard) = &self.owned.guard {
                guard.release(self.owned.pid);
            }
        }
        if let Some(writer) = &self.writer {
            writer.abort();
        }
        if let Some(mut stderr) = self.stderr.take()
            && timeout(STDERR_WAIT, &mut stderr).await.is_err()
        {
            // A process outside the tree holds the pipe open.
            stderr.abort();
        }
    }

    /// Ends and reaps the orphans that the child has left to the gateway. They are only adopted
    /// when the child is reaped, which may be after the last reading of the tree.
    async fn end_orphans(&mut self) -> bool {
        let gone = self.with_tree(ProcessTree::is_gone).await || self.kill(Instant::now()).await;
        let _ = spawn_blocking(|| process::reap_orphans(KILL_WAIT)).await;
        gone
    }

    /// Waits until the child itself has exited, and reaps it.
    async fn exited(&mut self) {
        let status = self.owned.child.wait().await.ok();
        self.life.send_if_modified(|life| {
            let news = !life.is_over();
            *life = ProcessState::Ended(status);
            news
        });
    }

    /// Waits until the tree has ended, at most until `limit`. Only the child itself can be awaited;
    /// its descendants must be polled.
    async fn gone_by(&mut self, limit: Instant) -> bool {
        let mut pause = Duration::from_millis(1);
        loop {
            if self.with_tree(ProcessTree::is_gone).await {
                return true;
            }
            if Instant::now() >= limit {
                return false;
            }
            let running = !self.life.borrow().is_over();
            tokio::select! {
                () = sleep(pause.min(limit - Instant::now())) => {}
                () = self.exited(), if running => {}
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Runs `act` with the tree on the blocking pool. It gets a copy, so that `owned` still knows
    /// all processes if the runtime shuts down meanwhile.
    async fn with_tree<T>(&mut self, act: impl FnOnce(&mut ProcessTree) -> T + Send + 'static) -> T
    where
        T: Default + Send + 'static,
    {
        let mut tree = self.owned.tree.clone();
        let done = spawn_blocking(move || {
            let result = act(&mut tree);
            (tree, result)
        });
        match done.await {
            Ok((tree, result)) => {
                self.owned.tree = tree;
                result
            }
            // The runtime is shutting down and will drop this task.
            Err(_) => T::default(),
        }
    }
}

/// The processes of the server, which are killed on drop even if the runtime has shut down.
struct OwnedTree {
    child: Child,
    pid: u32,
    tree: ProcessTree,
    guard: Option<Guard>,
    /// True if no process is left to end.
    over: bool,
}

impl Drop for OwnedTree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.tree.signal(Signal::KILL);
        // Tokio only reaps while its runtime is running, and it may be shutting down.
        let child = self.child.id();
        let child = child.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let (pid, mut tree) = (self.pid, self.tree.clone());
        let reap = move || {
            if child.is_some() {
                let _ = waitpid(child, WaitOptions::empty());
            }
            process::forget(pid);
            // The orphans of the child have only now been adopted.
            tree.signal(Signal::KILL);
            process::reap_orphans(KILL_WAIT);
        };
        let _ = std::thread::Builder::new()
            .name("reaper".into())
            .spawn(reap);
    }
}
