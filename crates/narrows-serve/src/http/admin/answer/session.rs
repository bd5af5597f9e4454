//! Sessions as the admin API reports them.

use narrows_gateway::SessionReport;
use narrows_gateway::settings::ModelReads;
use serde::Serialize;
use utoipa::ToSchema;

#[cfg(test)]
mod tests;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<Session>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDetail {
    pub(crate) session: Session,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    #[schema(minimum = 1)]
    pub(crate) number: u64,
    /// The name of the endpoint, or `servers/{id}` for the endpoint of one server.
    endpoint: String,
    /// The name of the client; `null` if no token was required.
    #[schema(required)]
    client: Option<String>,
    /// The name of the client program, from its `clientInfo`.
    #[schema(required)]
    program: Option<String>,
    /// The negotiated MCP revision.
    revision: &'static str,
    /// The part of a result that the client's model reads: `content`, `structured`
    /// (`structuredContent` if present) or `both`; `null` for unknown programs.
    #[schema(required)]
    model_reads: Option<&'static str>,
    /// The preset set for this session alone.
    #[schema(required)]
    own_preset: Option<String>,
    /// All presets in force.
    presets: Vec<String>,
    age_s: u64,
    /// Seconds since the last message from the client.
    silence_s: u64,
    calls_in_flight: usize,
    calls: u64,
}

impl From<SessionReport> for Session {
    fn from(report: SessionReport) -> Session {
        Session {
            number: report.number,
            endpoint: match report.is_server {
                true => format!("servers/{}", report.endpoint),
                false => report.endpoint,
            },
            client: report.client,
            program: report.program,
            revision: report.revision,
            model_reads: report.model_reads.map(ModelReads::as_str),
            own_preset: report.own_preset,
            presets: report.presets,
            age_s: report.age.as_secs(),
            silence_s: report.silence.as_secs(),
            calls_in_flight: report.calls_in_flight,
            calls: report.calls,
        }
    }
}
