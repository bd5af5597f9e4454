//! Process trees: finds every process that a server has started, and signals all of them.
//!
//! The first process of a server leads its own process group, so that one signal reaches all
//! members of the group that are still alive. Processes that have left the group (a browser, a
//! daemon, anything started with `setsid`) are found in `/proc`. They belong to the tree if they
//! descend from one of its processes, did so when the table was last read, or carry the tree's mark
//! in their environment. The mark identifies them even after all processes in between have exited.
//! Orphans are adopted by the server's [subreaper](crate::subreaper), or by the gateway if the
//! subreaper has exited.
//!
//! On systems without a Linux-style `/proc`, only the group is ended. All of these functions may
//! block for several milliseconds. Start reading at [`ProcessTree`].

mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpid,
};

use parking_lot::Mutex;
use table::{Process, TableEntry};
pub(crate) use table::{include_older, variable_above};

/// The environment variable that holds the mark of the tree to which a process belongs.
pub(crate) const MARK: &str = "NARROWS_TREE";

/// The pause between two attempts to reap an orphan.
const REAP_INTERVAL: Duration = Duration::from_millis(5);

/// All processes below one or more group leaders.
#[derive(Debug, Clone)]
pub(crate) struct ProcessTree {
    /// The mark of the tree. Marks that start with it and a `.` also belong to the tree.
    mark: Box<str>,
    /// If set, all descendants of this process belong to the tree.
    root: Option<i32>,
    groups: Vec<GroupLeader>,
    /// The processes that were alive at the last reading, by pid and start time, so that a process
    /// that has reused a pid is not signalled.
    members: Vec<TableEntry>,
}

/// The first process of a group. `started` is `None` if it had already exited.
#[derive(Debug, Clone, Copy)]
struct GroupLeader {
    pid: i32,
    started: Option<u64>,
}

