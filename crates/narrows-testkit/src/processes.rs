//! Queries on processes.

use std::fs;

use crate::until;

/// Returns true if a process with this id is running; zombies do not count.
pub fn is_alive(pid: u32) -> bool {
    // `pid (name) state ...`, where the name may contain any character.
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

/// Returns true if this process is a child of ours that has ended but not been waited for. Zombies
/// of other parents do not count, because init reaps orphans.
pub fn is_unreaped(pid: u32) -> bool {
    let exists = fs::exists(format!("/proc/{pid}")).unwrap_or_default();
    exists && !is_alive(pid) && parent_of(pid) == Some(std::process::id())
}

/// Returns true if nothing is left of a process, not even a zombie.
pub fn is_reaped(pid: u32) -> bool {
    !fs::exists(format!("/proc/{pid}")).unwrap_or_default()
}

/// Kills a process, as the kernel does when memory runs out.
pub fn kill(pid: u32) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let pid = pid.expect("it is the number of a process");
    // The process may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// Returns the ids of the running children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| is_alive(*pid) && parent_of(*pid) == Some(parent))
        .collect()
}

/// Returns true if `word` is an argument of the process.
pub fn has_argument(pid: u32, word: &str) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments
        .split(|byte| *byte == 0)
        .any(|own| own == word.as_bytes())
}

/// Waits until none of these processes is running. Panics at the limit.
#[track_caller]
pub fn gone(pids: impl IntoIterator<Item = u32>) -> impl Future<Output = ()> {
    let pids: Vec<u32> = pids.into_iter().collect();
    let what = format!("processes {pids:?} are gone");
    until(what, move || !pids.iter().any(|pid| is_alive(*pid)))
}

/// Returns the resident memory of a process in bytes.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?
        .1
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()
}
