//! Tests with a real guard process. The test binary starts itself again and runs only the ignored
//! test below.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use narrows_testkit::{Folder, processes, until};
use rustix::process::{Pid, Signal, kill_process};

use super::{GRACE, Guard, read_commands, run};
use crate::process::MARK;

#[test]
#[ignore = "the body of the guard process, started by the other tests"]
fn guard_process() {
    run().expect("the guard runs");
}

fn start() -> Guard {
    let name = module_path!()
        .split_once("::")
        .expect("a crate's name first")
        .1;
    let test = format!("{name}::guard_process");
    let own = std::env::current_exe().expect("we run");
    let words = ["--exact", &test, "--ignored", "--nocapture"].map(OsString::from);
    let command: Vec<OsString> = std::iter::once(own.into()).chain(words).collect();
    Guard::start(&command).expect("the guard starts")
}

fn guard_pid(guard: &Guard) -> u32 {
    guard.0.state.lock().pid
}

/// Starts a process group with this script. A thread reaps the leader.
fn group(script: &str, mark: &str) -> u32 {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .env(MARK, mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child = command.process_group(0).spawn().expect("sh starts");
    let pid = child.id();
    std::thread::spawn(move || child.wait());
    pid
}

async fn pids(folder: &Folder) -> Vec<u32> {
    let text = folder.read_when_there("pids").await;
    text.split_whitespace()
        .map(|word| word.parse().expect("a pid"))
        .collect()
}

#[tokio::test]
async fn process_groups_end_with_the_gateway() {
    let folder = Folder::new();
    let guard = start();
    let file = folder.file("pids");
    let script = format!(
        "setsid sleep 1000 & a=$!; sleep 1001 & echo $$ $a $! > {}; wait",
        file.display()
    );
    let leader = group(&script, &guard.mark());
    guard.watch(leader);
    let pids = pids(&folder).await;
    let process = guard_pid(&guard);
    let started = Instant::now();
    drop(guard);
    processes::gone(pids.into_iter().chain([process])).await;
    assert!(
        started.elapsed() < GRACE,
        "the guard does not wait for processes that have exited"
    );
}

#[tokio::test]
async fn processes_that_ignore_sigterm_are_killed() {
    let folder = Folder::new();
    let guard = start();
    let script = format!(
        "trap '' TERM; sleep 1000 & echo $$ $! > {}; wait; wait",
        folder.file("pids").display()
    );
    guard.watch(group(&script, &guard.mark()));
    let pids = pids(&folder).await;
    drop(guard);
    processes::gone(pids).await;
}

#[tokio::test]
async fn unwatched_orphans_are_found_by_the_mark() {
    let folder = Folder::new();
    let guard = start();
    // The leader exits before the guard watches it, as if the gateway had died in between.
    let script = format!(
        "setsid sh -c 'echo $$ > {}; exec sleep 1000' &",
        folder.file("pids").display()
    );
    group(&script, &guard.mark());
    let pids = pids(&folder).await;
    drop(guard);
    processes::gone(pids).await;
}

#[tokio::test]
async fn released_group_is_not_killed() {
    let folder = Folder::new();
    let guard = start();
    let script = format!(
        "echo $$ > {}; exec sleep 1000",
        folder.file("pids").display()
    );
    let leader = group(&script, "unknown");
    guard.watch(leader);
    guard.release(leader);
    pids(&folder).await;
    let process = guard_pid(&guard);
    drop(guard);
    processes::gone([process]).await;
    assert!(processes::is_alive(leader));
    kill(leader, Signal::KILL);
}

#[tokio::test]
async fn signals_to_the_gateway_do_not_stop_the_guard() {
    let folder = Folder::new();
    let guard = start();
    let process = guard_pid(&guard);
    let script = format!(
        "echo $$ > {}; exec sleep 1000",
        folder.file("pids").display()
    );
    guard.watch(group(&script, &guard.mark()));
    let pids = pids(&folder).await;
    until("the guard has its handlers", || catches(process, 15)).await;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill(process, signal);
    }
    // If a signal had ended the guard, the group would stay alive.
    drop(guard);
    processes::gone(pids).await;
}

#[tokio::test]
async fn gateway_survives_a_killed_guard() {
    let guard = start();
    let process = guard_pid(&guard);
    kill(process, Signal::KILL);
    until("the guard is dead", || !processes::is_alive(process)).await;
    for _ in 0..3 {
        guard.watch(4_000_000);
        guard.release(4_000_000);
    }
    drop(guard);
    until("it is reaped", || !processes::is_unreaped(process)).await;
}

#[tokio::test]
async fn stopped_guard_does_not_block_the_gateway() {
    let guard = start();
    let process = guard_pid(&guard);
    kill(process, Signal::STOP);
    // More than the pipe can hold.
    for _ in 0..20_000 {
        guard.watch(4_000_000);
    }
    kill(process, Signal::KILL);
}

#[test]
fn guard_without_a_command_is_rejected() {
    assert!(Guard::start(&[]).is_err());
    assert!(Guard::start(&["/no/such/guard".into()]).is_err());
}

#[test]
fn invalid_guard_messages_are_ignored() {
    let orders = "=mark\n\n+\n+x\n+0\n+1\n-5\n?7\n+4000001\n+4000002\n-4000001\né\n";
    let tree = format!("{:?}", read_commands(orders.as_bytes()));
    assert!(
        tree.contains("\"mark\"") && tree.contains("4000002"),
        "{tree}"
    );
    assert!(!tree.contains("4000001"), "{tree}");
}

fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a pid");
    kill_process(pid, signal).expect("it lives");
}

/// Returns true if a process has a handler for a signal (proc_pid_status(5), SigCgt).
fn catches(pid: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    mask & 1 << (signal - 1) != 0
}
