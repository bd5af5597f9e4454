//! The target of a name or URI: a server, the server's own name, and the rules that apply. Views
//! compute targets in advance, so that a call only has to look one up.

use std::sync::Arc;

use narrows_policy::preset::Denial;
use narrows_wire::{ItemKind, Raw};

use crate::error::Error;
use crate::permit;
use narrows_results::shaping::Policy;
use narrows_upstream::{Item, Upstream};

/// The target of a name or URI.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) upstream: Arc<Upstream>,
    /// The upstream's own name or URI, as JSON.
    pub(crate) name: Raw,
    /// The rule that denies the item, if any.
    pub(crate) denied: Option<Arc<Denial>>,
    /// True if any rules are in force.
    pub(crate) is_judged: bool,
    /// The budget for results. `None` if results are not cut.
    pub(crate) policy: Option<Policy>,
    /// True for a tool whose annotations say that repeating a call has no further effect.
    pub(crate) is_repeatable: bool,
    /// True if the tool has a user interface (MCP Apps), which reads `structuredContent`.
    pub(crate) has_app: bool,
    /// True for a tool that runs only as a task, on an endpoint that does
    /// not route tasks.
    pub(crate) needs_task: bool,
}

impl Target {
    /// Returns true if clients of the endpoint may use the item.
    pub(crate) fn is_usable(&self) -> bool {
        self.denied.is_none() && !self.needs_task
    }

    /// Refuses a call to a denied target, under the name that the client used.
    pub(crate) fn permit(&self, kind: ItemKind, name: &str) -> Result<(), Error> {
        match &self.denied {
            None if self.needs_task => {
                let server = &self.upstream.settings.id;
                Err(Error::needs_task(name, server))
            }
            None => Ok(()),
            Some(denial) => Err(permit::not_allowed(kind, name, denial)),
        }
    }
}

/// Returns true if a tool runs only as a task (MCP 2025-11-25, tasks, tool-level
/// negotiation).
pub(crate) fn needs_task(tool: &Item) -> bool {
    let execution = tool.raw.member("execution");
    let support = execution.and_then(|execution| execution.member("taskSupport"));
    support.is_some_and(|support| support.as_text().as_deref() == Some("required"))
}

/// Returns true if a tool's annotations allow repeated calls. A hint that occurs twice is ignored
/// as ambiguous.
pub(crate) fn says_repeatable(tool: &Raw) -> bool {
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

    #[test]
    fn tool_is_retryable_only_if_its_annotations_allow_it() {
        let check = |tool, expected| {
            assert_eq!(says_repeatable(&Raw::from_static(tool)), expected, "{tool}");
        };
        check("{}", false);
        check(r#"{"annotations":null}"#, false);
        check(r#"{"annotations":{"readOnlyHint":true}}"#, true);
        check(r#"{"annotations":{"idempotentHint":true}}"#, true);
        check(r#"{"annotations":{"readOnlyHint":false}}"#, false);
        check(r#"{"annotations":{"readOnlyHint":"true"}}"#, false);
        check(
            r#"{"annotations":{"destructiveHint":false,"title":"x"}}"#,
            false,
        );
        check(
            r#"{"annotations":{"readOnlyHint":true,"readOnlyHint":false}}"#,
            false,
        );
        check(
            r#"{"annotations":{"readOnlyHint":true},"annotations":{}}"#,
            false,
        );
    }
}
