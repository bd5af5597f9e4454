//! Scripted upstreams, raw clients and helpers for the tests of all crates.
//!
//! Everything here speaks to the gateway from outside, over bytes, and shares
//! no code with it: a mistake in `narrows-wire` must not be made twice and so
//! go unseen. Enter at [`scripted::Script`] for a server behind the gateway, at
//! [`raw::Client`] and [`raw::Http`] for a client in front of it.
//!
//! Nothing waits without a limit and nothing sleeps for luck: whatever is
//! waited for is asked for until it is there or [`LIMIT`] has passed.

mod folder;
pub mod http_server;
pub mod processes;
pub mod raw;
pub mod scripted;
pub mod websocket;

use std::time::Duration;

pub use folder::Folder;

/// How long anything may take before a test gives up. Far beyond what is
/// needed, so that a busy machine fails no test.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Asks until the answer is yes. Panics with `what` when [`LIMIT`] has passed.
#[track_caller]
pub fn until(
    what: impl std::fmt::Display,
    mut condition: impl FnMut() -> bool,
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let limit = std::time::Instant::now() + LIMIT;
        while !condition() {
            assert!(
                std::time::Instant::now() < limit,
                "{caller}: after {LIMIT:?} still not: {what}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
