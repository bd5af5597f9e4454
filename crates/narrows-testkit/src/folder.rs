//! A temporary folder for one test, removed when the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::until;

/// An empty folder below the system's temporary folder.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Default for Folder {
    fn default() -> Self {
        Folder::new()
    }
}

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // The time distinguishes processes with the same process id.
        let now = std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |now| now.as_nanos());
        let path = std::env::temp_dir().join(format!("narrows-test-{process}-{count}-{now:x}"));
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).expect("a file can be written into the test's folder");
        path
    }

    /// Returns the content of a file; empty if the file does not exist yet.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Waits until a file holds a complete line, and returns the whole content.
    pub async fn read_when_there(&self, name: &str) -> String {
        let what = format!("{} has a line", self.file(name).display());
        until(what, || self.read(name).ends_with('\n')).await;
        self.read(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
