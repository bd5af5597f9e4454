//! Texts on disk, so that receipts outlive the process: each text is a file,
//! named by its receipt.
//!
//! Not redb or fjall (`bench/recovery` has the figures): any number of processes
//! may share the folder, a full disk passes without opening anything anew, and
//! deleting gives room back; and a file is written no slower.

mod recent;
mod record;
mod shelf;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use self::recent::Recent;
use self::record::Record;
use self::shelf::Shelf;
use super::{Fill, Owner, Receipt, RecoverySettings, Store, Unavailable, block, files, totals};

/// Texts in a folder: each for the same time, and all within a number of bytes;
/// the oldest leave first.
///
/// Processes that share a folder share its texts and its bounds; the strictest
/// settings hold. Nobody holds a lock on it: texts are never changed once they
/// are there, and one that another process has removed is just not there. What
/// others write is counted within a second or so; by that much the folder may
/// be over its bound.
pub struct DiskStore {
    folder: PathBuf,
    ttl: Duration,
    max_bytes: u64,
    clock: Box<dyn Clock>,
    /// Held while something is written or removed, never while it is read.
    shelf: Mutex<Shelf>,
    recent: Recent,
    warned: Mutex<HashSet<(&'static str, ErrorKind)>>,
}

trait Clock: Send + Sync {
    /// Wall-clock time, since no other is the same in the next process.
    fn now(&self) -> SystemTime;

    /// Monotonic time, for how long something takes.
    fn instant(&self) -> Instant;
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }
}

impl DiskStore {
    /// Opens the folder, which is made if it is not there, and finds what was
    /// left in it. Fails if no file can be written there, for another reason
    /// than that the disk is full just now.
    pub fn open(folder: &Path, settings: &RecoverySettings) -> io::Result<DiskStore> {
        DiskStore::open_at(folder, settings, Box::new(SystemClock))
    }

    fn open_at(
        folder: &Path,
        settings: &RecoverySettings,
        clock: Box<dyn Clock>,
    ) -> io::Result<DiskStore> {
        files::make_folder(folder)?;
        try_to_write(folder)?;
        let mode = fs::metadata(folder)?.permissions().mode();
        if mode & 0o077 != 0 {
            tracing::warn!(
                "others may look into the folder {}, and what can be recovered is named there; \
                 it should have the mode 700",
                folder.display()
            );
        }
        let store = DiskStore {
            folder: folder.to_owned(),
            ttl: settings.ttl,
            max_bytes: settings.max_bytes as u64,
            clock,
            shelf: Mutex::new(Shelf::new(folder, settings.ttl)),
            recent: Recent::default(),
            warned: Mutex::default(),
        };
        store.purge();
        totals::remove_old(folder, store.clock.now());
        Ok(store)
    }

    fn path(&self, receipt: &str) -> PathBuf {
        self.folder.join(shelf::file_name(receipt))
    }

    fn write(&self, receipt: &Receipt, record: &[u8]) -> io::Result<()> {
        let size = shelf::on_disk(record.len() as u64);
        let now = self.clock.now();
        let path = self.path(receipt.as_str());
        let mut shelf = self.shelf.lock();
        if shelf.is_stale(now) {
            shelf.look(&*self.clock)?;
        }
        shelf.shrink_to(self.max_bytes - size)?;
        match files::put(&path, record, now) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Somebody has tidied up, and the folder with it.
                files::make_folder(&self.folder)?;
                files::put(&path, record, now)
            }
            done => done,
        }?;
        shelf.add(receipt.as_str(), now, size);
        Ok(())
    }

    fn read(&self, owner: &Owner, receipt: &str) -> io::Result<Option<Arc<str>>> {
        let path = self.path(receipt);
        // Of the name itself: nothing here follows links.
        let found = fs::symlink_metadata(&path)?;
        if !found.is_file() {
            return Ok(None);
        }
        let (now, since) = (self.clock.now(), found.modified()?);
        if shelf::counts_since(&path, since, now, self.ttl).is_none() {
            files::remove(&path)?;
            return Ok(None);
        }
        if let Some(text) = self.recent.get(owner, receipt) {
            return Ok(Some(text));
        }
        let Some(bytes) = files::read(&path, self.max_bytes)? else {
            return Ok(None);
        };
        let Some(record) = Record::read(receipt, &bytes) else {
            return Err(self.set_aside(&path));
        };
        if record.owner() != owner.as_str() {
            return Ok(None);
        }
        let Some(text) = record.text() else {
            return Err(self.set_aside(&path));
        };
        self.recent.add(owner, receipt, &text);
        Ok(Some(text))
    }

    /// A damaged file is never a text again, but may tell somebody what
    /// happened; it leaves as texts do.
    fn set_aside(&self, path: &Path) -> io::Error {
        let aside = path.with_extension(shelf::BROKEN);
        let done = match fs::rename(path, &aside) {
            Ok(()) => format!("is now {}", aside.display()),
            Err(error) => format!("cannot be renamed: {error}"),
        };
        let text = format!("{} is damaged, and {done}", path.display());
        io::Error::new(ErrorKind::InvalidData, text)
    }

    /// Says the first failure of a kind, not that of each text.
    fn warn(&self, what: &'static str, error: &io::Error) {
        if self.warned.lock().insert((what, error.kind())) {
            tracing::warn!(
                "{what} failed in {}: {error}; further failures like this one are not reported",
                self.folder.display()
            );
        }
    }
}

impl Store for DiskStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, Unavailable> {
        if text.len() > block::MAX_TEXT || self.ttl.is_zero() {
            return Err(Unavailable);
        }
        let receipt = Receipt::new();
        let record = record::write(receipt.as_str(), owner.as_str(), &text).ok_or(Unavailable)?;
        if shelf::on_disk(record.len() as u64) > self.max_bytes {
            return Err(Unavailable);
        }
        match self.write(&receipt, &record) {
            Ok(()) => Ok(receipt),
            Err(error) => {
                self.warn("keeping a text", &error);
                Err(Unavailable)
            }
        }
    }

    fn fetch(&self, owner: &Owner, receipt: &str) -> Option<Arc<str>> {
        if !Receipt::is_one(receipt) {
            return None;
        }
        match self.read(owner, receipt) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.warn("reading a text", &error);
                None
            }
        }
    }

    fn renew(&self, _: &Owner, receipt: &str) {
        let file = File::options().write(true).open(self.path(receipt));
        let renewed = file.and_then(|file| file.set_modified(self.clock.now()));
        if let Err(error) = renewed {
            self.warn("renewing a text", &error);
        }
    }

    fn fill(&self) -> Fill {
        self.shelf.lock().fill()
    }

    fn blocks_on(&self, _: usize) -> bool {
        true
    }

    fn purge(&self) {
        let mut shelf = self.shelf.lock();
        let done = shelf.look(&*self.clock);
        if let Err(error) = done.and_then(|()| shelf.shrink_to(self.max_bytes)) {
            self.warn("removing old texts", &error);
        }
        drop(shelf);
        self.recent.retain(|receipt| self.path(receipt).exists());
    }
}

/// A folder that nothing can be written to is better known at once.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(shelf::file_name(Receipt::new().as_str()));
    match files::put(&file, b"", SystemTime::now()) {
        Err(error) => match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Ok(()),
            _ => Err(error),
        },
        Ok(()) => files::remove(&file),
    }
}
