//! Recorded calls, and the savings from shaping results.

use std::sync::Arc;

use axum::extract::State;
use http::StatusCode;
use narrows_gateway::Saved;
use narrows_gateway::event_bus::CallRecord;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;
use super::answer::{Calls, JsonAnswer, RecordedCall};
use super::ask;
use super::description::Always;
use super::given::{Name, NoParams, Params};

#[cfg(test)]
mod tests;

/// The savings from shaping results since the start.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Savings {
    /// Time of the start, RFC 3339.
    since: String,
    #[serde(flatten)]
    sums: Sums,
    tools: Vec<ToolSavings>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ToolSavings {
    server: String,
    tool: String,
    #[serde(flatten)]
    sums: Sums,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavingsSums)]
struct Sums {
    /// The number of results that were shaped.
    results: u64,
    /// The number of results that could not be shaped and were passed on unchanged.
    failed: u64,
    chars_before: u64,
    chars_after: u64,
    /// An estimate, like all token counts.
    tokens_before: u64,
    tokens_after: u64,
}

/// Lists recorded calls, newest first
#[utoipa::path(
    get,
    path = "/calls",
    tag = "records",
    params(ask::CallFilter),
    responses((status = 200, description = "The calls", body = Calls), Always)
)]
pub(super) async fn list_calls(
    State(admin): State<Arc<AdminState>>,
    Params(which): Params<ask::CallFilter>,
) -> JsonAnswer<Calls> {
    let all = admin.gateway().calls();
    let fitting = all.iter().filter(|call| which.fits(call));
    let calls = fitting
        .take(which.limit.0)
        .map(|call| RecordedCall::from(&**call));
    let calls = calls.collect();
    JsonAnswer(StatusCode::OK, Calls { calls })
}

/// Returns the savings from shaping results since the start
#[utoipa::path(
    get,
    path = "/savings",
    tag = "records",
    responses((status = 200, description = "The sums", body = Savings), Always)
)]
pub(super) async fn get_savings(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Savings> {
    JsonAnswer(StatusCode::OK, admin.gateway().savings().into())
}

impl ask::CallFilter {
    fn fits(&self, call: &CallRecord) -> bool {
        let is = |wanted: &Option<Name>, found: Option<&str>| match wanted {
            Some(wanted) => found == Some(&*wanted.0),
            None => true,
        };
        is(&self.server, call.server.as_deref())
            && is(&self.client, call.client.as_deref())
            && is(&self.method, Some(&call.method))
            && self
                .failed
                .is_none_or(|failed| failed == call.error.is_some())
    }
}

impl From<narrows_gateway::Savings> for Savings {
    fn from(saved: narrows_gateway::Savings) -> Savings {
        let tool = |tool: narrows_gateway::ToolSavings| ToolSavings {
            server: tool.server,
            tool: tool.tool,
            sums: tool.saved.into(),
        };
        Savings {
            since: saved.since,
            sums: saved.all.into(),
            tools: saved.tools.into_iter().map(tool).collect(),
        }
    }
}

impl From<Saved> for Sums {
    fn from(saved: Saved) -> Sums {
        Sums {
            results: saved.results,
            failed: saved.failed,
            chars_before: saved.chars_before,
            chars_after: saved.chars_after,
            tokens_before: saved.tokens_before,
            tokens_after: saved.tokens_after,
        }
    }
}
