//! An index of the files in the folder, in the order of their removal.
//!
//! Only files with our naming scheme are counted and removed. All other files in the folder are
//! left alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::{Receipt, StoreUsage, files};
use super::Clock;

/// The file extensions of texts and of damaged texts.
const TEXT: &str = "text";
pub(super) const BROKEN: &str = "broken";

/// The minimum interval between scans of the folder for changes by other processes. Scans also take
/// at most one `RESCAN_SHARE`th of the time.
const RESCAN_INTERVAL: Duration = Duration::from_secs(1);
const RESCAN_SHARE: u32 = 20;

/// The block size of file systems, for estimates of disk usage.
const BLOCK: u64 = 4_096;

/// The state of the folder at the last scan, updated with our own changes.
pub(super) struct FolderIndex {
    folder: PathBuf,
    ttl: Duration,
    /// The disk usage of each file, by time and name.
    files: BTreeMap<(SystemTime, String), u64>,
    bytes: u64,
    /// The time of the last scan, and its duration.
    scanned: Option<(SystemTime, Duration)>,
}

/// Returns the file name of a text.
pub(super) fn file_name(receipt: &str) -> String {
    format!("{receipt}.{TEXT}")
}

/// Returns the disk usage of a file of this length.
pub(super) fn on_disk(length: u64) -> u64 {
    length.div_ceil(BLOCK).saturating_mul(BLOCK).max(BLOCK)
}

/// Returns the time from which the lifetime of a file counts; `None` if it has expired.
///
/// If the clock was set back after the file was written, the file gets the current time. Otherwise
/// its lifetime would be too long by as much as the clock was wrong.
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

impl FolderIndex {
    pub(super) fn new(folder: &Path, ttl: Duration) -> FolderIndex {
        FolderIndex {
            folder: folder.to_owned(),
            ttl,
            files: BTreeMap::new(),
            bytes: 0,
            scanned: None,
        }
    }

    /// Returns true if other processes may have changed the folder since the last scan.
    pub(super) fn is_stale(&self, now: SystemTime) -> bool {
        let Some((scanned, took)) = self.scanned else {
            return true;
        };
        let every = RESCAN_INTERVAL.max(took * RESCAN_SHARE);
        // After the clock was set back, the age is unknown.
        now.duration_since(scanned).map_or(true, |age| age >= every)
    }

    /// Scans the folder and removes expired files.
    pub(super) fn rescan(&mut self, clock: &dyn Clock) -> io::Result<()> {
        let (now, start) = (clock.now(), clock.instant());
        self.files.clear();
        self.bytes = 0;
        self.scanned = None;
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some((name, kind)) = name.to_str().and_then(parse_name) else {
                continue;
            };
            // Another process may have removed the file in the meantime.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            let Ok(modified) = found.modified() else {
                continue;
            };
            let path = entry.path();
            match kind {
                _ if !found.is_file() => {}
                FileKind::Part if !files::is_abandoned(modified, now) => {}
                FileKind::Part => _ = files::remove(&path),
                FileKind::Text => match counts_since(&path, modified, now, self.ttl) {
                    Some(since) => self.insert(name.to_owned(), since, on_disk(found.len())),
                    None => _ = files::remove(&path),
                },
            }
        }
        self.scanned = Some((now, clock.instant().duration_since(start)));
        Ok(())
    }

    /// Removes the oldest files until the rest uses at most this many bytes.
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

    /// Records a new text and its disk usage.
    pub(super) fn add(&mut self, receipt: &str, now: SystemTime, size: u64) {
        self.insert(file_name(receipt), now, size);
    }

    /// Returns the known content of the folder.
    pub(super) fn usage(&self) -> StoreUsage {
        StoreUsage {
            texts: self.files.len(),
            bytes: self.bytes,
        }
    }

    fn insert(&mut self, name: String, since: SystemTime, size: u64) {
        // If the folder changes during a scan, a file may be listed twice.
        let before = self.files.insert((since, name), size);
        self.bytes = self.bytes + size - before.unwrap_or_default();
    }
}

enum FileKind {
    /// A text, or a damaged one.
    Text,
    Part,
}

/// Returns the kind of one of our files, judged by its name; `None` for other files.
fn parse_name(name: &str) -> Option<(&str, FileKind)> {
    let (receipt, extension) = name.rsplit_once('.')?;
    let kind = match extension {
        TEXT | BROKEN => FileKind::Text,
        files::PART => FileKind::Part,
        _ => return None,
    };
    Receipt::is_one(receipt).then_some((name, kind))
}