impl ProcessTree {
    /// Creates a tree without groups.
    pub(crate) fn new(mark: impl Into<Box<str>>) -> ProcessTree {
        ProcessTree {
            mark: mark.into(),
            root: None,
            groups: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Returns the tree of all descendants of a process.
    pub(crate) fn below(root: i32) -> ProcessTree {
        ProcessTree {
            root: Some(root),
            ..ProcessTree::new(fresh_mark())
        }
    }

    /// Returns the tree of a child that leads its group and has not been reaped.
    pub(crate) fn of(leader: u32, mark: impl Into<Box<str>>) -> ProcessTree {
        let mut tree = ProcessTree::new(mark);
        tree.add_group(leader);
        tree
    }

    /// Adds a process group. Ignores 0 and 1, because the kernel interprets them as the caller's
    /// own group and as all processes.
    pub(crate) fn add_group(&mut self, leader: u32) {
        if let Ok(pid) = i32::try_from(leader)
            && pid > 1
            && self.groups.iter().all(|group| group.pid != pid)
        {
            self.groups.push(GroupLeader {
                pid,
                started: Process::find(pid).map(|process| process.started),
            });
        }
    }

    pub(crate) fn remove_group(&mut self, leader: u32) {
        self.groups
            .retain(|group| u32::try_from(group.pid) != Ok(leader));
        self.members
            .retain(|member| u32::try_from(member.group) != Ok(leader));
    }

    /// Finds all living processes of the tree and remembers them, even if their parents exit later.
    /// Must be called before any action that makes parents exit.
    pub(crate) fn collect(&mut self) {
        self.look();
    }

    /// Signals all processes of the tree. Ignores processes that have exited or that may not be
    /// signalled.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let seen = self.look();
        for group in &self.groups {
            // The number of a group without members may have been reused by another group.
            let ours = !seen || self.members.iter().any(|member| member.group == group.pid);
            if ours && let Some(pid) = Pid::from_raw(group.pid) {
                let _ = kill_process_group(pid, signal);
            }
        }
        for member in &self.members {
            let reached = self.groups.iter().any(|group| group.pid == member.group);
            if !reached && let Some(pid) = Pid::from_raw(member.process.pid) {
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Returns true if all processes of the tree have exited. Zombies count as exited.
    pub(crate) fn is_gone(&mut self) -> bool {
        // The whole table is only read once all known processes have exited.
        if self.members.iter().any(|member| member.process.lives()) {
            return false;
        }
        if self.look() {
            self.members.is_empty()
        } else {
            self.groups
                .iter()
                .filter_map(|group| Pid::from_raw(group.pid))
                .all(|pid| test_kill_process_group(pid).is_err())
        }
    }

    /// Updates `members`. Returns false if there is no readable process table.
    fn look(&mut self) -> bool {
        let Some(table) = table::read() else {
            self.members.clear();
            return false;
        };
        let orphans = Orphans::among(&table);
        orphans.reap();
        let known: HashSet<Process> = self.members.iter().map(|member| member.process).collect();
        let groups: Vec<&GroupLeader> = self
            .groups
            .iter()
            .filter(|group| !group.is_replaced(&table))
            .collect();
        let (mut found, mut others): (Vec<&TableEntry>, Vec<&TableEntry>) =
            table.iter().filter(|entry| entry.alive).partition(|entry| {
                known.contains(&entry.process)
                    || Some(entry.parent) == self.root
                    || orphans.alive.contains(&entry.process)
                    || groups.iter().any(|group| group.holds(entry))
                    || entry.mark.as_deref().is_some_and(|mark| self.owns(mark))
            });
        // Descendants of members, at any depth, are members.
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|entry| entry.process.pid) {
            let (children, rest) = others.into_iter().partition(|entry| entry.parent == parent);
            found.extend::<Vec<&TableEntry>>(children);
            others = rest;
            next += 1;
        }
        self.members = found.into_iter().cloned().collect();
        true
    }

    fn owns(&self, mark: &str) -> bool {
        mark.strip_prefix(&*self.mark)
            .is_some_and(|more| more.is_empty() || more.starts_with('.'))
    }
}

impl GroupLeader {
    fn holds(&self, entry: &TableEntry) -> bool {
        entry.group == self.pid
            && self
                .started
                .is_none_or(|started| entry.process.started >= started)
    }

    /// Returns true if another process has reused the leader's pid. The kernel only reuses a pid
    /// when its group is empty, so that group is unrelated to this tree.
    fn is_replaced(&self, table: &[TableEntry]) -> bool {
        table.iter().any(|entry| {
            entry.process.pid == self.pid && Some(entry.process.started) != self.started
        })
    }
}

/// The pids of children that this process started itself, as opposed to those it adopted. `None`
/// while it adopts no orphans.
static STARTED: Mutex<Option<HashSet<u32>>> = Mutex::new(None);

/// Makes this process adopt the orphans among its descendants. Returns false if the system does not
/// support it.
pub(crate) fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    let is_subreaper =
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    let is_subreaper = false;
    is_subreaper
}

/// Adopts orphans, and treats them as members of every tree from now on.
pub(crate) fn adopt_orphans() {
    if !become_subreaper() {
        return;
    }
    let own = rustix::process::getpid().as_raw_pid();
    // Children that existed before an exec are not orphans.
    let table = table::read();
    let entries = table.iter().flat_map(|table| table.iter());
    let before = entries.filter(|entry| entry.parent == own);
    let before = before.filter_map(|entry| u32::try_from(entry.process.pid).ok());
    let mut started = STARTED.lock();
    started.get_or_insert_default().extend(before);
}

/// Starts a child and records its pid, so that it is not mistaken for an orphan.
pub(crate) fn start<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    // The lock is held while the child is spawned, so that a search for orphans sees either both
    // the child and its pid, or neither.
    let mut started = STARTED.lock();
    let child = spawn()?;
    if let (Some(started), Some(pid)) = (&mut *started, pid(&child)) {
        started.insert(pid);
    }
    Ok(child)
}

/// Forgets a child that has been reaped.
pub(crate) fn forget(pid: u32) {
    if let Some(started) = &mut *STARTED.lock() {
        started.remove(&pid);
    }
}

/// Reaps adopted orphans that have exited. Blocks for at most `limit`: a process with several
/// threads counts as dead before its last thread has exited, and cannot be reaped until then.
pub(crate) fn reap_orphans(limit: Duration) {
    let limit = Instant::now() + limit;
    if STARTED.lock().is_none() {
        return;
    }
    while let Some(table) = table::read()
        && Orphans::among(&table).reap() > 0
        && Instant::now() < limit
    {
        thread::sleep(REAP_INTERVAL);
    }
}

/// The orphans that this process has adopted from servers whose subreaper has exited.
#[derive(Default)]
struct Orphans {
    alive: HashSet<Process>,
    dead: Vec<Pid>,
}

impl Orphans {
    fn among(table: &[TableEntry]) -> Orphans {
        let own = rustix::process::getpid();
        let started = STARTED.lock();
        let mut orphans = Orphans::default();
        let Some(started) = &*started else {
            return orphans;
        };
        for entry in table
            .iter()
            .filter(|entry| entry.parent == own.as_raw_pid())
        {
            let pid = Pid::from_raw(entry.process.pid);
            match pid.filter(|pid| !started.contains(&pid.as_raw_pid().cast_unsigned())) {
                None => {}
                Some(pid) if !entry.alive => orphans.dead.push(pid),
                // Process 1 of a container also adopts orphans that no server has started. When it
                // exits, the kernel kills all of them.
                Some(_) if own.is_init() => {}
                Some(_) => {
                    orphans.alive.insert(entry.process);
                }
            }
        }
        orphans
    }

    /// Reaps the dead orphans, and returns how many of them cannot be reaped yet.
    fn reap(&self) -> usize {
        let pending = |pid: &&Pid| matches!(waitpid(Some(**pid), WaitOptions::NOHANG), Ok(None));
        self.dead.iter().filter(pending).count()
    }
}

/// Returns a random mark for a new tree.
pub(crate) fn fresh_mark() -> String {
    format!("{:016x}", fastrand::u64(..))
}
