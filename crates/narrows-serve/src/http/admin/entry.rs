//! Schemas of configuration entries for the OpenAPI description. The `Operations` implementation
//! parses the entries, with the same rules as for the file.

#![expect(dead_code, reason = "used only for the OpenAPI description")]

use std::collections::HashMap;

use utoipa::ToSchema;

/// A server entry, as in `mcpServers`. This schema has the most common keys; docs/configuration.md
/// lists all.
#[derive(ToSchema)]
pub(super) struct ServerConfig {
    #[schema(nullable = false)]
    command: Option<Command>,
    /// Command-line arguments.
    #[schema(nullable = false)]
    args: Option<Vec<String>>,
    /// Environment variables to add to the default ones.
    #[schema(nullable = false)]
    env: Option<HashMap<String, String>>,
    /// The working directory.
    #[schema(nullable = false)]
    cwd: Option<String>,
    /// The URL of a remote server.
    #[schema(nullable = false)]
    url: Option<String>,
    /// Headers to send with every request.
    #[schema(nullable = false)]
    headers: Option<HashMap<String, String>>,
    /// `false` disables the server.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// The program to run, or the program and its arguments.
#[derive(ToSchema)]
#[serde(untagged)]
enum Command {
    Program(String),
    ProgramAndArguments(Vec<String>),
}

/// A preset entry, as in `presets`; see docs/presets.md.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetConfig {
    /// Must equal the id in the path, if set.
    id: Option<String>,
    /// Display name.
    name: Option<String>,
    /// Description for display.
    description: Option<String>,
    /// Tool entries, in order; the last match decides. Without a list, a server's tools are all
    /// allowed if the other lists allow any of its items.
    tools: Option<Vec<Selected>>,
    prompts: Option<Vec<Selected>>,
    resources: Option<Vec<Selected>>,
}

/// A preset entry: a pattern or an exact item.
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
    /// `false` denies the item.
    #[schema(nullable = false)]
    enabled: Option<bool>,
}
