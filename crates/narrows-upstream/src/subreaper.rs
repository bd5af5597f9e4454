//! The subreaper: a small process of the same binary between the gateway and each server. It adopts
//! the processes that the server leaves behind.
//!
//! A daemon that leaves its group and session and clears its environment can only be traced to its
//! server through its parent, and an orphan is adopted by its nearest ancestor that is a subreaper.
//! Therefore, as long as this process lives, everything that its server has started remains below
//! it. When the gateway has ended, it ends all of these processes. If it is killed itself, the
//! gateway adopts the remaining processes, because it is a subreaper too. Start reading at [`run`].

use std::ffi::OsString;
use std::fs::File;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process};
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr};

use crate::guard::{end, ignore_signals};
use crate::process::{ProcessTree, become_subreaper};

/// The prefix of the errno on stderr if the server cannot be started.
pub(crate) const NOT_STARTED: &str = "narrows-subreaper: errno ";

/// The interval at which the parent is checked after the gateway has closed the pipe.
const PARENT_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the subreaper process: starts the server and exits with its status. The first argument is
/// the pid of the gateway, and the others are the server's command.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let gateway = arguments.next().and_then(|pid| pid.to_str()?.parse().ok());
    let (Some(gateway), Some(program)) = (gateway, arguments.next()) else {
        return ExitCode::FAILURE;
    };
    // The gateway signals the whole group, and this process must exit last.
    let _ = ignore_signals();
    become_subreaper();
    let server = match Command::new(program).args(arguments).spawn() {
        Ok(server) => server,
        Err(error) => {
            let number = error.raw_os_error().unwrap_or_default();
            eprintln!("{NOT_STARTED}{number}");
            return ExitCode::from(127);
        }
    };
    // The server must own the only ends of its stdin and stdout, so that closing them is noticed.
    // Stderr stays open to detect the end of the gateway.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
    let gateway = ParentGateway { pid: gateway };
    let server = Pid::from_raw(server.id().cast_signed());
    thread::scope(|scope| {
        scope.spawn(|| {
            gateway.wait_for_end();
            end_all();
            std::process::exit(0);
        });
        let status = wait_for(server);
        if gateway.is_ending() {
            end_all();
        }
        exit_as(status)
    })
}

/// The gateway, as seen by its child process.
struct ParentGateway {
    pid: i32,
}

impl ParentGateway {
    fn wait_for_end(&self) {
        poll_stderr(None);
        while !self.is_gone() {
            thread::sleep(PARENT_INTERVAL);
        }
    }

    /// Returns true if the gateway is exiting. An exiting process closes its pipes before its
    /// children get a new parent.
    fn is_ending(&self) -> bool {
        self.is_gone() || poll_stderr(Some(&Timespec::default()))
    }

    fn is_gone(&self) -> bool {
        getppid().map(Pid::as_raw_pid) != Some(self.pid)
    }
}

/// Waits until the gateway has closed its end of stderr, which only happens when it exits. Returns
/// false after the timeout.
fn poll_stderr(timeout: Option<&Timespec>) -> bool {
    loop {
        // `poll` reports the error of a pipe without a reader even if no event is requested.
        let mut polled = [PollFd::from_borrowed_fd(stderr(), PollFlags::empty())];
        match poll(&mut polled, timeout) {
            Err(Errno::INTR) => {}
            result => return result != Ok(0),
        }
    }
}

/// Ends all processes below this one. The lock lets only one of the two threads do this at a time.
fn end_all() {
    static ENDING: Mutex<()> = Mutex::new(());

    let _ending = ENDING.lock();
    end(&mut ProcessTree::below(getpid().as_raw_pid()));
}

/// Waits for the server, and reaps the orphans that exit before it.
fn wait_for(server: Option<Pid>) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == server => return Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Exits with the server's exit status or signal.
fn exit_as(status: Option<WaitStatus>) -> ! {
    let signal = status.and_then(WaitStatus::terminating_signal);
    if let Some(signal) = signal.and_then(Signal::from_named_raw) {
        // Has no effect for the signals that are ignored here.
        let _ = kill_process(getpid(), signal);
    }
    let code = status.and_then(WaitStatus::exit_status);
    std::process::exit(code.unwrap_or(128 + signal.unwrap_or_default()))
}
