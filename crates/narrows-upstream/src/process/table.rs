//! The kernel's process table, as `/proc` shows it.

use std::fs::{self, File};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use parking_lot::Mutex;

use super::MARK;

/// The maximum number of ancestor processes that are searched for a variable.
const MAX_ANCESTORS: usize = 64;

/// One process, distinguished from later ones with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// The start time in clock ticks since boot.
    pub(super) started: u64,
}

#[derive(Debug, Clone)]
pub(super) struct TableEntry {
    pub(super) process: Process,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// False for zombies, which only wait to be reaped by their parent.
    pub(super) alive: bool,
    /// The mark in the environment that the process was started with, if it has one and the
    /// environment is readable.
    pub(super) mark: Option<Box<str>>,
}

pub(super) type Table = Arc<[TableEntry]>;

impl Process {
    /// Finds the process that currently has this pid.
    pub(super) fn find(pid: i32) -> Option<Process> {
        TableEntry::read(pid).map(|entry| entry.process)
    }

    pub(super) fn lives(&self) -> bool {
        TableEntry::read(self.pid).is_some_and(|entry| entry.process == *self && entry.alive)
    }
}

/// True once processes older than this one may belong to a tree.
static WITH_OLDER: AtomicBool = AtomicBool::new(false);

/// Includes older processes than this one from now on. Used by a guard that replaces another one,
/// because it is younger than the servers that it watches.
pub(crate) fn include_older() {
    WITH_OLDER.store(true, Ordering::Relaxed);
}

/// Reads all processes younger than this one, and older ones after [`include_older`]. Returns
/// `None` if there is no readable process table.
///
/// Reading takes about ten microseconds per process, and at shutdown all servers need the table at
/// once. Therefore callers that wait for one reading share the next one, which is recent enough if
/// it began after their call.
pub(super) fn read() -> Option<Table> {
    static LATEST: Mutex<Option<(Instant, Table)>> = Mutex::new(None);

    let asked = Instant::now();
    let mut latest = LATEST.lock();
    if let Some((begun, table)) = &*latest
        && *begun > asked
    {
        return Some(table.clone());
    }
    let begun = Instant::now();
    let table = read_all()?;
    *latest = Some((begun, table.clone()));
    Some(table)
}

fn read_all() -> Option<Table> {
    static OWN: LazyLock<Option<Process>> =
        LazyLock::new(|| Process::find(rustix::process::getpid().as_raw_pid()));

    // Without an entry for this process, the table is not usable.
    let own = (*OWN)?;
    let names = fs::read_dir("/proc").ok()?;
    let pids = names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok());
    let with_older = WITH_OLDER.load(Ordering::Relaxed);
    let may_be_ours = |process: Process| with_older || process.started >= own.started;
    let mut entries: Vec<TableEntry> = pids
        .filter_map(TableEntry::read)
        .filter(|entry| may_be_ours(entry.process) && entry.process != own)
        .collect();
    for entry in entries.iter_mut().filter(|entry| entry.alive) {
        entry.mark = read_mark(entry.process.pid);
    }
    Some(entries.into())
}

impl TableEntry {
    fn read(pid: i32) -> Option<TableEntry> {
        // The line has about fifty short numbers, and the required ones are in its first half.
        let mut line = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat"))
            .ok()?
            .read(&mut line)
            .ok()?;
        TableEntry::parse(line.get(..length)?)
    }

    /// Parses `pid (name) state ppid pgrp ...`, see proc_pid_stat(5). The name may contain any
    /// characters, so parsing continues after the last parenthesis.
    pub(super) fn parse(line: &[u8]) -> Option<TableEntry> {
        let line = String::from_utf8_lossy(line);
        let (pid, rest) = line.split_once(' ')?;
        let (_, rest) = rest.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Field 22; the state is field 3.
        let started = fields.nth(16)?.parse().ok()?;
        Some(TableEntry {
            process: Process {
                pid: pid.parse().ok()?,
                started,
            },
            parent,
            group,
            alive: !matches!(state, "Z" | "X" | "x"),
            mark: None,
        })
    }
}

/// Returns the value of a variable from the nearest ancestor process that has it in its initial
/// environment.
pub(crate) fn variable_above(name: &str) -> Option<Box<str>> {
    let mut pid = rustix::process::getppid()?.as_raw_pid();
    for _ in 0..MAX_ANCESTORS {
        if let Some(value) = read_variable(pid, name) {
            return Some(value);
        }
        pid = TableEntry::read(pid)?.parent;
    }
    None
}

fn read_mark(pid: i32) -> Option<Box<str>> {
    read_variable(pid, MARK)
}

/// Reads a variable from the initial environment of a process.
fn read_variable(pid: i32, name: &str) -> Option<Box<str>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok().map(Into::into)
}
