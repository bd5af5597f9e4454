//! Fits results into a budget: shortens those that are too long for a model, and stores the full
//! text in the recovery store before cutting.
//!
//! The length of a result is checked first, so that short results are not parsed. All other work
//! runs off the async threads, on a few results at a time (`work`). Shaping fails open: a result
//! that cannot be shaped in time, or whose text cannot be stored, passes unchanged and is counted.

mod account;
mod blocks;
mod goal;
mod guard;
mod items;
mod pieces;
mod policy;
mod report;
mod structured_content;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;
use std::time::Duration;

use narrows_shape::budget::{RecoveryCall, RecoveryForm};
use narrows_shape::prune::{Engine, Fallback};
use narrows_wire::Raw;
use tokio::sync::{AcquireError, Semaphore};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

pub use self::account::SavingsAccount;
pub use self::account::{Saved, Savings, ToolSavings};
pub use self::goal::META as GOAL_META;
pub use self::goal::{
    ARGUMENT as GOAL_ARGUMENT, FIND_ARGUMENT, GoalHint, ResultArguments, find_schema,
    schema as goal_schema,
};
pub use self::guard::{marked, may_hold_marker};
pub use self::policy::{Policies, Policy, ServerShape};
pub use self::report::META as RECEIPT_META;
pub use self::report::{Report, SizeChange};
pub use self::structured_content::{content_alone, only_text, without_repetition};
use crate::recover_tool::{Find, QUERY_TIME};
use crate::recovery_store::{Owner, RecoveryStore};

/// The maximum size of results that are counted on an async thread.
const QUICK: usize = 256 * 1024;

/// The maximum time that a result waits for a worker.
const QUEUE_WAIT: Duration = Duration::from_secs(30);

/// The shaping service, shared by all endpoints.
pub struct Shaping {
    store: Arc<dyn RecoveryStore>,
    engine: Arc<dyn Engine>,
    /// Limits the results in progress to the number of cores: more would only delay all of them.
    workers: Arc<Semaphore>,
    account: SavingsAccount,
}

/// A result to shape, with its context.
pub struct Job {
    pub result: Raw,
    pub form: ResultKind,
    pub policy: Policy,
    pub goal_hint: GoalHint,
    /// A query on the texts, instead of a digest.
    pub find: Option<Find>,
    /// The client that may recover the cut text.
    pub owner: Owner,
    /// The recovery tool, as the client calls it.
    pub recover: RecoverTool,
    pub workers: WorkerShare,
}

/// The workers that one session may use at a time. If there are several, one is left to other
/// sessions.
#[derive(Debug, Clone)]
pub struct WorkerShare(Arc<Semaphore>);

impl Default for WorkerShare {
    fn default() -> WorkerShare {
        let share = cores().saturating_sub(1).max(1);
        WorkerShare(Arc::new(Semaphore::new(share)))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The gateway's recovery tool, as the clients of an endpoint call it.
#[derive(Debug, Clone)]
pub struct RecoverTool {
    pub name: Arc<str>,
    pub form: RecoveryForm,
}

impl RecoverTool {
    /// Returns the call that recovers the text of a receipt.
    pub fn call<'a>(&'a self, receipt: &'a str) -> RecoveryCall<'a> {
        RecoveryCall {
            tool: &self.name,
            receipt,
            form: self.form,
        }
    }
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// A result of `tools/call`.
    Tool,
    /// A result of `resources/read`.
    Resource,
}

impl ResultKind {
    fn items(self) -> &'static str {
        match self {
            ResultKind::Tool => "content",
            ResultKind::Resource => "contents",
        }
    }
}

/// The origin of a result, for the statistics.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub server: &'a str,
    /// The server's own name of the tool; for resources the method.
    pub tool: &'a str,
}

/// The outcome for a result.
#[derive(Debug)]
pub enum Shaped {
    /// The result passed unchanged, or lost only repeated data.
    Unchanged,
    Shortened(Report),
    /// The result passed unchanged although it is over the budget.
    Failed(Fallback),
}

impl Shaping {
    pub fn new(store: Arc<dyn RecoveryStore>, engine: Arc<dyn Engine>) -> Shaping {
        Shaping {
            store,
            engine,
            workers: Arc::new(Semaphore::new(cores())),
            account: SavingsAccount::default(),
        }
    }

