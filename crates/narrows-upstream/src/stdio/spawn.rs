//! Starts the child process, and explains why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::chain::CHAIN;
use crate::failure::{Failure, FailureKind};
use crate::process::{self, MARK};
use crate::settings::StdioSettings;

pub(super) struct Spawned {
    pub(super) child: Child,
    /// The pid of the child, which is also its process group.
    pub(super) pid: u32,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

pub(super) fn spawn(
    settings: &StdioSettings,
    mark: &str,
    chain: &str,
    subreaper: Option<&[OsString]>,
) -> Result<Spawned, Failure> {
    let start = |subreaper| {
        let mut command = command(settings, mark, chain, subreaper);
        process::start(|| command.spawn(), Child::id)
    };
    let started = start(subreaper).or_else(|error| match subreaper {
        // The gateway's binary may have been deleted since it was started.
        Some(_) => start(None).inspect(|_| {
            tracing::warn!(%error, "could not start the subreaper process; daemons of the server may outlive it");
        }),
        None => Err(error),
    });
    let mut child = started.map_err(|error| explain(settings, &error))?;
    let parts = (
        child.id(),
        child.stdin.take(),
        child.stdout.take(),
        child.stderr.take(),
    );
    let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) = parts else {
        unreachable!("a child that was just started with three pipes has an id and three pipes");
    };
    Ok(Spawned {
        child,
        pid,
        stdin,
        stdout,
        stderr,
    })
}

fn command(
    settings: &StdioSettings,
    mark: &str,
    chain: &str,
    subreaper: Option<&[OsString]>,
) -> Command {
    let mut command = match subreaper.and_then(<[OsString]>::split_first) {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command
                .args(arguments)
                .arg(std::process::id().to_string())
                .arg(&settings.command);
            command
        }
        None => Command::new(&settings.command),
    };
    command
        .args(&settings.args)
        .env_clear()
        .envs(settings.env.iter().map(|(name, value)| (name, value)))
        // Identifies the processes that the server starts.
        .env(MARK, mark)
        // Lets a gateway among them detect a loop.
        .env(CHAIN, chain)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // `ChildProcess` ends the whole tree, while tokio would only kill one process.
        .kill_on_drop(false);
    if let Some(cwd) = &settings.cwd {
        command.current_dir(cwd);
    }
    command
}

/// Explains why the child could not be started. The kernel reports the same "not found" for a
/// missing command, a missing interpreter and a missing working directory, each of which needs a
/// different fix.
pub(super) fn explain(settings: &StdioSettings, error: &io::Error) -> Failure {
    let name = &settings.command;
    if let Some(cwd) = &settings.cwd
        && !cwd.is_dir()
    {
        let detail = format!(
            "cannot start '{name}': the working directory '{}' does not exist",
            cwd.display()
        );
        return Failure::new(FailureKind::Process, detail);
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::new(
            FailureKind::Process,
            format!("cannot start '{name}': {error}"),
        );
    }
    let place = CommandLocation::of(settings);
    if let Some(file) = place.file() {
        let detail = format!(
            "cannot start '{}': the interpreter named in its first line does not exist",
            file.display()
        );
        return Failure::new(FailureKind::Process, detail);
    }
    let mut detail = match place {
        CommandLocation::Path(path) => format!("'{}' does not exist", path.display()),
        // The value of PATH is omitted, because it is long and clients can read this message.
        CommandLocation::Search { path: Some(_), .. } => format!("'{name}' was not found in PATH"),
        CommandLocation::Search { path: None, .. } => {
            format!("'{name}' was not found; the server's environment has no PATH")
        }
    };
    if name.contains(char::is_whitespace) {
        detail.push_str("; arguments belong in 'args', not in 'command'");
    }
    Failure::new(FailureKind::NotFound, detail)
}

/// The location of a command.
enum CommandLocation<'a> {
    Path(PathBuf),
    Search {
        name: &'a str,
        path: Option<&'a OsStr>,
    },
}

impl<'a> CommandLocation<'a> {
    fn of(settings: &'a StdioSettings) -> CommandLocation<'a> {
        if settings.command.contains('/') {
            // The child changes its directory first, so a relative path is relative to that
            // directory.
            let base = settings.cwd.as_deref().unwrap_or(Path::new(""));
            return CommandLocation::Path(base.join(&settings.command));
        }
        // If a variable is set more than once, the last value applies.
        let path = settings
            .env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.as_os_str());
        CommandLocation::Search {
            name: &settings.command,
            path,
        }
    }

    /// Returns the command's file, if it exists.
    fn file(&self) -> Option<PathBuf> {
        match self {
            CommandLocation::Path(path) => path.is_file().then(|| path.clone()),
            CommandLocation::Search { name, path } => std::env::split_paths((*path)?)
                .map(|folder| folder.join(name))
                .find(|file| file.is_file()),
        }
    }
}
