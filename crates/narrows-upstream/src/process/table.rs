//! The kernel's table of processes, as far as `/proc` shows it.

use std::fs::{self, File};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use parking_lot::Mutex;

use super::MARK;

/// Parents that are looked at for a variable.
const MOST_ABOVE: usize = 64;

/// One process, told apart from later ones of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// In clock ticks since boot.
    pub(super) started: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) process: Process,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// False for zombies: they do nothing but wait for their parent.
    pub(super) alive: bool,
    /// Of the environment it was started with, if it has one and we may read it.
    pub(super) mark: Option<Box<str>>,
}

pub(super) type Table = Arc<[Entry]>;

impl Process {
    /// The process that has this number now.
    pub(super) fn find(pid: i32) -> Option<Process> {
        Entry::read(pid).map(|entry| entry.process)
    }

    pub(super) fn lives(&self) -> bool {
        Entry::read(self.pid).is_some_and(|entry| entry.process == *self && entry.alive)
    }
}

/// Set once older processes than ours may belong to a tree.
static WITH_OLDER: AtomicBool = AtomicBool::new(false);

/// Reads older processes than ours from now on. For a guard that takes the
/// place of another: it is younger than the servers that it watches.
pub(crate) fn include_older() {
    WITH_OLDER.store(true, Ordering::Relaxed);
}

/// All processes that are younger than ours, as they are now, and older ones
/// after [`include_older`]; `None` where there is no table to read.
///
/// Reading costs some ten microseconds a process, and at shutdown every server
/// is looked for at once. So those who wait for one reading share the next:
/// what was begun after one asked is new enough.
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

    // Without our own entry this is no table that we can read.
    let own = (*OWN)?;
    let names = fs::read_dir("/proc").ok()?;
    let pids = names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok());
    let with_older = WITH_OLDER.load(Ordering::Relaxed);
    let may_be_ours = |process: Process| with_older || process.started >= own.started;
    let mut entries: Vec<Entry> = pids
        .filter_map(Entry::read)
        .filter(|entry| may_be_ours(entry.process) && entry.process != own)
        .collect();
    for entry in entries.iter_mut().filter(|entry| entry.alive) {
        entry.mark = read_mark(entry.process.pid);
    }
    Some(entries.into())
}

impl Entry {
    fn read(pid: i32) -> Option<Entry> {
        // The line has some fifty short numbers; what we want stands in its first half.
        let mut line = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat"))
            .ok()?
            .read(&mut line)
            .ok()?;
        Entry::parse(line.get(..length)?)
    }

    /// `pid (name) state ppid pgrp ...`, see proc_pid_stat(5). The name may hold
    /// anything, so reading goes on after its last parenthesis.
    pub(super) fn parse(line: &[u8]) -> Option<Entry> {
        let line = String::from_utf8_lossy(line);
        let (pid, rest) = line.split_once(' ')?;
        let (_, rest) = rest.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Field 22, of which state is field 3.
        let started = fields.nth(16)?.parse().ok()?;
        Some(Entry {
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

/// Returns a variable of the nearest process above this one that was started
/// with it.
pub(crate) fn variable_above(name: &str) -> Option<Box<str>> {
    let mut pid = rustix::process::getppid()?.as_raw_pid();
    for _ in 0..MOST_ABOVE {
        if let Some(value) = read_variable(pid, name) {
            return Some(value);
        }
        pid = Entry::read(pid)?.parent;
    }
    None
}

fn read_mark(pid: i32) -> Option<Box<str>> {
    read_variable(pid, MARK)
}

/// Reads a variable of the environment that a process was started with.
fn read_variable(pid: i32, name: &str) -> Option<Box<str>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok().map(Into::into)
}