    pub fn store(&self) -> &Arc<dyn RecoveryStore> {
        &self.store
    }

    pub fn account(&self) -> &SavingsAccount {
        &self.account
    }

    /// Runs work on long texts on the blocking pool, as soon as a worker of this share is free.
    ///
    /// A separate task waits for the worker and starts the work. Otherwise, a worker granted to a
    /// future that is no longer polled (the call of a client that does not read) would be lost to
    /// all others.
    pub async fn run<T: Send + 'static>(
        &self,
        share: &WorkerShare,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fallback> {
        self.run_within(QUEUE_WAIT, share, work).await
    }

    /// Runs work that may take at most `limit` after it has started.
    async fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        share: &WorkerShare,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fallback> {
        let (share, workers) = (share.0.clone(), self.workers.clone());
        let done = AbortOnDropHandle::new(tokio::spawn(async move {
            let worker = async {
                // Acquire the share first, so that a session cannot fill the queue.
                let share = share.acquire_owned().await?;
                Ok::<_, AcquireError>((share, workers.acquire_owned().await?))
            };
            let Ok(Ok(worker)) = timeout(QUEUE_WAIT, worker).await else {
                return Err(Fallback::Timeout);
            };
            let work = move || {
                // Held until the work is done, even if the caller is gone.
                let _worker = worker;
                work()
            };
            match timeout(limit, tokio::task::spawn_blocking(work)).await {
                Ok(Ok(done)) => Ok(done),
                Ok(Err(_)) => Err(Fallback::InternalError),
                Err(_) => Err(Fallback::Timeout),
            }
        }));
        done.await.unwrap_or(Err(Fallback::InternalError))
    }

    /// Returns true if a result may be over the budget, judged by its size: JSON never takes fewer
    /// bytes than the characters it represents. A result below the limit is examined only if its
    /// number of items may add to its size.
    pub fn may_exceed(result: &Raw, policy: &Policy) -> bool {
        let limit = policy.passes_whole(policy.max_chars);
        let len = result.len();
        len > limit || len > policy.max_chars && work::may_have_many_items(result)
    }

    /// Fits a result into its budget.
    pub async fn shape(&self, source: Source<'_>, job: Job) -> (Raw, Shaped) {
        let original = job.result.clone();
        // Larger results are examined off the async threads.
        let looked = match original.len() {
            ..=QUICK => Ok((work::is_over(&job), job)),
            _ => tokio::task::spawn_blocking(|| (work::is_over(&job), job)).await,
        };
        let job = match looked {
            Ok((true, job)) => job,
            Ok((false, _)) => return (original, Shaped::Unchanged),
            Err(_) => return self.failed(source, Fallback::InternalError, original),
        };
        let (store, engine) = (self.store.clone(), self.engine.clone());
        // The work checks its own time limit. This limit is for steps that do not.
        let mut limit = job.policy.timeout + Duration::from_millis(500);
        if job.find.is_some() {
            // A query that takes too long ends with a digest that says so.
            limit += 2 * QUERY_TIME;
        }
        let share = job.workers.clone();
        let work = move || work::shape(&job, &*store, &*engine);
        let outcome = self.run_within(limit, &share, work);
        match outcome.await.and_then(|outcome| outcome) {
            Ok(Some((result, Some(report)))) => {
                self.count(source, &report);
                (result, Shaped::Shortened(report))
            }
            Ok(Some((result, None))) => (result, Shaped::Unchanged),
            Ok(None) => (original, Shaped::Unchanged),
            Err(why) => self.failed(source, why, original),
        }
    }

    fn count(&self, source: Source<'_>, report: &Report) {
        self.account.record(source.server, source.tool, |saved| {
            saved.results += 1;
            saved.chars_before += report.chars.before as u64;
            saved.chars_after += report.chars.after as u64;
            saved.tokens_before += report.tokens.before as u64;
            saved.tokens_after += report.tokens.after as u64;
        });
    }

    fn failed(&self, source: Source<'_>, why: Fallback, original: Raw) -> (Raw, Shaped) {
        self.account.record(source.server, source.tool, |saved| {
            saved.failed += 1;
        });
        (original, Shaped::Failed(why))
    }
}
