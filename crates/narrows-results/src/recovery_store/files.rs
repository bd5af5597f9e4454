//! Private files that are written atomically.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The file extension during writing.
pub(super) const PART: &str = "part";

/// The age at which a partial file counts as left behind by a process that ended while writing.
const PART_AGE: Duration = Duration::from_secs(60);

/// Creates a folder that only its owner can access, unless it exists.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file under a temporary name and renames it, so that readers of the final name always
/// see the complete file, even if the writer is interrupted.
///
/// The file is not synced: it survives the end of the process, by any signal, but a power failure
/// within seconds may lose or damage it.
pub(super) fn put(path: &Path, bytes: &[u8], at: SystemTime) -> io::Result<()> {
    let part = path.with_extension(PART);
    let written = create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_modified(at)?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // The partial file may occupy the last free space.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Reads a file of at most `max` bytes; `None` if it is longer.
pub(super) fn read(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > max {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

/// Returns true if a partial file is so old that its writer must have ended.
pub(super) fn is_abandoned(modified: SystemTime, now: SystemTime) -> bool {
    now.duration_since(modified)
        .is_ok_and(|age| age >= PART_AGE)
}

/// Removes a file. A file that another process has already removed is not an error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn create(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
