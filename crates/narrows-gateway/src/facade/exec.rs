//! `exec`: calls a tool of any server.

use narrows_policy::arguments::{self, ArgumentChecker, Rejection};
use narrows_wire::Raw;
use serde_json::json;

use super::request::ToolArguments;
use super::servers::{GATEWAY_NAME, Refusal, Servers, Tool, ToolOwner, refusal, unknown_tool};
use super::{ExecPlan, Facade, entry};
use narrows_results::recover_tool::{self, Find};
use narrows_results::shaping::{FIND_ARGUMENT, GOAL_ARGUMENT, ResultArguments};
use narrows_upstream::Item;

/// The name of the tool.
pub const NAME: &str = "exec";

const TOOL: &str = r#"{"name":"exec","description":"","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string"},"arguments":{"type":"object","description":"The tool's own arguments"}},"required":["server_name","tool_name"],"additionalProperties":false}}"#;

/// The arguments for long results, listed if results are cut.
const LONG_RESULTS: &str = r#"{"goal":{"type":"string","description":"What you look for; a long result is cut to the parts that answer it"},"find":{"type":["string","object"],"description":"Get only matching lines: words that must all occur, \"a phrase\" or /regex/; or an object: {\"query\":\"ERROR\",\"context\":3}, {\"tail\":100,\"query\":\"ERROR\",\"count_only\":true}, {\"where\":\"status >= 500\",\"aggregate\":\"count, sum(bytes)\"}, {\"where\":\"kind = 'x'\",\"sort\":\"-price\",\"limit\":1}"},"max_chars":{"type":"integer","minimum":1000,"maximum":200000,"description":"Budget of this result (default 16000)"}}"#;

/// The maximum size of arguments that are processed on the async threads.
const QUICK: usize = 64 * 1024;

/// The range of budgets that a caller may request.
const MIN_CHARS: i64 = 1_000;
const MAX_CHARS: i64 = 200_000;

/// The maximum number of argument errors in one message.
const MAX_ERRORS_NAMED: usize = 5;

const MAX_CHARS_ARGUMENT: &str = "max_chars";

const NAMES: [&str; 6] = [
    "server_name",
    "tool_name",
    "arguments",
    GOAL_ARGUMENT,
    FIND_ARGUMENT,
    MAX_CHARS_ARGUMENT,
];

/// Returns the tool's list entry. `recover` names the tool for cut results, if results are cut.
pub(super) fn tool(recover: Option<&str>) -> Raw {
    let tool = Raw::from_static(TOOL);
    let mut description = String::from(
        "Call a tool of an MCP server. A wrong argument is answered with the tool's schema, so \
         inspect only what is unclear.",
    );
    let Some(recover) = recover else {
        return tool.with_member("description", &Raw::string(&description));
    };
    description.push_str(&format!(
        " For files, logs and tables that may be long, say what you need: find (exact lines or \
         rows) or goal. A cut result names a prune_id; look into it with exec(\"{GATEWAY_NAME}\", \
         \"{recover}\", {{\"prune_id\": …, \"query\": …}}). Both take query, context, count_only, \
         limit, ranges, head, tail, diff_with (a prune_id); for JSON rows where, select, sort, \
         group_by, aggregate, rows."
    ));
    let schema = tool.member("inputSchema");
    let schema = schema.expect("the tool has a schema");
    let properties = schema.member("properties");
    let mut properties = properties.expect("the schema has properties");
    for (name, property) in Raw::from_static(LONG_RESULTS).members() {
        properties = properties.with_member(&name, &property);
    }
    tool.with_member("description", &Raw::string(&description))
        .with_member(
            "inputSchema",
            &schema.with_member("properties", &properties),
        )
}

/// Reads the arguments that concern the result.
fn result_arguments(asked: &ToolArguments<{ NAMES.len() }>) -> Result<ResultArguments, String> {
    let find = asked.value(FIND_ARGUMENT).map(Find::read);
    let find = find.transpose().map_err(|wrong| wrong.message)?;
    let max_chars = match asked.value(MAX_CHARS_ARGUMENT) {
        None => None,
        Some(given) => {
            let number = given
                .as_i64()
                .or_else(|| given.as_text()?.trim().parse().ok());
            let number = number.ok_or_else(|| {
                format!("max_chars must be a whole number from {MIN_CHARS} to {MAX_CHARS}")
            })?;
            Some(number.clamp(MIN_CHARS, MAX_CHARS) as usize)
        }
    };
    Ok(ResultArguments {
        goal: asked.value(GOAL_ARGUMENT).cloned(),
        find,
        max_chars,
    })
}

