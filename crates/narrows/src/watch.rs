//! Finds out when the configuration file, or a preset's, has changed.
//!
//! Enter at [`follow`]. The system tells of what happens in the folders on the
//! way to the files (`watch/trail.rs`), and a slow look at their state is the
//! net below: network filesystems tell nothing, and there may be no watches
//! left to be had. Neither says what has changed; the keeper reads the files
//! and compares.
//!
//! Looking alone would do, and would wake a sleeping machine several times a
//! second for a change to be taken up as soon as it is saved.

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

/// Programs save in several steps; this long there has to be no other.
const SETTLE: Duration = Duration::from_millis(150);

/// And this long it takes at most where steps never end.
const LONGEST: Duration = Duration::from_secs(1);

/// What cannot be used may be half of what is being written, so it is looked
/// at once more before anything is said.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// How often the state of the files is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Follows the files of `keeper` for as long as it is polled, from the moment
/// that there is a configuration file. Returns at once if it is a pipe, which
/// can be read once.
pub(crate) async fn follow(keeper: Arc<Keeper>) {
    keeper.has_file().await;
    let Some(trail) = look_for(&keeper).await.filter(Trail::is_lasting) else {
        return;
    };
    let mut watch = Watch::new(trail);
    keeper.set_watched(true);
    // The first reading is for what happened since the start.
    loop {
        watch.note().await;
        if keeper.reload(Tell::NotYet).await == Reloaded::Refused {
            // Whatever comes meanwhile is the other half.
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

/// Who is told by the system, and what was seen last.
struct Watch {
    trail: Trail,
    /// Taken before the files were read, so that nothing falls in between.
    seen: State,
    /// Dropping it ends what it watches.
    watcher: Option<RecommendedWatcher>,
    news: mpsc::Receiver<()>,
    tell: mpsc::Sender<()>,
}

impl Watch {
    fn new(trail: Trail) -> Watch {
        // One is enough to know that there is something.
        let (tell, news) = mpsc::channel(1);
        let watcher = watcher(&trail, &tell);
        if watcher.is_none() {
            tracing::info!("the system tells nothing of changed files; they are looked at instead");
        }
        Watch {
            seen: State::default(),
            watcher,
            trail,
            news,
            tell,
        }
    }

    /// Remembers the state of the files.
    async fn note(&mut self) {
        if let Some(state) = self.look().await {
            self.seen = state;
        }
    }

    /// Waits until something happened to one of the files.
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

    /// Waits until nothing more happens, but not for ever.
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

    /// The way to the files may be another now.
    async fn find_way(&mut self, keeper: &Keeper) {
        let Some(trail) = look_for(keeper).await else {
            return;
        };
        if trail.is_same_way(&self.trail) {
            return;
        }
        // Made anew as a whole: a folder that was replaced by another of the
        // same name is watched no more, and does not say so.
        self.watcher = watcher(&trail, &self.tell);
        self.trail = trail;
        // For what happened before the new watches were there.
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

/// Whoever reads a file is told of, too, and we read them ourselves.
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
            // If it is full, it is known already.
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
