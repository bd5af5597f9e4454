//! A call whose connection was lost, and whether it is sent once more.
//!
//! It is if that can do no harm: the server never got it, or it says that
//! twice is the same as once. Anything else may have been carried out, and
//! whoever called is told so. A second loss is not made good.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;
use tokio::time::{Instant, sleep, timeout_at};

use super::Call;
use crate::catalogue::View;
use crate::error::Error;
use crate::events;
use crate::upstream::{Failure, FailureKind, Link, LinkError, Upstream};

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

impl Call<'_> {
    /// The tool that is called, by its server's own name, as its server listed
    /// it before it was lost.
    pub(super) fn listed_tool(&self, view: &View, upstream: &Upstream, own: &Raw) -> Option<Raw> {
        let is_tool = self.method == "tools/call";
        is_tool.then(|| view.listed_tool(upstream, own)).flatten()
    }

    /// The link over which a lost call may be sent once more, and the time that
    /// is left for it; else the error that the call ends with.
    pub(super) async fn link_after(
        &self,
        lost: Lost<'_>,
        tool: Option<&Raw>,
    ) -> Result<(Arc<Link>, Duration), Error> {
        let upstream = lost.upstream;
        // A refusal is an answer, and comes again.
        if matches!(
            lost.failure.kind,
            FailureKind::Refused | FailureKind::SignIn
        ) {
            return Err(lost.error());
        }
        if lost.sent && !is_repeatable(self.method, tool) {
            return Err(lost.error_of_unsafe());
        }
        let wait = lost.left.min(upstream.settings.startup_timeout);
        let deadline = Instant::now() + lost.left;
        let limit = Instant::now() + wait;
        let another = timeout_at(limit, self.another_link(&lost, limit)).await;
        let Some(link) = another.ok().flatten() else {
            return Err(upstream.lost(&lost.failure));
        };
        events::trouble("downstream.retry", self.tag, || {
            vec![
                ("server", Raw::string(&upstream.settings.id)),
                ("method", Raw::string(self.method)),
                ("reason", events::cut(&lost.error().to_string())),
            ]
        });
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
        if !self.session.needs_own_link(upstream) && !upstream.is_up_again(&lost.link, limit).await
        {
            return None;
        }
        self.session.link_to(upstream).await.ok()
    }
}

impl Lost<'_> {
    fn error(&self) -> Error {
        self.upstream.error(LinkError::Closed {
            failure: self.failure.clone(),
            sent: self.sent,
        })
    }

    fn error_of_unsafe(&self) -> Error {
        let mut error = self.error();
        if let Error::UpstreamDown { reason, .. } = &mut error {
            reason.push_str("; the call may have been carried out, so it was not repeated");
        }
        error
    }
}

/// Whether sending a request twice does no more than sending it once.
fn is_repeatable(method: &str, tool: Option<&Raw>) -> bool {
    match method {
        "resources/read"
        | "resources/list"
        | "resources/templates/list"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "prompts/get"
        | "prompts/list"
        | "tools/list"
        | "completion/complete" => true,
        "tools/call" => tool.is_some_and(says_so),
        _ => false,
    }
}

/// Whether a tool's annotations allow it. What is said twice says nothing: who
/// wrote it may have meant either.
fn says_so(tool: &Raw) -> bool {
    let Ok([Some(annotations)]) = tool.pick(["annotations"]) else {
        return false;
    };
    let hints = annotations.pick(["readOnlyHint", "idempotentHint"]);
    hints.is_ok_and(|hints| {
        let mut said = hints.iter().flatten();
        said.any(|hint| hint.as_bytes() == b"true")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, tool: Option<&'static str>, expected: bool) {
        let tool = tool.map(Raw::from_static);
        assert_eq!(is_repeatable(method, tool.as_ref()), expected);
    }

    #[test]
    fn what_only_reads_is_repeatable_and_nothing_that_is_unknown() {
        check("resources/read", None, true);
        check("prompts/get", None, true);
        check("completion/complete", None, true);
        check("anything/else", None, false);
        check("tools/call", None, false);
        check("tools/call", Some("{}"), false);
        check("tools/call", Some(r#"{"annotations":null}"#), false);
    }

    #[test]
    fn a_tool_is_repeatable_if_its_annotations_say_so_once() {
        let call = |tool, expected| check("tools/call", Some(tool), expected);
        call(r#"{"annotations":{"readOnlyHint":true}}"#, true);
        call(r#"{"annotations":{"idempotentHint":true}}"#, true);
        call(r#"{"annotations":{"readOnlyHint":false}}"#, false);
        call(r#"{"annotations":{"readOnlyHint":"true"}}"#, false);
        call(
            r#"{"annotations":{"destructiveHint":false,"title":"x"}}"#,
            false,
        );
        call(
            r#"{"annotations":{"readOnlyHint":true,"readOnlyHint":false}}"#,
            false,
        );
        call(
            r#"{"annotations":{"readOnlyHint":true},"annotations":{}}"#,
            false,
        );
    }
}