/// Returns the name of the gateway's recovery tool on this endpoint. A server's tool of the same
/// name has precedence.
pub(super) fn recover_name(servers: &Servers) -> Box<str> {
    let mut free = recover_tool::names().filter(|name| !is_taken(servers, name));
    free.next().expect("there are more names than tools").into()
}

/// Returns true if a server named like the gateway has a tool of this name.
fn is_taken(servers: &Servers, name: &str) -> bool {
    let real = servers.named(GATEWAY_NAME);
    real.is_some_and(|(_, server)| server.has(name).is_some())
}

impl Facade {
    /// Returns true if [`exec`](Self::exec) takes little time: the arguments are short, and the
    /// tool's schema is compiled.
    pub(crate) fn is_quick(&self, arguments: Option<&Raw>) -> bool {
        let length = arguments.map_or(0, Raw::len);
        if length > QUICK {
            return false;
        }
        let Ok(asked) = ToolArguments::read(NAME, NAMES, arguments) else {
            return true;
        };
        let (Ok(server), Ok(tool)) = (asked.text("server_name"), asked.text("tool_name")) else {
            return true;
        };
        let server = self.servers.named(&server);
        let offered = server.and_then(|(_, server)| server.has(&tool));
        offered.is_none_or(|offered| checker(&offered.tool.item).is_quick(length))
    }

    pub(super) fn exec_plan(&self, arguments: Option<&Raw>) -> Result<ExecPlan, Refusal> {
        let wrong = |error: String| refusal(&json!({ "error": error }));
        let asked = ToolArguments::read(NAME, NAMES, arguments).map_err(wrong)?;
        let server = asked.text("server_name");
        let server = server.map_err(|error| self.servers.refusal(error))?;
        let name = asked.text("tool_name").map_err(wrong)?;
        let given = || asked.object("arguments").map_err(wrong);
        if self.is_recovery(&server, &name) {
            return Ok(ExecPlan::Recover(
                asked.value("arguments").map(|_| given()).transpose()?,
            ));
        }
        match self.servers.owner(&server)? {
            ToolOwner::Gateway(tool) => Err(unknown_tool(GATEWAY_NAME, &name, vec![tool.name()])),
            ToolOwner::Server(_, server) => {
                let offered = server.tool(&name)?;
                let arguments = given()?;
                let result_arguments = result_arguments(&asked).map_err(wrong)?;
                let checked = checker(&offered.tool.item).check(&arguments);
                checked.map_err(|rejection| self.rejected(&offered.tool, rejection))?;
                Ok(ExecPlan::Call {
                    target: offered.target.clone(),
                    published: offered.published.clone(),
                    arguments,
                    result_arguments,
                })
            }
        }
    }

    /// Returns true if the call refers to the gateway's recovery tool. Only a usable tool of a
    /// server can take its name; the recovery tool then has another name, so that cut texts can
    /// always be recovered.
    fn is_recovery(&self, server: &str, tool: &str) -> bool {
        let Some(name) = self.recover.as_deref().filter(|_| server == GATEWAY_NAME) else {
            return false;
        };
        let known = [name, recover_tool::NAME, recover_tool::OTHER_NAME].contains(&tool);
        known && !is_taken(&self.servers, tool)
    }

    fn rejected(&self, tool: &Tool, rejection: Rejection) -> Refusal {
        let Rejection { message, errors } = rejection;
        let said = errors.iter().take(MAX_ERRORS_NAMED).map(|(path, message)| {
            // The message contains the name of an argument, but not the path inside it.
            match path.matches('/').count() {
                0 | 1 => message.clone(),
                _ => format!("{message} (at {path})"),
            }
        });
        let said: Vec<String> = said.collect();
        let message = match said.is_empty() {
            true => message,
            false => format!("{}{}", arguments::FAILED, said.join("; ")),
        };
        let schema = entry::typescript(tool, &self.settings, self.max_chars / 2);
        refusal(&json!({ "error": message, "tool_schema": schema }))
    }
}

/// Returns the validator of a tool's arguments, which compiles the schema once.
fn checker(tool: &Item) -> &ArgumentChecker {
    tool.derived
        .get_or_init(|| ArgumentChecker::new(tool.raw.member("inputSchema").as_ref()))
}
