//! Detects changes to the configuration file and to preset files.
//!
//! [`follow`] is the entry point. File system notifications cover the folders on the path to the
//! files (`watch/watched_paths.rs`). In addition, the state of the files is polled slowly, because network
//! file systems send no notifications and the system may be out of watches. Neither source reports
//! the content of a change: the live configuration reads and compares the files.
//!
//! Polling alone would suffice, but to apply a change as soon as it is saved it would wake a
//! sleeping machine several times a second.

#[cfg(test)]
mod tests;
mod watched_paths;

use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::live_config::{ErrorReporting, LiveConfig, Reloaded};
use watched_paths::{FileStates, WatchedPaths};

/// The quiet time required after a change, because programs save in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(150);

/// The maximum wait for the quiet time.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(1);

/// The delay before an unusable file is read again and reported, because it may be only partly
/// written.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Follows the files of `live_config` while it is polled, starting when a configuration file exists.
/// Returns at once if the file is a pipe, which can be read only once.
pub(crate) async fn follow(live_config: Arc<LiveConfig>) {
    live_config.has_file().await;
    let Some(watched_paths) = look_for(&live_config)
        .await
        .filter(WatchedPaths::is_lasting)
    else {
        return;
    };
    let mut watch = FileWatch::new(watched_paths);
    live_config.set_watched(true);
    // The first reload covers changes since the start.
    loop {
        watch.note().await;
        if live_config.reload(ErrorReporting::NotYet).await == Reloaded::Refused {
            // Changes in this time are probably the rest of the same save.
            let later = Instant::now() + SECOND_LOOK;
            let _ = timeout_at(later, watch.next_change()).await;
            watch.settled().await;
            watch.note().await;
            live_config.reload(ErrorReporting::Now).await;
        }
        watch.find_way(&live_config).await;
        watch.next_change().await;
        watch.settled().await;
    }
}

/// The watched files and their last known state.
struct FileWatch {
    watched_paths: WatchedPaths,
    /// Taken before the files are read, so that no change in between is missed.
    seen: FileStates,
    /// Dropping the watcher ends its watches.
    watcher: Option<RecommendedWatcher>,
    changed_rx: mpsc::Receiver<()>,
    changed_tx: mpsc::Sender<()>,
}

impl FileWatch {
    fn new(watched_paths: WatchedPaths) -> FileWatch {
        // One message is enough to signal a change.
        let (changed_tx, changed_rx) = mpsc::channel(1);
        let watcher = watcher(&watched_paths, &changed_tx);
        if watcher.is_none() {
            tracing::info!(
                "the system does not report file changes, so the configuration files are polled"
            );
        }
        FileWatch {
            seen: FileStates::default(),
            watcher,
            watched_paths,
            changed_rx,
            changed_tx,
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
            let look = Instant::now() + POLL_INTERVAL;
            if timeout_at(look, self.changed_rx.recv()).await.is_ok() {
                return;
            }
            if self.look().await.is_some_and(|state| state != self.seen) {
                return;
            }
        }
    }

    /// Waits until changes stop, up to a limit.
    async fn settled(&mut self) {
        let last = Instant::now() + MAX_QUIET_WAIT;
        loop {
            let quiet = (Instant::now() + QUIET_PERIOD).min(last);
            let more = timeout_at(quiet, self.changed_rx.recv()).await;
            if more.is_err() || Instant::now() >= last {
                return;
            }
        }
    }

    /// Updates the watches if the path to the files has changed.
    async fn find_way(&mut self, live_config: &LiveConfig) {
        let Some(watched_paths) = look_for(live_config).await else {
            return;
        };
        if watched_paths.is_same_way(&self.watched_paths) {
            return;
        }
        // All watches are replaced: if a folder is replaced by another with the same name, its
        // watch ends without notice.
        self.watcher = watcher(&watched_paths, &self.changed_tx);
        self.watched_paths = watched_paths;
        // Covers changes before the new watches existed.
        let _ = self.changed_tx.try_send(());
    }

    async fn look(&self) -> Option<FileStates> {
        let watched_paths = self.watched_paths.clone();
        let looking = tokio::task::spawn_blocking(move || watched_paths.look());
        looking.await.ok()
    }
}

async fn look_for(live_config: &LiveConfig) -> Option<WatchedPaths> {
    let (file, presets) = live_config.files();
    let file = file?;
    let look = move || WatchedPaths::find(&file, presets.as_deref());
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

fn watcher(
    watched_paths: &WatchedPaths,
    changed_tx: &mpsc::Sender<()>,
) -> Option<RecommendedWatcher> {
    let (names, changed_tx) = (watched_paths.names.clone(), changed_tx.clone());
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
            let _ = changed_tx.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    let mut is_told = false;
    for folder in watched_paths.names.folders() {
        let added = watcher.watch(folder, RecursiveMode::NonRecursive);
        is_told |= added.is_ok();
    }
    is_told.then_some(watcher)
}
