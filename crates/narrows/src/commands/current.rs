//! Keeps a running gateway in step with its configuration: watches the file and reloads it on
//! SIGHUP.

use std::fs;
use std::io;
use std::sync::Arc;

use rustix::process::{Signal as Number, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

use crate::live_config::{ErrorReporting, LiveConfig};
use crate::watch;

/// Starts watching; dropping the handle stops it.
pub(super) fn follow_changes(
    live_config: Arc<LiveConfig>,
    is_followed: bool,
) -> io::Result<AbortOnDropHandle<()>> {
    let hangups = Hangups::new()?;
    let followed = live_config.clone();
    let task = tokio::spawn(async move {
        let following = async {
            if is_followed {
                watch::follow(followed).await;
            }
        };
        tokio::join!(following, hangups.answer(&live_config));
    });
    Ok(AbortOnDropHandle::new(task))
}

/// Handles SIGHUP, which either requests a reload or means that the terminal was closed.
struct Hangups {
    signal: Signal,
    /// True if the process must end when its terminal closes.
    has_terminal: bool,
}

impl Hangups {
    fn new() -> io::Result<Hangups> {
        let has_terminal = is_terminal_there() && !is_ignored();
        let signal = signal(SignalKind::hangup())?;
        Ok(Hangups {
            signal,
            has_terminal,
        })
    }

    async fn answer(mut self, live_config: &LiveConfig) {
        while self.signal.recv().await.is_some() {
            if self.has_terminal && !is_terminal_there() {
                // Without a handler, SIGHUP would have ended the process. SIGTERM does so through
                // the usual shutdown.
                let _ = kill_process(getpid(), Number::TERM);
                return;
            }
            tracing::info!(signal = "SIGHUP", "reloading the configuration");
            live_config.reload(ErrorReporting::Now).await;
        }
    }
}

fn is_terminal_there() -> bool {
    fs::File::open("/dev/tty").is_ok()
}

/// Returns true if the process was started with SIGHUP ignored, as by `nohup`. It must then survive
/// the loss of its terminal.
fn is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}
