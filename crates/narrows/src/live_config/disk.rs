//! Reads the configuration file again and replaces it atomically.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::read_file;

/// Reads a file, or returns the reason for the failure in one line.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    match fs::metadata(path) {
        // A pipe can be read only once, and opening it would block.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return Err(format!(
                "{name}: it is not a regular file, so it cannot be read again"
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{name}: the file is gone"));
        }
        _ => {}
    }
    read_file(path).map_err(|problem| problem.line())
}

/// Returns the path of a preset file if it exists.
pub(super) fn preset_path(folder: &Path, id: &str) -> Option<PathBuf> {
    if id.is_empty() || id.contains(['/', '\0']) {
        return None;
    }
    let path = folder.join(format!("preset_{id}.json"));
    path.is_file().then_some(path)
}

/// The reason why a file was not replaced. The file itself is unchanged.
#[derive(Debug)]
pub(super) enum WriteError {
    /// Another program has saved the file meanwhile.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Failed(error)
    }
}

/// Replaces the content `before` by `text` atomically. Symbolic links stay links, and the file
/// keeps its owner and permissions.
pub(super) fn replace(path: &Path, before: &str, text: &str) -> Result<(), WriteError> {
    let target = fs::canonicalize(path)?;
    let there = fs::metadata(&target)?;
    if !there.is_file() {
        return Err(io::Error::other("it is not a regular file").into());
    }
    let aside = TempFile::create(&target)?;
    aside.fill(text, &there)?;
    // Checked as late as possible. A save by another program after this point is overwritten, as
    // with any editor.
    if fs::read(&target)? != before.as_bytes() {
        return Err(WriteError::Changed);
    }
    aside.take_place_of(&target)?;
    Ok(())
}

/// Creates a new file atomically. Only its owner may read it, because entries of servers hold
/// secrets.
pub(super) fn create(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = TempFile::create(path)?;
    let mut file = &aside.file;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Unlike a rename, this fails if a file with this name exists.
    fs::hard_link(&aside.path, path)?;
    // The new file is already in place, see `take_place_of`.
    let _ = sync_folder(path);
    Ok(())
}

/// Removes a file and syncs its folder.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(path)
}

/// A temporary file in the same folder, removed unless it replaces the target.
struct TempFile {
    path: PathBuf,
    file: File,
}

impl TempFile {
    fn create(target: &Path) -> io::Result<TempFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let name = format!(".{name}.{}-{count}.tmp", std::process::id());
        let path = target.with_file_name(name);
        let mut options = OpenOptions::new();
        // The file must not be readable before it has the permissions of the old one.
        let options = options.write(true).create_new(true).mode(0o600);
        let file = match options.open(&path) {
            // Left behind by a killed process with the same id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                options.open(&path)?
            }
            opened => opened?,
        };
        Ok(TempFile { path, file })
    }

    fn fill(&self, text: &str, like: &fs::Metadata) -> io::Result<()> {
        let mut file = &self.file;
        file.write_all(text.as_bytes())?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            fchown(file, Some(like.uid()), Some(like.gid())).map_err(|error| {
                io::Error::new(error.kind(), format!("its owner cannot be kept: {error}"))
            })?;
        }
        file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
        file.sync_all()
    }

    fn take_place_of(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        // The new file is already in place. If its name might not survive a power failure, that
        // does not make the save a failure.
        let _ = sync_folder(target);
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // After the rename, no file has this name.
        let _ = fs::remove_file(&self.path);
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
