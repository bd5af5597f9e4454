//! The gateway's own tools, which endpoints list in addition to those of servers.

use narrows_gateway::Gateway;
use narrows_gateway::settings::{Expose, Settings};
use narrows_shape::estimate_tokens;

use crate::terminal::{grouped, plain};

/// The names and token counts of the gateway's own tools on the first endpoint. Empty if that
/// endpoint lists its own tools instead of the servers'.
#[derive(Default)]
pub(super) struct GatewayTools(Vec<(String, usize)>);

impl GatewayTools {
    pub(super) fn of(gateway: &Gateway, settings: &Settings) -> GatewayTools {
        let endpoint = settings.endpoints.first();
        let Some(endpoint) = endpoint.filter(|own| own.expose == Expose::All) else {
            return GatewayTools::default();
        };
        let all = gateway.catalogue(&endpoint.name).unwrap_or_default();
        let own = all.into_iter().filter(|tool| tool.server.is_none());
        let own = own.map(|tool| (tool.name, estimate_tokens(tool.raw.as_str())));
        GatewayTools(own.collect())
    }

    /// Returns the text that follows the total of the servers' tools.
    pub(super) fn behind_totals(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let names: Vec<_> = self.0.iter().map(|(name, _)| plain(name)).collect();
        let tokens = self.0.iter().map(|(_, tokens)| tokens).sum();
        format!(
            ", and {} of the gateway, ~{} tokens",
            names.join(", "),
            grouped(tokens)
        )
    }
}
