//! Process trees: finds every process that a server has started, and signals
//! all of them.
//!
//! A server's first process leads a process group of its own, and one signal
//! reaches the whole group, whoever of it is still there. What has left the
//! group (a browser, a daemon, anything behind `setsid`) is found in `/proc`:
//! it descends from a process of the tree, or it did when we last looked, or it
//! carries the tree's mark in its environment. The mark is what still tells
//! once all parents between are dead. Orphans are adopted by the server's
//! [subreaper](crate::subreaper), or by the gateway once that is gone.
//!
//! Where there is no such `/proc` (other unixes), the group is all that is
//! ended. All of this blocks for some milliseconds. Enter at [`Tree`].

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
use table::{Entry, Process};
pub(crate) use table::{include_older, variable_above};

/// The environment variable that holds the mark of the tree a process belongs to.
pub(crate) const MARK: &str = "NARROWS_TREE";

/// Between two attempts to reap an orphan.
const REAP_INTERVAL: Duration = Duration::from_millis(5);

/// All processes below one or several group leaders.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// A mark belongs to the tree if it is this, or this and `.` and more.
    mark: Box<str>,
    /// All that is below this process belongs to the tree.
    root: Option<i32>,
    groups: Vec<Leader>,
    /// Those that were alive when last looked, by pid and start time: a number
    /// that was given to another process meanwhile is not signalled.
    members: Vec<Entry>,
}

/// The first process of a group; `started` is unknown if it was gone already.
#[derive(Debug, Clone, Copy)]
struct Leader {
    pid: i32,
    started: Option<u64>,
}

impl Tree {
    /// A tree that has no group yet.
    pub(crate) fn new(mark: impl Into<Box<str>>) -> Tree {
        Tree {
            mark: mark.into(),
            root: None,
            groups: Vec::new(),
            members: Vec::new(),
        }
    }

    /// All processes below one.
    pub(crate) fn below(root: i32) -> Tree {
        Tree {
            root: Some(root),
            ..Tree::new(fresh_mark())
        }
    }

    /// The tree of one child of ours that leads its group and was not waited for yet.
    pub(crate) fn of(leader: u32, mark: impl Into<Box<str>>) -> Tree {
        let mut tree = Tree::new(mark);
        tree.add_group(leader);
        tree
    }

    /// Zero and one are refused: to the kernel they mean our own group, and everybody.
    pub(crate) fn add_group(&mut self, leader: u32) {
        if let Ok(pid) = i32::try_from(leader)
            && pid > 1
            && self.groups.iter().all(|group| group.pid != pid)
        {
            self.groups.push(Leader {
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

    /// Looks for all living processes of the tree, keeping those found before
    /// even if nothing but our memory ties them to it any more. To be called
    /// before anything is done that makes parents die.
    pub(crate) fn collect(&mut self) {
        self.look();
    }

    /// Signals the whole tree. What is gone, or not ours to signal, is passed over.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let seen = self.look();
        for group in &self.groups {
            // A group that has no member left may be another's by now.
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

    /// Returns true if no process of the tree lives. Zombies count as gone.
    pub(crate) fn is_gone(&mut self) -> bool {
        // The whole table is read only when everybody known is dead.
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

    /// Brings `members` up to date; false if there is no table of processes to look into.
    fn look(&mut self) -> bool {
        let Some(table) = table::read() else {
            self.members.clear();
            return false;
        };
        let orphans = Orphans::among(&table);
        orphans.reap();
        let known: HashSet<Process> = self.members.iter().map(|member| member.process).collect();
        let groups: Vec<&Leader> = self
            .groups
            .iter()
            .filter(|group| !group.is_replaced(&table))
            .collect();
        let (mut found, mut others): (Vec<&Entry>, Vec<&Entry>) =
            table.iter().filter(|entry| entry.alive).partition(|entry| {
                known.contains(&entry.process)
                    || Some(entry.parent) == self.root
                    || orphans.alive.contains(&entry.process)
                    || groups.iter().any(|group| group.holds(entry))
                    || entry.mark.as_deref().is_some_and(|mark| self.owns(mark))
            });
        // Children of members are members, to any depth.
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|entry| entry.process.pid) {
            let (children, rest) = others.into_iter().partition(|entry| entry.parent == parent);
            found.extend::<Vec<&Entry>>(children);
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

impl Leader {
    fn holds(&self, entry: &Entry) -> bool {
        entry.group == self.pid
            && self
                .started
                .is_none_or(|started| entry.process.started >= started)
    }

    /// Returns true if another process has the leader's number now. The kernel
    /// gives a number out again only when no process is left in the group of
    /// that number, so such a group is a stranger's.
    fn is_replaced(&self, table: &[Entry]) -> bool {
        table.iter().any(|entry| {
            entry.process.pid == self.pid && Some(entry.process.started) != self.started
        })
    }
}

/// The children that this process has started, and not those it has adopted.
/// None as long as it adopts none.
static STARTED: Mutex<Option<HashSet<u32>>> = Mutex::new(None);

/// Makes this process the parent of orphans below it. Returns false where the
/// system cannot do that.
pub(crate) fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    let is_subreaper =
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    let is_subreaper = false;
    is_subreaper
}

/// Adopts orphans, and counts them as members of every tree from now on.
pub(crate) fn adopt_orphans() {
    if !become_subreaper() {
        return;
    }
    let own = rustix::process::getpid().as_raw_pid();
    // Children from before an exec are no orphans of ours.
    let table = table::read();
    let entries = table.iter().flat_map(|table| table.iter());
    let before = entries.filter(|entry| entry.parent == own);
    let before = before.filter_map(|entry| u32::try_from(entry.process.pid).ok());
    let mut started = STARTED.lock();
    started.get_or_insert_default().extend(before);
}

/// Starts a child and notes its number, so that it is not taken for an orphan.
pub(crate) fn start<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    // Held meanwhile: whoever looks for orphans sees the child and its number, or neither.
    let mut started = STARTED.lock();
    let child = spawn()?;
    if let (Some(started), Some(pid)) = (&mut *started, pid(&child)) {
        started.insert(pid);
    }
    Ok(child)
}

/// Forgets a child that was waited for.
pub(crate) fn forget(pid: u32) {
    if let Some(started) = &mut *STARTED.lock() {
        started.remove(&pid);
    }
}

/// Reaps the dead among the adopted orphans. Blocks for `limit` at most: a
/// process with several threads counts as dead before the last of them has
/// ended, and cannot be waited for until then.
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

/// The orphans that this process has adopted: what is left of servers whose
/// subreaper is gone.
#[derive(Default)]
struct Orphans {
    alive: HashSet<Process>,
    dead: Vec<Pid>,
}

impl Orphans {
    fn among(table: &[Entry]) -> Orphans {
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
                // The first process of a container also adopts orphans that no
                // server has started. Its own end is the end of all of them.
                Some(_) if own.is_init() => {}
                Some(_) => {
                    orphans.alive.insert(entry.process);
                }
            }
        }
        orphans
    }

    /// Returns how many of the dead cannot be reaped yet.
    fn reap(&self) -> usize {
        let pending = |pid: &&Pid| matches!(waitpid(Some(**pid), WaitOptions::NOHANG), Ok(None));
        self.dead.iter().filter(pending).count()
    }
}

/// A mark for a tree that no guard watches.
pub(crate) fn fresh_mark() -> String {
    format!("{:016x}", fastrand::u64(..))
}
