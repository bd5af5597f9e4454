//! The keeper of one child process: waits for its end, brings it about when
//! asked to, and sees that nothing it has started stays behind.

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
/// What is left of stderr when all its writers are gone is there already.
const STDERR_WAIT: Duration = Duration::from_millis(100);

pub(super) struct Keeper {
    leash: Leash,
    writer: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<()>>,
    life: watch::Sender<Life>,
    closing: CancellationToken,
}

/// Of the child itself, whatever it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    /// The status is missing if somebody else has reaped it.
    Ended(Option<ExitStatus>),
}

impl Life {
    pub(super) fn is_over(&self) -> bool {
        *self != Life::Running
    }
}

/// Being sent, it asks for an end in good order; the sender inside is dropped
/// when that end is reached. Being dropped unsent, it asks for an end at once.
type Order = oneshot::Sender<()>;

impl Keeper {
    pub(super) fn new(child: Child, pid: u32, tree: Tree, guard: Option<Guard>) -> Keeper {
        Keeper {
            leash: Leash {
                child,
                pid,
                tree,
                guard,
                over: false,
            },
            writer: None,
            stderr: None,
            life: watch::Sender::new(Life::Running),
            closing: CancellationToken::new(),
        }
    }

    /// The tasks that serve the child's pipes; they end with it.
    pub(super) fn owning(mut self, writer: JoinHandle<()>, stderr: JoinHandle<()>) -> Keeper {
        self.writer = Some(writer);
        self.stderr = Some(stderr);
        self
    }

    /// Where the end is told, and what tells that the end is wanted.
    pub(super) fn reporting(
        mut self,
        life: watch::Sender<Life>,
        closing: CancellationToken,
    ) -> Keeper {
        self.life = life;
        self.closing = closing;
        self
    }

    pub(super) fn start(self, grace: Duration) -> Closer {
        let (order, orders) = oneshot::channel::<Order>();
        tokio::spawn(self.keep(grace, orders));
        Box::new(move || {
            let (done, finished) = oneshot::channel();
            Box::pin(async move {
                // Refused by a keeper whose work is over, and then nothing is left to wait for.
                if order.send(done).is_ok() {
                    let _ = finished.await;
                }
            })
        })
    }

    async fn keep(mut self, grace: Duration, mut orders: oneshot::Receiver<Order>) {
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
            self.leash.over = true;
            process::forget(self.leash.pid);
            if let Some(guard) = &self.leash.guard {
                guard.release(self.leash.pid);
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
        let status = self.leash.child.wait().await.ok();
        self.life.send_if_modified(|life| {
            let news = !life.is_over();
            *life = Life::Ended(status);
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
    /// if the runtime ends meanwhile, the leash still knows what to end.
    async fn with_tree<T>(&mut self, act: impl FnOnce(&mut Tree) -> T + Send + 'static) -> T
    where
        T: Default + Send + 'static,
    {
        let mut tree = self.leash.tree.clone();
        let done = spawn_blocking(move || {
            let told = act(&mut tree);
            (tree, told)
        });
        match done.await {
            Ok((tree, told)) => {
                self.leash.tree = tree;
                told
            }
            // The runtime ends, and drops us next.
            Err(_) => T::default(),
        }
    }
}

/// What must not be lost, even if the runtime is.
struct Leash {
    child: Child,
    pid: u32,
    tree: Tree,
    guard: Option<Guard>,
    /// Nothing is left to end.
    over: bool,
}

impl Drop for Leash {
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
