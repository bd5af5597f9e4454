//! The runtime file, which gives the operator the address and the admin token of a running gateway.
//!
//! The file is in a folder accessible only to the user (0700) and is readable only by the user
//! (0600), because anyone who can read it may use the admin API. All operations are relative to the
//! opened folder, and symbolic links are not followed in the last component, so that no other user
//! can substitute a file.

#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use narrows_wire::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::process::{Pid, geteuid, test_kill_process};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

use crate::config::Environment;

/// The size limit of a runtime file, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The runtime file of this process. Dropping it removes the file if it still belongs to this
/// process.
pub(crate) struct RuntimeFile {
    folder: OwnedFd,
    name: String,
    content: RuntimeContent,
}

/// A running gateway, as described by its file. It does not implement `Debug`, so that the token
/// cannot be printed by accident.
pub(crate) struct RunningGateway {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) pid: i32,
    /// The absolute path of its configuration file.
    pub(crate) config: Option<String>,
    /// The file from which this was read.
    pub(crate) file: PathBuf,
}

/// The gateways of this user, and warnings about ignored files.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) running: Vec<RunningGateway>,
    pub(crate) warnings: Vec<String>,
}

impl RuntimeFile {
    /// Writes the file into the first usable folder of the user. Replaces a file for the same port,
    /// whose gateway must have ended because this process has the port.
    pub(crate) fn write(
        environment: &Environment,
        url: &str,
        token: &str,
        config: Option<&Path>,
    ) -> io::Result<RuntimeFile> {
        let port = url.parse::<http::Uri>().ok().and_then(|url| url.port_u16());
        let port = port.ok_or_else(|| io::Error::other("the address has no port"))?;
        let content = RuntimeContent {
            url: url.to_owned(),
            token: token.to_owned(),
            pid: own_pid(),
            config: config.map(published_path),
            started_at: Timestamp::from(SystemTime::now()).rfc3339(),
        };
        let mut result = Err(io::Error::new(
            ErrorKind::NotFound,
            "neither XDG_RUNTIME_DIR nor HOME is set",
        ));
        for place in places(environment) {
            result = place.make().and_then(|folder| {
                let name = format!("{port}.json");
                put(&folder, &name, &content)?;
                Ok(RuntimeFile {
                    folder,
                    name,
                    content: content.clone(),
                })
            });
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// Records the new configuration file of the gateway.
    pub(crate) fn set_config(&self, config: &Path) -> io::Result<()> {
        let content = RuntimeContent {
            config: Some(published_path(config)),
            ..self.content.clone()
        };
        put(&self.folder, &self.name, &content)
    }
}

impl Drop for RuntimeFile {
    fn drop(&mut self) {
        remove_if(&self.folder, &self.name, &self.content.token);
    }
}

/// Returns the absolute path, for use by other processes.
fn published_path(config: &Path) -> String {
    let absolute = std::path::absolute(config).unwrap_or(config.to_owned());
    absolute.to_string_lossy().into_owned()
}

/// Returns the running gateways of this user. Removes the files of processes that have ended, and
/// ignores files that other users could have written or read.
pub(crate) fn found(environment: &Environment) -> Found {
    let mut found = Found::default();
    for place in places(environment) {
        let path = place.path();
        match open_folder(&path) {
            Ok(folder) => look_into(&folder, &path, &mut found),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found
                .warnings
                .push(format!("{} is ignored: {error}", path.display())),
        }
    }
    found.running.sort_by(|a, b| a.url.cmp(&b.url));
    found
}

/// The content of the file.
#[derive(Clone, Serialize, Deserialize)]
struct RuntimeContent {
    url: String,
    token: String,
    pid: i32,
    config: Option<String>,
    #[serde(default)]
    started_at: String,
}

/// A folder for runtime files: a `base` provided by the system and a folder inside it.
struct RuntimeFolder {
    base: PathBuf,
    inner: &'static str,
    /// True if the base may be created. `XDG_RUNTIME_DIR` is created and removed with the user's
    /// login and must not be.
    makes_base: bool,
}

impl RuntimeFolder {
    fn path(&self) -> PathBuf {
        self.base.join(self.inner)
    }

    /// Opens the folder for writing, after creating it if necessary.
    fn make(&self) -> io::Result<OwnedFd> {
        let path = self.path();
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(self.makes_base);
        let made = match builder.create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        let named = |error: io::Error| {
            let path = path.display();
            io::Error::new(error.kind(), format!("{path}: {error}"))
        };
        made.map_err(named)?;
        let folder = open_own_folder(&path).map_err(named)?;
        rustix::fs::fchmod(&folder, Mode::RWXU)?;
        Ok(folder)
    }
}

/// Returns the possible folders in order of preference. The XDG base directory specification
/// ignores relative values.
fn places(environment: &Environment) -> Vec<RuntimeFolder> {
    let variable = |name: &str| {
        let value = environment.text(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let home = || Some(environment.home()?.join(".local/state"));
    let runtime = variable("XDG_RUNTIME_DIR").map(|base| RuntimeFolder {
        base,
        inner: "narrows",
        makes_base: false,
    });
    let state = variable("XDG_STATE_HOME")
        .or_else(home)
        .map(|base| RuntimeFolder {
            base,
            inner: "narrows/run",
            makes_base: true,
        });
    runtime.into_iter().chain(state).collect()
}

/// Opens a folder for reading, unless other users could have written to it.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let folder = open_own_folder(path)?;
    if mode_of(&folder)?.intersects(Mode::WGRP | Mode::WOTH) {
        return Err(io::Error::other("other users can write to it"));
    }
    Ok(folder)
}

fn open_own_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    if rustix::fs::fstat(&folder)?.st_uid != geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(folder)
}

fn mode_of(file: &OwnedFd) -> io::Result<Mode> {
    Ok(Mode::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

/// Writes a file under a temporary name and renames it, so that readers never see a part of it.
fn put(folder: &OwnedFd, name: &str, content: &RuntimeContent) -> io::Result<()> {
    let temporary = format!(".{name}.{}", own_pid());
    // Left behind by an earlier process with the same id.
    let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(file).write_all(&serde_json::to_vec(content)?);
    let moved = written.and_then(|()| {
        rustix::fs::renameat(folder, &temporary, folder, name).map_err(io::Error::from)
    });
    if moved.is_err() {
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    moved
}

fn look_into(folder: &OwnedFd, path: &Path, found: &mut Found) {
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name.starts_with('.') || !name.ends_with(".json") {
            continue;
        }
        let file = path.join(name);
        match read(folder, name) {
            Ok(content) if is_gone(content.pid) => remove_if(folder, name, &content.token),
            Ok(content) => found.running.push(RunningGateway {
                url: content.url,
                token: content.token,
                pid: content.pid,
                config: content.config,
                file,
            }),
            // The gateway has just ended.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found
                .warnings
                .push(format!("{} is ignored: {error}", file.display())),
        }
    }
}

/// Reads a file that belongs only to this user. Does not block if the file is a pipe.
fn read(folder: &OwnedFd, name: &str) -> io::Result<RuntimeContent> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let refused = |why: &str| Err(io::Error::other(why.to_owned()));
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return refused("it is not a regular file");
    }
    if stat.st_uid != geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        return refused("other users can read or write it");
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_BYTES).read_to_end(&mut bytes)?;
    // The error of serde is not repeated, because it could quote a part of the file.
    serde_json::from_slice(&bytes).map_err(|_| io::Error::other("it is not a runtime file"))
}

/// Removes a file if it still holds this token. Another gateway may have taken the port, and with
/// it the name of the file.
fn remove_if(folder: &OwnedFd, name: &str, token: &str) {
    if read(folder, name).is_ok_and(|content| content.token == token) {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

/// Returns true if no process has this id. A process that may not be signalled exists.
fn is_gone(pid: i32) -> bool {
    match Pid::from_raw(pid).filter(|_| pid > 0) {
        Some(pid) => test_kill_process(pid) == Err(rustix::io::Errno::SRCH),
        None => true,
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}
