//! The subreaper: a small process of the same binary between the gateway and
//! each server, which adopts the processes that the server leaves behind.
//!
//! A daemon that leaves its group and session and clears its environment is
//! tied to its server by nothing but its parent, and an orphan's parent is the
//! nearest subreaper above it. So as long as this process lives, whatever its
//! server has started is found below it. When the gateway is gone, it ends all
//! of that. Should it be killed itself, the gateway, a subreaper too, adopts
//! what is left. Enter at [`run`].

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
use crate::process::{Tree, become_subreaper};

/// Precedes the number of the error on stderr if the server cannot be started.
pub(crate) const NOT_STARTED: &str = "narrows-subreaper: errno ";

/// Between two looks at the parent once the gateway has closed the pipe.
const PARENT_INTERVAL: Duration = Duration::from_millis(50);

/// The process itself: starts the server and returns with its status. The
/// first argument is the number of the gateway's process, the others are the
/// server's command.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let gateway = arguments.next().and_then(|pid| pid.to_str()?.parse().ok());
    let (Some(gateway), Some(program)) = (gateway, arguments.next()) else {
        return ExitCode::FAILURE;
    };
    // The gateway signals the whole group, and this process goes last.
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
    // A server that closes its input or its output is noticed by that, so the
    // ends are its own. Stderr stays, to notice the end of the gateway.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
    let gateway = Gateway { pid: gateway };
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
        leave_as(status)
    })
}

/// The gateway, as its child sees it.
struct Gateway {
    pid: i32,
}

impl Gateway {
    fn wait_for_end(&self) {
        poll_stderr(None);
        while !self.is_gone() {
            thread::sleep(PARENT_INTERVAL);
        }
    }

    /// A process that ends closes its pipes before its children get another parent.
    fn is_ending(&self) -> bool {
        self.is_gone() || poll_stderr(Some(&Timespec::default()))
    }

    fn is_gone(&self) -> bool {
        getppid().map(Pid::as_raw_pid) != Some(self.pid)
    }
}

/// Waits until the gateway has closed its end of stderr, which it does only
/// when it ends. Returns false after the timeout.
fn poll_stderr(timeout: Option<&Timespec>) -> bool {
    loop {
        // The error of a pipe without a reader is reported without being asked for.
        let mut polled = [PollFd::from_borrowed_fd(stderr(), PollFlags::empty())];
        match poll(&mut polled, timeout) {
            Err(Errno::INTR) => {}
            result => return result != Ok(0),
        }
    }
}

/// Ends all processes below this one. The two threads take turns.
fn end_all() {
    static ENDING: Mutex<()> = Mutex::new(());

    let _ending = ENDING.lock();
    end(&mut Tree::below(getpid().as_raw_pid()));
}

/// Waits for the server, and reaps the orphans that end before it.
fn wait_for(server: Option<Pid>) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == server => return Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Ends this process as the server has ended.
fn leave_as(status: Option<WaitStatus>) -> ! {
    let signal = status.and_then(WaitStatus::terminating_signal);
    if let Some(signal) = signal.and_then(Signal::from_named_raw) {
        // Signals that are ignored here do not end it.
        let _ = kill_process(getpid(), signal);
    }
    let code = status.and_then(WaitStatus::exit_status);
    std::process::exit(code.unwrap_or(128 + signal.unwrap_or_default()))
}
