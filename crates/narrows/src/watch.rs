//! Detects changes of the configuration file and of preset files.
//!
//! [`follow`] is the entry point. File system notifications cover the folders on the path to the
//! files (`watch/trail.rs`). In addition, the state of the files is polled slowly, because network
//! file systems send no notifications and the system may be out of watches. Neither source reports
//! the content of a change: the keeper reads and compares the files.
//!
//! Polling alone would suffice, but to apply a change as soon as it is saved it would wake a
//! sleeping machine several times a second.

#[cfg(test)]
mod tests;
mod trail;

use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::keeper::{Keeper, Reloaded, Tell};
use trail::{State, Trail};

/// The quiet time required after a change, because programs save in several steps.
const SETTLE: Duration = Duration::from_millis(150);

/// The maximum wait for the quiet time.
const LONGEST: Duration = Duration::from_secs(1);

/// The delay before an unusable file is read again and reported, because it may be only partly
/// written.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// The polling interval.
const LOOK: Duration = Duration::from_secs(2);

/// Follows the files of `keeper` while it is polled, starting when a configuration file exists.
/// Returns at once if the file is a pipe, which can be read only once.
pub(crate) async fn follow(keeper: Arc<Keeper>) {
    keeper.has_file().await;
    let Some(trail) = look_for(&keeper).await.filter(Trail::is_lasting) else {
        return;
    };
    let mut watch = Watch::new(trail);
    keeper.set_watched(true);
    // The first reload covers changes since the start.
    loop {
        watch.note().await;
        if keeper.reload(Tell::NotYet).await == Reloaded::Refused {
            // Changes in this time are probably the rest of the same save.
            let later = Instant::now() + SECOND_LOOK;
            let _ = timeout_at(later, watch.next_change()).await;
            watch.settled().await;
            watch.note().await;
            keeper.reload(Tell::Now).await;
        }
        watch.find_way(&keeper).await;
        watch.next_change().await;
        watch.settled().await;
    }
}

/// The watched files and their last known state.
struct Watch {
    trail: Trail,
    /// Taken before the files are read, so that no change in between is missed.
    seen: State,
    /// Dropping the watcher ends its watches.
    watcher: Option<RecommendedWatcher>,
    news: mpsc::Receiver<()>,
    tell: mpsc::Sender<()>,
}

impl Watch {
    fn new(trail: Trail) -> Watch {
        // One message is enough to signal a change.
        let (tell, news) = mpsc::channel(1);
        let watcher = watcher(&trail, &tell);
        if watcher.is_none() {
            tracing::info!(
                "the system does not report file changes, so the configuration files are polled"
            );
        }
        Watch {
            seen: State::default(),
            watcher,
            trail,
            news,
            tell,
        }
    }

    /// Records the state of the files.
    async fn note(&mut self) {
        if let Some(state) = self.look().await {
            self.seen = state;
        }
    }

    /// Waits until one of the files changes.
    async fn next_change(&mut self) {
        loop {
            let look = Instant::now() + LOOK;
            if timeout_at(look, self.news.recv()).await.is_ok() {
                return;
            }
            if self.look().await.is_some_and(|state| state != self.seen) {
                return;
            }
        }
    }

    /// Waits until changes stop, up to a limit.
    async fn settled(&mut self) {
        let last = Instant::now() + LONGEST;
        loop {
            let quiet = (Instant::now() + SETTLE).min(last);
            let more = timeout_at(quiet, self.news.recv()).await;
            if more.is_err() || Instant::now() >= last {
                return;
            }
        }
    }

    /// Updates the watches if the path to the files has changed.
    async fn find_way(&mut self, keeper: &Keeper) {
        let Some(trail) = look_for(keeper).await else {
            return;
        };
        if trail.is_same_way(&self.trail) {
            return;
        }
        // All watches are replaced: if a folder is replaced by another with the same name, its
        // watch ends without notice.
        self.watcher = watcher(&trail, &self.tell);
        self.trail = trail;
        // Covers changes before the new watches existed.
        let _ = self.tell.try_send(());
    }

    async fn look(&self) -> Option<State> {
        let trail = self.trail.clone();
        let looking = tokio::task::spawn_blocking(move || trail.look());
        looking.await.ok()
    }
}

async fn look_for(keeper: &Keeper) -> Option<Trail> {
    let (file, presets) = keeper.files();
    let file = file?;
    let look = move || Trail::find(&file, presets.as_deref());
    tokio::task::spawn_blocking(look).await.ok()
}

/// Returns true if an event is a change. Reads also produce events, including those of the gateway
/// itself.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

fn watcher(trail: &Trail, tell: &mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let (names, tell) = (trail.names.clone(), tell.clone());
    let on_event = move |event: notify::Result<Event>| {
        let is_ours = match &event {
            Ok(event) => {
                let of_all = event.need_rescan() || event.paths.is_empty();
                let ours = || event.paths.iter().any(|path| names.concern(path));
                is_change(&event.kind) && (of_all || ours())
            }
            Err(_) => true,
        };
        if is_ours {
            // A full channel already signals a change.
            let _ = tell.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    let mut is_told = false;
    for folder in trail.names.folders() {
        let added = watcher.watch(folder, RecursiveMode::NonRecursive);
        is_told |= added.is_ok();
    }
    is_told.then_some(watcher)
}
