//! A call whose connection was lost, and whether it is sent once more.
//!
//! It is sent again if that can do no harm: the server never received it, or
//! the tool says that calling it twice is the same as calling it once. Any other
//! call may have been carried out, and its error says so. A call is repeated
//! once at most.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{CallContext, LinkChoice};
use crate::error::Error;
use narrows_upstream::{Error as UpstreamError, Failure, FailureKind, Link, LinkError, Upstream};

/// Between two questions whether a server is there again whose link goes on.
const BREATH: Duration = Duration::from_millis(250);

/// How long one of these questions may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// What a call gets at least when it is sent again.
const LEAST: Duration = Duration::from_millis(100);

/// A call without an answer, since the connection is gone.
pub(super) struct Lost<'a> {
    pub(super) upstream: &'a Arc<Upstream>,
    /// Over which it was sent.
    pub(super) link: Arc<Link>,
    pub(super) failure: Arc<Failure>,
    /// Whether the server may have got it.
    pub(super) sent: bool,
    /// Of its time.
    pub(super) left: Duration,
}

impl CallContext<'_> {
    /// The link over which a lost call may be sent once more, and the time that
    /// is left for it; else the error that the call ends with.
    pub(super) async fn link_after(
        &self,
        method: &str,
        lost: &Lost<'_>,
        is_repeatable: bool,
    ) -> Result<(Arc<Link>, Duration), Error> {
        let upstream = lost.upstream;
        // A refusal is an answer, and comes again.
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
            // It is not started again, so nothing is left to wait for.
            () = upstream.retired() => return Err(upstream.retired_error().into()),
        };
        let Some(link) = another.ok().flatten() else {
            return Err(match upstream.is_retired() {
                true => upstream.retired_error().into(),
                false => upstream.lost(&lost.failure).into(),
            });
        };
        let left = deadline.saturating_duration_since(Instant::now());
        Ok((link, left.max(LEAST)))
    }

    /// A link that is fit to be used: the same, if it goes on, or its successor.
    async fn another_link(&self, lost: &Lost<'_>, limit: Instant) -> Option<Arc<Link>> {
        // Over HTTP one lost connection is not the end of the link.
        while !lost.link.has_ended() {
            if lost.link.answers(ANSWERED_WITHIN).await {
                return Some(lost.link.clone());
            }
            sleep(BREATH).await;
        }
        let upstream = lost.upstream;
        // What we ended ourselves does not come back, nor what has a successor.
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

impl Lost<'_> {
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

/// Returns true if sending a request twice does no more than sending it once,
/// whatever it names.
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
    fn what_only_reads_is_repeatable_and_nothing_that_is_unknown() {
        for method in ["resources/read", "prompts/get", "completion/complete"] {
            assert!(only_reads(method), "{method}");
        }
        for method in ["tools/call", "anything/else"] {
            assert!(!only_reads(method), "{method}");
        }
    }
}
