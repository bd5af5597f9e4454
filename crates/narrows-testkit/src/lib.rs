//! Scripted upstreams, raw clients and helpers for the tests of all crates.
//!
//! This crate communicates with the gateway only over bytes and shares no code with it, so that a
//! mistake in `narrows-wire` cannot cancel itself out. Start reading at [`scripted::Script`] for a
//! server behind the gateway, and at [`raw::Client`] and [`raw::Http`] for a client in front of it.
//!
//! Every wait has a limit, and no helper sleeps for a fixed time: conditions are polled until they
//! hold or [`LIMIT`] has passed.

mod folder;
pub mod http_server;
pub mod processes;
pub mod raw;
pub mod scripted;
pub mod websocket;

use std::time::Duration;

pub use folder::Folder;

/// The time after which a wait fails. Far longer than necessary, so that tests do not fail on a
/// busy machine.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Waits until `condition` holds. Panics with `what` when [`LIMIT`] has passed.
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
                "{caller}: condition not met after {LIMIT:?}: {what}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
