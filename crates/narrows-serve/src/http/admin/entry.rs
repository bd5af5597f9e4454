//! Entries of the configuration as the description tells of them. They are
//! read by whoever changes the configuration, as they would be in the file.

#![expect(dead_code, reason = "these types are described, and never made")]

use std::collections::HashMap;

use utoipa::ToSchema;

/// A server as it stands in `mcpServers`. These are the usual keys; all of them
/// are in docs/configuration.md.
#[derive(ToSchema)]
pub(super) struct ServerConfig {
    #[schema(nullable = false)]
    command: Option<Command>,
    /// Arguments for the program.
    #[schema(nullable = false)]
    args: Option<Vec<String>>,
    /// Environment variables for it, besides the ones it gets anyway.
    #[schema(nullable = false)]
    env: Option<HashMap<String, String>>,
    /// The folder it runs in.
    #[schema(nullable = false)]
    cwd: Option<String>,
    /// Where a server is that is not started here.
    #[schema(nullable = false)]
    url: Option<String>,
    /// Headers for every request to it.
    #[schema(nullable = false)]
    headers: Option<HashMap<String, String>>,
    /// `false` keeps it from being started.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// The program of a server that is started here, or the program and its arguments.
#[derive(ToSchema)]
#[serde(untagged)]
enum Command {
    Program(String),
    ProgramAndArguments(Vec<String>),
}

/// A preset as it stands in `presets`; see docs/presets.md.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetConfig {
    /// The same as in the path, if it is given.
    id: Option<String>,
    /// For people.
    name: Option<String>,
    /// For people.
    description: Option<String>,
    /// Which tools, in order; the last entry that matches decides. Without a
    /// list, all of the servers that the other lists allow anything of.
    tools: Option<Vec<Selected>>,
    prompts: Option<Vec<Selected>>,
    resources: Option<Vec<Selected>>,
}

/// An entry of a preset: a pattern, or exactly one thing.
#[derive(ToSchema)]
#[serde(untagged)]
enum Selected {
    Pattern(String),
    Exact(Exact),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = SelectedExactly)]
struct Exact {
    server_id: String,
    #[schema(nullable = false)]
    tool_name: Option<String>,
    #[schema(nullable = false)]
    prompt_name: Option<String>,
    #[schema(nullable = false)]
    resource_key: Option<String>,
    /// `false` forbids it.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}
