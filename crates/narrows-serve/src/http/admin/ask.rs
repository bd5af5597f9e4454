//! What operators ask for: parameters and bodies, and what the description
//! says of them.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::entry::ServerConfig;
use super::given::Name;

#[cfg(test)]
mod tests;

/// How long a change lasts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Save {
    /// `true` writes it into the configuration file; otherwise it lasts until
    /// the program ends.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub(super) save: bool,
}

/// Which endpoint's list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// The name of an endpoint.
    #[serde(default = "default_endpoint")]
    #[param(value_type = String, required = false, default = "default", min_length = 1, max_length = 256)]
    pub(super) endpoint: Name,
}

/// Which of the last calls.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Calls {
    /// At most so many, the newest.
    #[serde(default = "some")]
    #[param(value_type = u16, required = false, default = 100, minimum = 1, maximum = 1000)]
    pub(super) limit: Limit,
    /// Those that this server worked on.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) server: Option<Name>,
    /// Those of this client.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) client: Option<Name>,
    /// Those of this method, such as `tools/call`.
    #[param(value_type = Option<String>, nullable = false, min_length = 1, max_length = 256)]
    pub(super) method: Option<Name>,
    /// `true`: those that failed; `false`: those that did not.
    #[param(nullable = false)]
    pub(super) failed: Option<bool>,
}

/// What to hear of.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Events {
    /// `true` tells of every call as well, and there may be many.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub(super) calls: bool,
}

/// How many of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u16")]
pub(super) struct Limit(pub(super) usize);

/// A server that is to be added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewServer {
    /// What it is to be called.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub(super) id: Name,
    /// What would stand under its id in `mcpServers`.
    #[schema(value_type = ServerConfig)]
    pub(super) config: Map<String, Value>,
}

/// What is to stand in the place of a server's entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OtherServer {
    #[schema(value_type = ServerConfig)]
    pub(super) config: Map<String, Value>,
}

/// Which preset is to be in force.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetChoice {
    /// Its id; `null` for none.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<String>, required = true, min_length = 1, max_length = 256)]
    pub(super) preset: Option<Name>,
}

impl TryFrom<u16> for Limit {
    type Error = &'static str;

    fn try_from(limit: u16) -> Result<Limit, Self::Error> {
        match limit {
            1..=1000 => Ok(Limit(limit.into())),
            _ => Err("limit is a number from 1 to 1000"),
        }
    }
}

fn some() -> Limit {
    Limit(100)
}

fn default_endpoint() -> Name {
    Name("default".into())
}

/// Without a function of its own serde would take an absent member for `null`.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Name>, D::Error> {
    Option::deserialize(from)
}
