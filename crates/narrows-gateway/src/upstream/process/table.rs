//! The kernel's table of processes, as far as `/proc` shows it.

use std::fs::{self, File};
use std::io::Read;

use super::MARK;

/// One process, told apart from later ones of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) process: Process,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// False for zombies: they do nothing but wait for their parent.
    pub(super) alive: bool,
}

impl Process {
    /// The process that has this number now.
    pub(crate) fn find(pid: i32) -> Option<Process> {
        Entry::read(pid).map(|entry| entry.process)
    }

    pub(super) fn lives(&self) -> bool {
        Entry::read(self.pid).is_some_and(|entry| entry.process == *self && entry.alive)
    }

    /// Whether the environment it was started with has the mark, or one below it.
    /// An environment that we may not read has none.
    pub(super) fn carries_mark(&self, mark: &str) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{}/environ", self.pid)) else {
            return false;
        };
        environment.split(|byte| *byte == 0).any(|variable| {
            variable
                .strip_prefix(MARK.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .and_then(|value| value.strip_prefix(mark.as_bytes()))
                .is_some_and(|more| more.is_empty() || more.starts_with(b"."))
        })
    }
}

/// All processes that started at `since` or later; `None` where there is no such table.
pub(super) fn read(since: u64) -> Option<Vec<Entry>> {
    // Without our own entry this is no table that we can read.
    Process::find(rustix::process::getpid().as_raw_pid())?;
    let names = fs::read_dir("/proc").ok()?;
    let pids = names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok());
    Some(
        pids.filter_map(Entry::read)
            .filter(|entry| entry.process.started >= since)
            .collect(),
    )
}

impl Entry {
    fn read(pid: i32) -> Option<Entry> {
        // The line has some fifty short numbers; what we want stands in its first half.
        let mut line = [0; 1024];
        let path = format!("/proc/{pid}/stat");
        let length = File::open(path).ok()?.read(&mut line).ok()?;
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
        let process = Process {
            pid: pid.parse().ok()?,
            started,
        };
        Some(Entry {
            process,
            parent,
            group,
            alive: !matches!(state, "Z" | "X" | "x"),
        })
    }
}
