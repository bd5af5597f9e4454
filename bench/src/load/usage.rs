//! Resource usage of a process and its descendants, from /proc.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

pub(super) struct Usage {
    own: Duration,
    /// CPU time of all descendants.
    pub(super) children: Duration,
    /// Resident memory of the process and its descendants.
    pub(super) rss_kib: u64,
}

impl Usage {
    /// Returns the usage of a process; `None` if it has ended, so that a dead process does not
    /// count as free.
    pub(super) fn of(root: u32) -> Option<Usage> {
        let mut usage = Usage {
            own: cpu(root)?,
            children: Duration::ZERO,
            rss_kib: rss_kib(root)?,
        };
        let mut families = families();
        let mut left = families.remove(&root).unwrap_or_default();
        while let Some(pid) = left.pop() {
            usage.children += cpu(pid).unwrap_or_default();
            usage.rss_kib += rss_kib(pid).unwrap_or_default();
            left.extend(families.remove(&pid).unwrap_or_default());
        }
        Some(usage)
    }

    pub(super) fn cpu(&self) -> Duration {
        self.own + self.children
    }
}

/// Returns all child processes by parent.
fn families() -> HashMap<u32, Vec<u32>> {
    let mut families: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(pid) = pid
            && let Some(parent) = status(pid, "PPid:")
        {
            families.entry(parent as u32).or_default().push(pid);
        }
    }
    families
}

/// Returns the user and system time of the current threads, in nanoseconds. /proc/PID/stat also
/// counts ended threads, but only in hundredths of a second.
fn cpu(pid: u32) -> Option<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let times = fs::read_to_string(thread.path().join("schedstat"));
        let times = times.unwrap_or_default();
        let run = times.split(' ').next().and_then(|run| run.parse().ok());
        nanos += run.unwrap_or(0);
    }
    Some(Duration::from_nanos(nanos))
}

fn rss_kib(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")
}

fn status(pid: u32, key: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    value.split_whitespace().next()?.parse().ok()
}
