//! Keeps a running gateway at what its configuration says: the file is
//! followed, and SIGHUP has it read again at once.

use std::fs;
use std::io;
use std::sync::Arc;

use rustix::process::{Signal as Number, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

use crate::keeper::{Keeper, Tell};
use crate::watch;

/// Begins with it; it ends when the handle is dropped.
pub(super) fn keep_current(
    keeper: Arc<Keeper>,
    is_followed: bool,
) -> io::Result<AbortOnDropHandle<()>> {
    let hangups = Hangups::new()?;
    let followed = keeper.clone();
    let task = tokio::spawn(async move {
        let following = async {
            if is_followed {
                watch::follow(followed).await;
            }
        };
        tokio::join!(following, hangups.answer(&keeper));
    });
    Ok(AbortOnDropHandle::new(task))
}

/// SIGHUP has two meanings: look at your configuration, and your terminal is gone.
struct Hangups {
    signal: Signal,
    /// Whether there is a terminal whose end is ours.
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

    async fn answer(mut self, keeper: &Keeper) {
        while self.signal.recv().await.is_some() {
            if self.has_terminal && !is_terminal_there() {
                // As it would be without us: the same way as any other end.
                let _ = kill_process(getpid(), Number::TERM);
                return;
            }
            tracing::info!(signal = "SIGHUP", "reading the configuration again");
            keeper.reload(Tell::Now).await;
        }
    }
}

fn is_terminal_there() -> bool {
    fs::File::open("/dev/tty").is_ok()
}

/// Whether whoever started us has said that a lost terminal is no reason to
/// end, as `nohup` does.
fn is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 != 0)
}
