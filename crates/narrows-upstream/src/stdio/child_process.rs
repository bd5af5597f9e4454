//! The owner of one child process: waits for its exit, ends it when the channel
//! is closed, and ends everything that it has started.

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
use crate::process::{self, Tree};

/// Killing takes effect at once, except on what the kernel holds in a system
/// call; such a process is waited for this long at least.
const KILL_WAIT: Duration = Duration::from_millis(100);
/// The rest of stderr is in the pipe already when all its writers are gone.
const STDERR_WAIT: Duration = Duration::from_millis(100);

pub(super) struct ChildProcess {
    owned: OwnedTree,
    writer: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<()>>,
    life: watch::Sender<ProcessState>,
    closing: CancellationToken,
}

/// The state of the child itself, whatever it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    Running,
    /// The status is missing if somebody else has reaped it.
    Ended(Option<ExitStatus>),
}

impl ProcessState {
    pub(super) fn is_over(&self) -> bool {
        *self != ProcessState::Running
    }
}

/// An order to end the child. Sent, it asks for an orderly end, and the sender
/// inside is dropped when that is reached. Dropped unsent, it asks for an end at
/// once.
type Order = oneshot::Sender<()>;

impl ChildProcess {
    pub(super) fn new(child: Child, pid: u32, tree: Tree, guard: Option<Guard>) -> ChildProcess {
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

    /// Sets the tasks that serve the pipes of the child; they end with it.
    pub(super) fn owning(mut self, writer: JoinHandle<()>, stderr: JoinHandle<()>) -> ChildProcess {
        self.writer = Some(writer);
        self.stderr = Some(stderr);
        self
    }

    /// Sets where the end is reported, and the token that is cancelled when the
    /// end is wanted.
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
        let (order, orders) = oneshot::channel::<Order>();
        tokio::spawn(self.run(grace, orders));
        Box::new(move || {
            let (done, finished) = oneshot::channel();
            Box::pin(async move {
                // Refused by a task that has ended, and then nothing is left to wait for.
                if order.send(done).is_ok() {
                    let _ = finished.await;
                }
            })
        })
    }

    async fn run(mut self, grace: Duration, mut orders: oneshot::Receiver<Order>) {
        // Held to the end, for whoever closes waits until it is dropped.
        let mut order = tokio::select! {
            biased;
            order = &mut orders => Some(order),
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
            // It went by itself. What it left behind gets its time to end,
            // unless the channel is dropped meanwhile.
            None => {
                let limit = start + grace / 2;
                let mut gone = self.terminate().await;
                if !gone {
                    tokio::select! {
                        ended = self.gone_by(limit) => gone = ended,
                        late = &mut orders => order = Some(late),
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

    /// Lets the server end by itself, as it should when its stdin ends.
    async fn leave(&mut self, limit: Duration) {
        // Looked up first: children of a server that goes are nobody's children.
        self.with_tree(Tree::collect).await;
        self.closing.cancel();
        let _ = timeout(limit, self.exited()).await;
    }

    /// Asks all that is left to end; true if nothing is.
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

    /// Ends all that is left, again and again: what forks while we look escapes one round.
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
            // Somebody who is not of the tree holds it open.
            stderr.abort();
        }
    }

    /// Ends and reaps the orphans that the child has left to us. They are ours
    /// once it has been waited for, which may be after the last look at the tree.
    async fn end_orphans(&mut self) -> bool {
        let gone = self.with_tree(Tree::is_gone).await || self.kill(Instant::now()).await;
        let _ = spawn_blocking(|| process::reap_orphans(KILL_WAIT)).await;
        gone
    }

    /// Waits until the child itself has ended, and reaps it.
    async fn exited(&mut self) {
        let status = self.owned.child.wait().await.ok();
        self.life.send_if_modified(|life| {
            let news = !life.is_over();
            *life = ProcessState::Ended(status);
            news
        });
    }

    /// Waits until the tree is gone, not longer than to the limit. Only the
    /// child itself can be waited for; of the others one has to ask.
    async fn gone_by(&mut self, limit: Instant) -> bool {
        let mut pause = Duration::from_millis(1);
        loop {
            if self.with_tree(Tree::is_gone).await {
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

    /// Does something with the tree where it may block. It is done to a copy:
    /// if the runtime ends meanwhile, `owned` still knows what to end.
    async fn with_tree<T>(&mut self, act: impl FnOnce(&mut Tree) -> T + Send + 'static) -> T
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
            // The runtime ends, and drops us next.
            Err(_) => T::default(),
        }
    }
}

/// The processes that are ended even if the runtime is gone.
struct OwnedTree {
    child: Child,
    pid: u32,
    tree: Tree,
    guard: Option<Guard>,
    /// Nothing is left to end.
    over: bool,
}

impl Drop for OwnedTree {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.tree.signal(Signal::KILL);
        // Tokio reaps only while it runs, and it may be ending right now.
        let child = self.child.id();
        let child = child.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let (pid, mut tree) = (self.pid, self.tree.clone());
        let reap = move || {
            if child.is_some() {
                let _ = waitpid(child, WaitOptions::empty());
            }
            process::forget(pid);
            // The orphans of the child are ours only now.
            tree.signal(Signal::KILL);
            process::reap_orphans(KILL_WAIT);
        };
        let _ = std::thread::Builder::new()
            .name("reaper".into())
            .spawn(reap);
    }
}
