//! A store on disk, so that receipts outlive the process. Each text is a file named after its
//! receipt.
//!
//! Files were chosen over redb and fjall (measurements in `bench/recovery`): any number of
//! processes can share the folder, the store recovers from a full disk without being reopened,
//! removing a text frees its space, and writing a file is no slower.

mod folder_index;
mod recent;
mod record;
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

use self::folder_index::FolderIndex;
use self::recent::RecentTexts;
use self::record::Record;
use super::{
    Owner, Receipt, RecoverySettings, RecoveryStore, StoreUnavailable, StoreUsage, block, files,
    totals,
};

/// A store in a folder. All texts have the same lifetime and share a size limit; the oldest are
/// removed first.
///
/// Processes that share a folder share its texts and limits; the strictest settings win. No lock is
/// needed: texts never change, and a text that another process removed counts as missing. Texts
/// written by other processes are counted within about a second, and during this time the folder
/// may exceed its limit.
pub struct DiskStore {
    folder: PathBuf,
    ttl: Duration,
    max_bytes: u64,
    clock: Box<dyn Clock>,
    /// Locked while files are written or removed, but not while they are read.
    folder_index: Mutex<FolderIndex>,
    recent: RecentTexts,
    warned: Mutex<HashSet<(&'static str, ErrorKind)>>,
}

trait Clock: Send + Sync {
    /// Returns the wall-clock time, the only clock that is shared with later processes.
    fn now(&self) -> SystemTime;

    /// Returns the monotonic time, for measuring durations.
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
    /// Opens the folder, creates it if necessary, and finds the existing texts. Fails if files
    /// cannot be written there for any reason other than a full disk.
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
                "other users can read the folder {}, which lists recoverable texts; \
                 set its mode to 700",
                folder.display()
            );
        }
        let store = DiskStore {
            folder: folder.to_owned(),
            ttl: settings.ttl,
            max_bytes: settings.max_bytes as u64,
            clock,
            folder_index: Mutex::new(FolderIndex::new(folder, settings.ttl)),
            recent: RecentTexts::default(),
            warned: Mutex::default(),
        };
        store.purge();
        totals::remove_old(folder, store.clock.now());
        Ok(store)
    }

    fn path(&self, receipt: &str) -> PathBuf {
        self.folder.join(folder_index::file_name(receipt))
    }

    fn write(&self, receipt: &Receipt, record: &[u8]) -> io::Result<()> {
        let size = folder_index::on_disk(record.len() as u64);
        let now = self.clock.now();
        let path = self.path(receipt.as_str());
        let mut folder_index = self.folder_index.lock();
        if folder_index.is_stale(now) {
            folder_index.rescan(&*self.clock)?;
        }
        folder_index.shrink_to(self.max_bytes - size)?;
        match files::put(&path, record, now) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The folder was removed from outside.
                files::make_folder(&self.folder)?;
                files::put(&path, record, now)
            }
            done => done,
        }?;
        folder_index.add(receipt.as_str(), now, size);
        Ok(())
    }

    fn read(&self, owner: &Owner, receipt: &str) -> io::Result<Option<Arc<str>>> {
        let path = self.path(receipt);
        // Metadata of the file itself: links are never followed.
        let found = fs::symlink_metadata(&path)?;
        if !found.is_file() {
            return Ok(None);
        }
        let (now, since) = (self.clock.now(), found.modified()?);
        if folder_index::counts_since(&path, since, now, self.ttl).is_none() {
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

    /// Renames a damaged file, so that it is never read as a text again but remains available for
    /// diagnosis. It expires like a text.
    fn set_aside(&self, path: &Path) -> io::Error {
        let aside = path.with_extension(folder_index::BROKEN);
        let done = match fs::rename(path, &aside) {
            Ok(()) => format!("was renamed to {}", aside.display()),
            Err(error) => format!("cannot be renamed: {error}"),
        };
        let text = format!("{} is damaged and {done}", path.display());
        io::Error::new(ErrorKind::InvalidData, text)
    }

    /// Logs the first failure of each kind instead of one per text.
    fn warn(&self, what: &'static str, error: &io::Error) {
        if self.warned.lock().insert((what, error.kind())) {
            tracing::warn!(
                "{what} failed in {}: {error}; further failures of this kind are not logged",
                self.folder.display()
            );
        }
    }
}

impl RecoveryStore for DiskStore {
    fn keep(&self, owner: &Owner, text: Arc<str>) -> Result<Receipt, StoreUnavailable> {
        if text.len() > block::MAX_TEXT || self.ttl.is_zero() {
            return Err(StoreUnavailable);
        }
        let receipt = Receipt::new();
        let record =
            record::write(receipt.as_str(), owner.as_str(), &text).ok_or(StoreUnavailable)?;
        if folder_index::on_disk(record.len() as u64) > self.max_bytes {
            return Err(StoreUnavailable);
        }
        match self.write(&receipt, &record) {
            Ok(()) => Ok(receipt),
            Err(error) => {
                self.warn("storing a text", &error);
                Err(StoreUnavailable)
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

    fn usage(&self) -> StoreUsage {
        self.folder_index.lock().usage()
    }

    fn may_block(&self, _: usize) -> bool {
        true
    }

    fn purge(&self) {
        let mut folder_index = self.folder_index.lock();
        let done = folder_index.rescan(&*self.clock);
        if let Err(error) = done.and_then(|()| folder_index.shrink_to(self.max_bytes)) {
            self.warn("removing old texts", &error);
        }
        drop(folder_index);
        self.recent.retain(|receipt| self.path(receipt).exists());
    }
}

/// Fails early if files cannot be written to the folder.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(folder_index::file_name(Receipt::new().as_str()));
    match files::put(&file, b"", SystemTime::now()) {
        Err(error) => match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Ok(()),
            _ => Err(error),
        },
        Ok(()) => files::remove(&file),
    }
}
