//! `exec`: calls a tool of any server.

use narrows_wire::Raw;
use serde_json::{Value, json};

use super::request::Asked;
use super::servers::{OURS, Owner, Refusal, Servers, Tool, refusal, unknown_tool};
use super::{Errand, Facade, entry};
use crate::arguments::Rejection;
use crate::recover;
use crate::shaping::{GOAL_ARGUMENT, goal_schema};

pub(super) const NAME: &str = "exec";

const TOOL: &str = r#"{"name":"exec","description":"Call a tool of an MCP server. Look up its arguments with inspect first.","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string"},"arguments":{"type":"object","description":"As the tool's input_schema says"}},"required":["server_name","tool_name"],"additionalProperties":false}}"#;

/// Longer arguments take their time, whatever they are for.
const QUICK: usize = 64 * 1024;

const NAMES: [&str; 4] = ["server_name", "tool_name", "arguments", GOAL_ARGUMENT];

/// The tool as it is listed.
pub(super) fn tool(with_goal: bool) -> Raw {
    let tool = Raw::from_static(TOOL);
    let schema = tool.member("inputSchema").filter(|_| with_goal);
    let properties = schema
        .as_ref()
        .and_then(|schema| schema.member("properties"));
    let (Some(schema), Some(properties)) = (schema, properties) else {
        return tool;
    };
    let properties = properties.with_member(GOAL_ARGUMENT, &goal_schema());
    tool.with_member(
        "inputSchema",
        &schema.with_member("properties", &properties),
    )
}

/// How the gateway's own tool is called here: a tool that may be used keeps its
/// name.
pub(super) fn recover_name(servers: &Servers) -> Box<str> {
    let mut free = recover::names().filter(|name| !is_taken(servers, name));
    free.next().expect("there are more names than tools").into()
}

/// Whether a server of the gateway's own name has such a tool.
fn is_taken(servers: &Servers, name: &str) -> bool {
    let real = servers.named(OURS);
    real.is_some_and(|(_, server)| server.has(name).is_some())
}

impl Facade {
    /// Whether what a call of `exec` is to do is found out in no time: nothing
    /// of it is long, and the tool's schema is ready.
    pub(crate) fn is_quick(&self, arguments: Option<&Raw>) -> bool {
        let length = arguments.map_or(0, Raw::len);
        if length > QUICK {
            return false;
        }
        let Ok(asked) = Asked::read(NAME, NAMES, arguments) else {
            return true;
        };
        let (Ok(server), Ok(tool)) = (asked.text("server_name"), asked.text("tool_name")) else {
            return true;
        };
        let server = self.servers.named(&server);
        let offered = server.and_then(|(_, server)| server.has(&tool));
        offered.is_none_or(|offered| offered.tool.item.checker.is_quick(length))
    }

    pub(super) fn errand(&self, arguments: Option<&Raw>) -> Result<Errand, Refusal> {
        let wrong = |error: String| refusal(&json!({ "error": error }));
        let asked = Asked::read(NAME, NAMES, arguments).map_err(wrong)?;
        let server = asked.text("server_name");
        let server = server.map_err(|error| self.servers.refusal(error))?;
        let name = asked.text("tool_name").map_err(wrong)?;
        let given = || asked.object("arguments").map_err(wrong);
        if self.is_recovery(&server, &name) {
            return Ok(Errand::Recover(
                asked.value("arguments").map(|_| given()).transpose()?,
            ));
        }
        match self.servers.owner(&server)? {
            Owner::Gateway(tool) => Err(unknown_tool(OURS, &name, vec![tool.name()])),
            Owner::Server(_, server) => {
                let offered = server.tool(&name)?;
                let arguments = given()?;
                let checked = offered.tool.item.checker.check(&arguments);
                checked.map_err(|rejection| self.rejected(&offered.tool, rejection))?;
                Ok(Errand::Call {
                    target: offered.target.clone(),
                    published: offered.published.clone(),
                    arguments,
                    goal: asked.value(GOAL_ARGUMENT).cloned(),
                })
            }
        }
    }

    /// Whether the gateway's own tool is meant. What was cut can always be got
    /// back, so that only a tool that may be used stands before it; then other
    /// names are left.
    fn is_recovery(&self, server: &str, tool: &str) -> bool {
        let Some(name) = self.recover.as_deref().filter(|_| server == OURS) else {
            return false;
        };
        let known = [name, recover::NAME, recover::OTHER_NAME].contains(&tool);
        known && !is_taken(&self.servers, tool)
    }

    fn rejected(&self, tool: &Tool, rejection: Rejection) -> Refusal {
        let Rejection { message, errors } = rejection;
        let errors: Vec<Value> = errors
            .into_iter()
            .map(|(path, message)| json!({ "path": path, "message": message }))
            .collect();
        let schema = entry::typescript(tool, &self.settings, self.max_chars / 2);
        refusal(&json!({ "error": message, "errors": errors, "tool_schema": schema }))
    }
}
