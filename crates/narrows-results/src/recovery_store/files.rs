//! Files that nobody else may read, each of them there as a whole or not at all.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What a file is called until it is whole.
pub(super) const PART: &str = "part";

/// A part that is older was left by a process that ended while it wrote.
const PART_AGE: Duration = Duration::from_secs(60);

/// Makes a folder for its owner alone, unless there is one.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file under the name of a part and renames it, so that whoever reads
/// it under its own name reads all of it, whatever happened to the writer.
///
/// Nothing is synced: what was written outlives the process, by whatever signal
/// it ends, but the loss of power within seconds may take or damage it.
pub(super) fn put(path: &Path, bytes: &[u8], at: SystemTime) -> io::Result<()> {
    let part = path.with_extension(PART);
    let written = create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_modified(at)?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // It takes room, perhaps the last there is.
        let _ = fs::remove_file(&part);
    }
    written
}

/// What is in a file, but no more than so many bytes; of a longer one nothing.
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

/// Whether a part of this age belongs to nobody any more.
pub(super) fn is_abandoned(modified: SystemTime, now: SystemTime) -> bool {
    now.duration_since(modified)
        .is_ok_and(|age| age >= PART_AGE)
}

/// Removes a file; that another process was faster is no failure.
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
