//! What lies in the folder, in the order in which it leaves.
//!
//! Only files that are named as ours are counted and removed; whatever else is
//! in the folder stays.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::{Fill, Receipt, files};
use super::Clock;

/// How the names of texts end, and of those that turned out to be damaged.
const TEXT: &str = "text";
pub(super) const BROKEN: &str = "broken";

/// What other processes did is looked up no more often than this, and the part
/// of the time that goes into looking is no more than one in so many.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SHARE: u32 = 20;

/// File systems give room in blocks.
const BLOCK: u64 = 4_096;

/// The folder as it was when it was looked at, and what we did since.
pub(super) struct Shelf {
    folder: PathBuf,
    ttl: Duration,
    /// The room that each file takes, by its time and name.
    files: BTreeMap<(SystemTime, String), u64>,
    bytes: u64,
    /// When it was looked at, and how long that took.
    looked: Option<(SystemTime, Duration)>,
}

/// The file of a text.
pub(super) fn file_name(receipt: &str) -> String {
    format!("{receipt}.{TEXT}")
}

/// The room that a file of so many bytes takes.
pub(super) fn on_disk(length: u64) -> u64 {
    length.div_ceil(BLOCK).saturating_mul(BLOCK).max(BLOCK)
}

/// Since when the time of a file runs, `None` if it is over.
///
/// The clock may have been set back since the file was written. Its time then
/// runs anew from now: it would be too long otherwise, by as much as the clock
/// was wrong.
pub(super) fn counts_since(
    path: &Path,
    modified: SystemTime,
    now: SystemTime,
    ttl: Duration,
) -> Option<SystemTime> {
    match now.duration_since(modified) {
        Ok(age) => (age < ttl).then_some(modified),
        Err(_) => {
            let file = File::options().write(true).open(path).ok()?;
            file.set_modified(now).ok()?;
            Some(now)
        }
    }
}

impl Shelf {
    pub(super) fn new(folder: &Path, ttl: Duration) -> Shelf {
        Shelf {
            folder: folder.to_owned(),
            ttl,
            files: BTreeMap::new(),
            bytes: 0,
            looked: None,
        }
    }

    /// Whether others may have done something since the folder was looked at.
    pub(super) fn is_stale(&self, now: SystemTime) -> bool {
        let Some((looked, took)) = self.looked else {
            return true;
        };
        let every = LOOK_EVERY.max(took * LOOK_SHARE);
        // A clock that was set back tells nothing.
        now.duration_since(looked).map_or(true, |age| age >= every)
    }

    /// Looks at the folder, and removes what has expired.
    pub(super) fn look(&mut self, clock: &dyn Clock) -> io::Result<()> {
        let (now, start) = (clock.now(), clock.instant());
        self.files.clear();
        self.bytes = 0;
        self.looked = None;
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some((name, kind)) = name.to_str().and_then(ours) else {
                continue;
            };
            // Another process may have removed it in the meantime.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            let Ok(modified) = found.modified() else {
                continue;
            };
            let path = entry.path();
            match kind {
                _ if !found.is_file() => {}
                Kind::Part if !files::is_abandoned(modified, now) => {}
                Kind::Part => _ = files::remove(&path),
                Kind::Text => match counts_since(&path, modified, now, self.ttl) {
                    Some(since) => self.insert(name.to_owned(), since, on_disk(found.len())),
                    None => _ = files::remove(&path),
                },
            }
        }
        self.looked = Some((now, clock.instant().duration_since(start)));
        Ok(())
    }

    /// Removes the oldest until all that is left takes no more than this.
    pub(super) fn shrink_to(&mut self, bytes: u64) -> io::Result<()> {
        while self.bytes > bytes
            && let Some(((since, name), size)) = self.files.pop_first()
        {
            if let Err(error) = files::remove(&self.folder.join(&name)) {
                self.files.insert((since, name), size);
                return Err(error);
            }
            self.bytes -= size;
        }
        Ok(())
    }

    /// A text has come, and takes so much room.
    pub(super) fn add(&mut self, receipt: &str, now: SystemTime, size: u64) {
        self.insert(file_name(receipt), now, size);
    }

    /// What is there, as far as is known.
    pub(super) fn fill(&self) -> Fill {
        Fill {
            texts: self.files.len(),
            bytes: self.bytes,
        }
    }

    fn insert(&mut self, name: String, since: SystemTime, size: u64) {
        // A folder that changes while it is read may name a file twice.
        let before = self.files.insert((since, name), size);
        self.bytes = self.bytes + size - before.unwrap_or_default();
    }
}

enum Kind {
    /// A text, or what is left of one.
    Text,
    Part,
}

/// What a file is, by its name, if it is ours.
fn ours(name: &str) -> Option<(&str, Kind)> {
    let (receipt, extension) = name.rsplit_once('.')?;
    let kind = match extension {
        TEXT | BROKEN => Kind::Text,
        files::PART => Kind::Part,
        _ => return None,
    };
    Receipt::is_one(receipt).then_some((name, kind))
}
