//! `exec`: calls a tool of any server.

use narrows_wire::Raw;
use serde_json::{Value, json};

use super::request::Asked;
use super::servers::{OURS, Owner, Refusal, Tool, refusal, unknown_tool};
use super::{Errand, Facade, entry};
use crate::arguments::Rejection;
use crate::recover;
use crate::shaping::GOAL_ARGUMENT;

pub(super) const NAME: &str = "exec";

/// Mistakes in arguments that one answer tells.
const ERRORS_TOLD: usize = 20;

const TOOL: &str = r#"{"name":"exec","description":"Call a tool of an MCP server. Look up its arguments with inspect first.","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string"},"arguments":{"type":"object","description":"As the tool's input_schema says"}},"required":["server_name","tool_name"],"additionalProperties":false}}"#;

const GOAL: &str = r#"{"type":"string","description":"What you want to know from the result; of a very long one, the parts that tell it are kept"}"#;

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
    let properties = properties.with_member(GOAL_ARGUMENT, &Raw::from_static(GOAL));
    tool.with_member(
        "inputSchema",
        &schema.with_member("properties", &properties),
    )
}

impl Facade {
    pub(super) fn errand(&self, arguments: Option<&Raw>) -> Result<Errand, Refusal> {
        let wrong = |error: String| refusal(&json!({ "error": error }));
        let names = ["server_name", "tool_name", "arguments", GOAL_ARGUMENT];
        let asked = Asked::read(NAME, names, arguments).map_err(wrong)?;
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
                let tool = server.tool(&name)?;
                let arguments = given()?;
                let checked = tool.shown.item.checker.check(&arguments);
                checked.map_err(|rejection| self.rejected(tool, rejection))?;
                Ok(Errand::Call {
                    upstream: server.upstream.clone(),
                    item: tool.shown.item.clone(),
                    arguments,
                    goal: asked.value(GOAL_ARGUMENT).cloned(),
                })
            }
        }
    }

    /// Whether the gateway's own tool is meant. What was cut can always be got
    /// back, so that only a tool that may be used stands before it; then the
    /// other name is left.
    fn is_recovery(&self, server: &str, tool: &str) -> bool {
        let taken = || {
            let real = self.servers.named(server);
            real.is_some_and(|(_, server)| server.has(tool).is_some())
        };
        self.cuts
            && server == OURS
            && [recover::NAME, recover::OTHER_NAME].contains(&tool)
            && !taken()
    }

    fn rejected(&self, tool: &Tool, rejection: Rejection) -> Refusal {
        let Rejection { message, errors } = rejection;
        let errors: Vec<Value> = (errors.into_iter().take(ERRORS_TOLD))
            .map(|(path, message)| json!({ "path": path, "message": message }))
            .collect();
        let schema = entry::typescript(tool, &self.settings, self.max_chars / 2);
        refusal(&json!({ "error": message, "errors": errors, "tool_schema": schema }))
    }
}
