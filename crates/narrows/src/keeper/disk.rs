//! The configuration file on its disk: read again, and replaced as a whole.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::read_file;

/// The text of a file, or why there is none, in one line.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    match fs::metadata(path) {
        // A pipe can be read only once, and would keep us waiting.
        Ok(found) if !found.is_file() && !found.is_dir() => {
            return Err(format!(
                "{name}: it is no regular file, which could be read again"
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("{name}: the file is gone"));
        }
        _ => {}
    }
    read_file(path).map_err(|problem| problem.line())
}

/// The file of a preset, if it has one.
pub(super) fn preset_path(folder: &Path, id: &str) -> Option<PathBuf> {
    if id.is_empty() || id.contains(['/', '\0']) {
        return None;
    }
    let path = folder.join(format!("preset_{id}.json"));
    path.is_file().then_some(path)
}

/// Why a file was not replaced. It is as it was then.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// Somebody else has saved it meanwhile.
    Changed,
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Unwritten::Failed(error)
    }
}

/// Puts `text` in the place of `before`: all of it or nothing, whatever
/// happens meanwhile. A link stays one, and the file keeps owner and rights.
pub(super) fn replace(path: &Path, before: &str, text: &str) -> Result<(), Unwritten> {
    let target = fs::canonicalize(path)?;
    let there = fs::metadata(&target)?;
    if !there.is_file() {
        return Err(io::Error::other("it is no regular file").into());
    }
    let aside = Aside::create(&target)?;
    aside.fill(text, &there)?;
    // As late as can be: what somebody saves after this moment is lost to
    // us, as it would be to any editor.
    if fs::read(&target)? != before.as_bytes() {
        return Err(Unwritten::Changed);
    }
    aside.take_place_of(&target)?;
    Ok(())
}

/// Creates a file that is not there yet: all of it or nothing. Only its owner
/// may read it, since entries of servers hold secrets.
pub(super) fn create(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = Aside::create(path)?;
    let mut file = &aside.file;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Unlike a rename this fails where a file of the name is there.
    fs::hard_link(&aside.path, path)?;
    // The new file is in force, see `take_place_of`.
    let _ = sync_folder(path);
    Ok(())
}

/// Removes a file for good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(path)
}

/// A new file beside the old one, gone again unless it takes its place.
struct Aside {
    path: PathBuf,
    file: File,
}

impl Aside {
    fn create(target: &Path) -> io::Result<Aside> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let name = format!(".{name}.{}-{count}.tmp", std::process::id());
        let path = target.with_file_name(name);
        let mut options = OpenOptions::new();
        // Nobody may read it before it has the rights of the old one.
        let options = options.write(true).create_new(true).mode(0o600);
        let file = match options.open(&path) {
            // Left behind by a process of the same number that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                options.open(&path)?
            }
            opened => opened?,
        };
        Ok(Aside { path, file })
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
        // The new file is in force; that its name might not survive a power
        // cut is no reason to say that it is not.
        let _ = sync_folder(target);
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // After the rename there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
