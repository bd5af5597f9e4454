//! Calls as operators are told of them.

use narrows_gateway::feed::{CallError, CallRecord};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Calls {
    /// The newest first.
    #[schema(max_items = 1000)]
    pub(crate) calls: Vec<Call>,
}

/// One request of a client, after its end.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Call {
    /// When it ended.
    #[schema(format = DateTime)]
    at: String,
    /// The session's number; 0 for plain JSON-RPC, which has none.
    session: u64,
    endpoint: String,
    /// The name of the client; `null` where no token was needed.
    #[schema(required)]
    client: Option<String>,
    method: String,
    /// What was asked for, as the client named it, cut where it is long.
    #[schema(required)]
    name: Option<String>,
    /// The server that worked on it.
    #[schema(required)]
    server: Option<String>,
    /// From the request to the answer, in microseconds.
    elapsed_us: u64,
    bytes_in: usize,
    bytes_out: usize,
    /// `null` if it ended well.
    #[schema(required)]
    error: Option<Error>,
}

/// Why a call has no result.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = CallError)]
struct Error {
    /// The stable word, `data.code` for the client.
    code: &'static str,
    /// `client`, `upstream` or `gateway`: who has to act.
    #[schema(pattern = "^(client|upstream|gateway)$")]
    fault: &'static str,
}

impl From<&CallRecord> for Call {
    fn from(record: &CallRecord) -> Call {
        let error = |error: &CallError| Error {
            code: error.code,
            fault: error.fault,
        };
        Call {
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
