//! Parameters and request bodies of the admin API, with their OpenAPI schemas.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::entry::ServerConfig;
use super::given::Name;

#[cfg(test)]
mod tests;

/// The lifetime of a change.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SaveOption {
    /// `true` saves the change to the configuration file; otherwise it lasts until the program
    /// ends.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub(super) save: bool,
}

/// The endpoint to report on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EndpointQuery {
    /// The name of the endpoint.
    #[serde(default = "default_endpoint")]
    #[param(value_type = String, required = false, default = "default", min_length = 1, max_length = 256)]
    pub(super) endpoint: Name,
}

/// Filters for recorded calls.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CallFilter {
    /// The maximum number of calls to return, newest first.
    #[serde(default = "some")]
    #[param(value_type = u16, required = false, default = 100, minimum = 1, maximum = 1000)]
    pub(super) limit: Limit,
    /// Only calls handled by this server.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) server: Option<Name>,
    /// Only calls by this client.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) client: Option<Name>,
    /// Only calls of this method, such as `tools/call`.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) method: Option<Name>,
    /// `true`: only failed calls; `false`: only successful calls.
    #[param(nullable = false)]
    pub(super) failed: Option<bool>,
}

/// Options of the event stream.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventOptions {
    /// `true` adds an event for every call, which can be many.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub(super) calls: bool,
}

/// The maximum number of items in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u16")]
pub(super) struct Limit(pub(super) usize);

/// A server to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewServer {
    /// The id of the new server.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub(super) id: Name,
    /// The server's entry, as in `mcpServers`.
    #[schema(value_type = ServerConfig)]
    pub(super) config: Map<String, Value>,
}

/// A new entry for a server.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OtherServer {
    #[schema(value_type = ServerConfig)]
    pub(super) config: Map<String, Value>,
}

/// The preset to apply.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetChoice {
    /// The id of the preset; `null` for none.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<String>, required = true, min_length = 1, max_length = 256)]
    pub(super) preset: Option<Name>,
}

impl TryFrom<u16> for Limit {
    type Error = &'static str;

    fn try_from(limit: u16) -> Result<Limit, Self::Error> {
        match limit {
            1..=1000 => Ok(Limit(limit.into())),
            _ => Err("limit must be a number from 1 to 1000"),
        }
    }
}

fn some() -> Limit {
    Limit(100)
}

fn default_endpoint() -> Name {
    Name("default".into())
}

/// Distinguishes a missing member from `null`, which serde treats alike by default.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Name>, D::Error> {
    Option::deserialize(from)
}
