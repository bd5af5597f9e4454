//! Retries of calls whose connection was lost.
//!
//! A call is sent again only if that does no harm: the server never received it, or the tool
//! declares that repeated calls have the same effect as one. Any other call may have been carried
//! out, and its error says so. A call is repeated at most once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{CallContext, LinkChoice};
use crate::error::Error;
use narrows_upstream::{Error as UpstreamError, Failure, FailureKind, Link, LinkError, Upstream};

/// The interval between checks of whether a server responds again on its existing link.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// The time limit of each check.
const RECHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// The minimum time limit of a repeated call.
const MIN_TIMEOUT: Duration = Duration::from_millis(100);

/// A call without a response, because the connection was lost.
pub(super) struct LostCall<'a> {
    pub(super) upstream: &'a Arc<Upstream>,
    /// The link that carried the call.
    pub(super) link: Arc<Link>,
    pub(super) failure: Arc<Failure>,
    /// True if the server may have received the call.
    pub(super) sent: bool,
    /// The time left of the call's limit.
    pub(super) left: Duration,
}

impl CallContext<'_> {
    /// Returns the link for repeating a lost call and the time left for it, or the error that ends
    /// the call.
    pub(super) async fn link_after(
        &self,
        method: &str,
        lost: &LostCall<'_>,
        is_repeatable: bool,
    ) -> Result<(Arc<Link>, Duration), Error> {
        let upstream = lost.upstream;
        // A refusal is a definite answer, and a retry would be refused too.
        if matches!(
            lost.failure.kind,
            FailureKind::Refused | FailureKind::SignIn
        ) {
            return Err(lost.error());
        }
        if lost.sent && !is_repeatable && !only_reads(method) {
            return Err(lost.error_of_unsafe());
        }
        let wait = lost.left.min(upstream.settings.startup_timeout);
        let deadline = Instant::now() + lost.left;
        let limit = Instant::now() + wait;
        let another = tokio::select! {
            another = timeout_at(limit, self.another_link(lost, limit)) => another,
            // A retired server does not start again.
            () = upstream.retired() => return Err(upstream.retired_error().into()),
        };
        let Some(link) = another.ok().flatten() else {
            return Err(match upstream.is_retired() {
                true => upstream.retired_error().into(),
                false => upstream.lost(&lost.failure).into(),
            });
        };
        let left = deadline.saturating_duration_since(Instant::now());
        Ok((link, left.max(MIN_TIMEOUT)))
    }

    /// Returns a usable link: the same one if it is still open, or its successor.
    async fn another_link(&self, lost: &LostCall<'_>, limit: Instant) -> Option<Arc<Link>> {
        // Over HTTP, a link outlives a lost connection.
        while !lost.link.has_ended() {
            if lost.link.responds(RECHECK_TIMEOUT).await {
                return Some(lost.link.clone());
            }
            sleep(RECHECK_INTERVAL).await;
        }
        let upstream = lost.upstream;
        // Links that the gateway closed and retired servers do not return.
        if lost.failure.kind == FailureKind::Closed || upstream.is_retired() {
            return None;
        }
        if !self.links.needs_own_link(upstream) && !upstream.is_up_again(&lost.link, limit).await {
            return None;
        }
        match self.links.link_to(upstream) {
            LinkChoice::Known(link) => link.ok(),
            LinkChoice::Opening(opening) => opening.await.ok(),
        }
    }
}

impl LostCall<'_> {
    pub(super) fn error(&self) -> Error {
        self.upstream
            .error(LinkError::Closed {
                failure: self.failure.clone(),
                sent: self.sent,
            })
            .into()
    }

    fn error_of_unsafe(&self) -> Error {
        let mut error = self.error();
        if let Error::Upstream(UpstreamError::Down { reason, .. }) = &mut error {
            reason.push_str("; the call may have been carried out, so it was not repeated");
        }
        error
    }
}

/// Returns true if sending a request twice has the same effect as sending it once, regardless of
/// its params.
fn only_reads(method: &str) -> bool {
    matches!(
        method,
        "resources/read"
            | "resources/list"
            | "resources/templates/list"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "prompts/get"
            | "prompts/list"
            | "tools/list"
            | "completion/complete"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_read_methods_are_retryable() {
        for method in ["resources/read", "prompts/get", "completion/complete"] {
            assert!(only_reads(method), "{method}");
        }
        for method in ["tools/call", "anything/else"] {
            assert!(!only_reads(method), "{method}");
        }
    }
}
