//! The runtime file: where a gateway that runs can be reached by its operator,
//! and the token of this very run.
//!
//! It lies in a folder of the user alone (0700) and is readable by the user
//! alone (0600); whoever can read it may operate the gateway. Everything is
//! done relative to the opened folder, and no symbolic link is followed in the
//! last component, so that nobody can put another file in its place.

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

/// A longer file is none of ours.
const MAX_BYTES: u64 = 64 * 1024;

/// The file of this process. Dropping it removes the file, if it is still ours.
pub(crate) struct RuntimeFile {
    folder: OwnedFd,
    name: String,
    content: Content,
}

/// A gateway that runs, as its file tells. It has no `Debug`: the token is not
/// to be printed.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) pid: i32,
    /// The configuration file that it serves, absolute.
    pub(crate) config: Option<String>,
    /// Where this was read.
    pub(crate) file: PathBuf,
}

/// The gateways of this user, and what was ignored and why.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) running: Vec<Running>,
    pub(crate) warnings: Vec<String>,
}

impl RuntimeFile {
    /// Writes the file into the first folder of the user that can be used. A
    /// file of the same port is replaced: its gateway must be gone, since we
    /// have the port.
    pub(crate) fn write(
        environment: &Environment,
        url: &str,
        token: &str,
        config: Option<&Path>,
    ) -> io::Result<RuntimeFile> {
        let port = url.parse::<http::Uri>().ok().and_then(|url| url.port_u16());
        let port = port.ok_or_else(|| io::Error::other("the address has no port"))?;
        let content = Content {
            url: url.to_owned(),
            token: token.to_owned(),
            pid: own_pid(),
            config: config.map(told),
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

    /// Says that the gateway serves another configuration file now.
    pub(crate) fn set_config(&self, config: &Path) -> io::Result<()> {
        let content = Content {
            config: Some(told(config)),
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

/// A configuration file as other processes find it.
fn told(config: &Path) -> String {
    let absolute = std::path::absolute(config).unwrap_or(config.to_owned());
    absolute.to_string_lossy().into_owned()
}

/// The gateways that run, by the files of this user. Files of processes that
/// are gone are removed; files that somebody else could have written or read
/// are not believed.
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

/// What is in the file.
#[derive(Clone, Serialize, Deserialize)]
struct Content {
    url: String,
    token: String,
    pid: i32,
    config: Option<String>,
    #[serde(default)]
    started_at: String,
}

/// A folder for runtime files: the `base`, which is the system's matter, and
/// what we make in it.
struct Place {
    base: PathBuf,
    inner: &'static str,
    /// Whether the base may be made, too. That of `XDG_RUNTIME_DIR` lives and
    /// dies with the user's login, and is not ours to make.
    makes_base: bool,
}

impl Place {
    fn path(&self) -> PathBuf {
        self.base.join(self.inner)
    }

    /// Opens the folder for writing, and makes it first if it is not there.
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

/// Where files may be, in the order in which they are tried. A relative value
/// is invalid by the XDG base directory specification.
fn places(environment: &Environment) -> Vec<Place> {
    let variable = |name: &str| {
        let value = environment.text(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let home = || Some(environment.home()?.join(".local/state"));
    let runtime = variable("XDG_RUNTIME_DIR").map(|base| Place {
        base,
        inner: "narrows",
        makes_base: false,
    });
    let state = variable("XDG_STATE_HOME").or_else(home).map(|base| Place {
        base,
        inner: "narrows/run",
        makes_base: true,
    });
    runtime.into_iter().chain(state).collect()
}

/// Opens a folder to read from it, unless others could have put files into it.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let folder = open_own_folder(path)?;
    if mode_of(&folder)?.intersects(Mode::WGRP | Mode::WOTH) {
        return Err(io::Error::other("others can write to it"));
    }
    Ok(folder)
}

fn open_own_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    if rustix::fs::fstat(&folder)?.st_uid != geteuid().as_raw() {
        return Err(io::Error::other("it belongs to somebody else"));
    }
    Ok(folder)
}

fn mode_of(file: &OwnedFd) -> io::Result<Mode> {
    Ok(Mode::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

/// Writes a file under a name of its own and moves it into its place, so that
/// nobody reads half of it.
fn put(folder: &OwnedFd, name: &str, content: &Content) -> io::Result<()> {
    let temporary = format!(".{name}.{}", own_pid());
    // One that is there was left behind by a process that had our number.
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
            Ok(content) => found.running.push(Running {
                url: content.url,
                token: content.token,
                pid: content.pid,
                config: content.config,
                file,
            }),
            // Its gateway has ended just now.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found
                .warnings
                .push(format!("{} is ignored: {error}", file.display())),
        }
    }
}

/// Reads a file that is ours and nobody else's. Not even a pipe that somebody
/// put there makes us wait.
fn read(folder: &OwnedFd, name: &str) -> io::Result<Content> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let refused = |why: &str| Err(io::Error::other(why.to_owned()));
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return refused("it is no plain file");
    }
    if stat.st_uid != geteuid().as_raw() {
        return refused("it belongs to somebody else");
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        return refused("others can read or write it");
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_BYTES).read_to_end(&mut bytes)?;
    // What is wrong with it is not told: the message could hold a piece of it.
    serde_json::from_slice(&bytes).map_err(|_| io::Error::other("it is no runtime file"))
}

/// Removes a file if it is still that with this token. Another gateway may
/// have taken the port, and the name of the file with it.
fn remove_if(folder: &OwnedFd, name: &str, token: &str) {
    if read(folder, name).is_ok_and(|content| content.token == token) {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

/// Whether there is no process of this number. One that we may not send
/// signals to is there.
fn is_gone(pid: i32) -> bool {
    match Pid::from_raw(pid).filter(|_| pid > 0) {
        Some(pid) => test_kill_process(pid) == Err(rustix::io::Errno::SRCH),
        None => true,
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}
