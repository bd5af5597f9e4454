//! Recorded calls as the admin API reports them.

use narrows_gateway::event_bus::{CallError, CallRecord};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Calls {
    /// Newest first.
    #[schema(max_items = 1000)]
    pub(crate) calls: Vec<RecordedCall>,
}

/// A completed client request.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct RecordedCall {
    /// Time of completion, RFC 3339.
    #[schema(format = DateTime)]
    at: String,
    /// The number of the session; 0 for plain JSON-RPC, which has no sessions.
    session: u64,
    endpoint: String,
    /// The name of the client; `null` if no token was required.
    #[schema(required)]
    client: Option<String>,
    method: String,
    /// The requested tool, prompt or resource, as the client named it. Long names are cut.
    #[schema(required)]
    name: Option<String>,
    /// The server that handled the request.
    #[schema(required)]
    server: Option<String>,
    /// Time from request to response, in microseconds.
    elapsed_us: u64,
    bytes_in: usize,
    bytes_out: usize,
    /// `null` if the call succeeded.
    #[schema(required)]
    error: Option<Error>,
}

/// The error of a call without a result.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CallError)]
struct Error {
    /// Stable error code, the same as `data.code` in the response to the client.
    code: &'static str,
    /// The party that has to act: `client`, `upstream` or `gateway`.
    #[schema(pattern = "^(client|upstream|gateway)$")]
    fault: &'static str,
}

impl From<&CallRecord> for RecordedCall {
    fn from(record: &CallRecord) -> RecordedCall {
        let error = |error: &CallError| Error {
            code: error.code,
            fault: error.fault,
        };
        RecordedCall {
            at: record.at.rfc3339(),
            session: record.session,
            endpoint: record.endpoint.to_string(),
            client: record.client.as_deref().map(Into::into),
            method: record.method.to_string(),
            name: record.name.as_deref().map(Into::into),
            server: record.server.as_deref().map(Into::into),
            elapsed_us: record.elapsed_us,
            bytes_in: record.bytes_in,
            bytes_out: record.bytes_out,
            error: record.error.as_ref().map(error),
        }
    }
}
