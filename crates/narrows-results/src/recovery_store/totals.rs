//! Totals of all processes that share the folder, stored next to the texts. Each process has its
//! own file, so that no process overwrites the data of another.
//!
//! This module does not interpret the content of the files.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::files;

/// The maximum length of a file that is written or read.
const MAX_BYTES: usize = 1024 * 1024;

/// The maximum number of files that are read, the newest first.
const MAX_FILES: usize = 10_000;

/// The age at which files are removed when a store is opened.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Writes the totals of this process and replaces those it wrote before.
pub fn write_totals(folder: &Path, json: &str) -> io::Result<()> {
    if json.len() > MAX_BYTES {
        let text = format!("the totals are too long: {} bytes", json.len());
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    files::make_folder(folder)?;
    let name = own_name().lock();
    files::put(&folder.join(&*name), json.as_bytes(), SystemTime::now())
}

/// Returns the recent totals of all processes including this one, newest first. Unreadable files
/// are skipped.
pub fn read_totals(folder: &Path) -> Vec<String> {
    let mut found: Vec<_> = list(folder).collect();
    found.retain(|file| file.is_whole);
    found.sort_by_key(|file| std::cmp::Reverse(file.modified));
    found.truncate(MAX_FILES);
    let read = |path: &Path| files::read(path, MAX_BYTES as u64).ok().flatten();
    found
        .iter()
        .filter_map(|file| String::from_utf8(read(&file.path)?).ok())
        .collect()
}

/// Removes expired totals and abandoned partial files.
pub(super) fn remove_old(folder: &Path, now: SystemTime) {
    for file in list(folder) {
        let age = now.duration_since(file.modified).unwrap_or_default();
        let is_old = match file.is_whole {
            true => age >= MAX_AGE,
            false => files::is_abandoned(file.modified, now),
        };
        if is_old {
            // The file is removed the next time a store is opened.
            let _ = files::remove(&file.path);
        }
    }
}

struct Totals {
    path: PathBuf,
    modified: SystemTime,
    is_whole: bool,
}

fn list(folder: &Path) -> impl Iterator<Item = Totals> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let rest = name.to_str()?.strip_prefix("totals-")?;
        let is_whole = match rest.rsplit_once('.')?.1 {
            "json" => true,
            files::PART => false,
            _ => return None,
        };
        let found = entry.metadata().ok()?;
        found.is_file().then_some(())?;
        Some(Totals {
            path: entry.path(),
            modified: found.modified().ok()?,
            is_whole,
        })
    })
}

/// Returns the file name of this process. Process ids repeat, in containers with every start, so
/// the name also contains a time and a random number. The lock is held while the file is written.
fn own_name() -> &'static Mutex<String> {
    static NAME: OnceLock<Mutex<String>> = OnceLock::new();
    NAME.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let second = since.unwrap_or_default().as_secs();
        let (process, random) = (std::process::id(), fastrand::u32(..));
        Mutex::new(format!("totals-{second}-{process}-{random:08x}.json"))
    })
}
