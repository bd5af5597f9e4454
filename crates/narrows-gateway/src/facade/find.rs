//! `search_tools`: finds the tools of all servers that fit a task.

use std::borrow::Cow;

use narrows_shape::search::{Index, ServerText, ToolText};
use narrows_wire::Raw;
use serde_json::json;

use super::answer::{array, chars, result, wrapped};
use super::request::ToolArguments;
use super::servers::{CallableTool, Refusal, Tool, ToolOwner, refusal};
use super::{Facade, entry};

pub(super) const NAME: &str = "search_tools";

/// The default and the maximum number of results.
const LIMIT: i64 = 5;
const MAX_LIMIT: i64 = 50;

/// The maximum length of a query in characters.
const MAX_QUERY: usize = 4_000;

/// The maximum number of a tool's parameters that are indexed.
const MAX_PARAMETERS: usize = 64;

const TOOL: &str = r#"{"name":"search_tools","description":"","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"server_name":{"type":"string","description":"Only tools of this server"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":5}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

/// Returns the tool's list entry.
pub(super) fn tool(description: &str) -> Raw {
    Raw::from_static(TOOL).with_member("description", &Raw::string(description))
}

/// The names and descriptions of a tool's parameters.
type Parameters = Vec<(Cow<'static, str>, Cow<'static, str>)>;

impl Facade {
    pub(super) fn found(&self, arguments: Option<&Raw>) -> Result<Raw, Refusal> {
        let wrong = |error: String| refusal(&json!({ "error": error }));
        let names = ["query", "server_name", "limit"];
        let asked = ToolArguments::read(NAME, names, arguments).map_err(wrong)?;
        let query = asked.text("query").map_err(wrong)?;
        if query.trim().is_empty() || query.chars().nth(MAX_QUERY).is_some() {
            return Err(wrong(format!(
                "{NAME} needs 'query' as a string of 1 to {MAX_QUERY} characters"
            )));
        }
        let limit = asked.value("limit").map_or(Some(LIMIT), Raw::as_i64);
        let limit =
            limit.ok_or_else(|| wrong(format!("{NAME} needs 'limit' as a whole number")))?;
        let limit = limit.clamp(1, MAX_LIMIT) as usize;
        let server = match asked.optional_text("server_name").map_err(wrong)? {
            None => None,
            Some(name) => match self.servers.owner(&name)? {
                ToolOwner::Server(place, server) => {
                    server.allowed()?;
                    Some(place)
                }
                ToolOwner::Gateway(_) => return Ok(nothing_found()),
            },
        };
        let hits = self.index().search(&query, server, limit);
        let tools: Vec<_> = hits
            .iter()
            .filter_map(|hit| self.tool_at(hit.tool))
            .collect();
        if tools.is_empty() {
            return Ok(nothing_found());
        }
        let room = entry::EntryBudget {
            all: self.max_chars,
            some: (self.max_chars).saturating_sub(chars(&left_out(tools.len()))),
        };
        let page = entry::page(&tools, room, &self.settings);
        let left = tools.len() - page.entries.len();
        let mut texts = vec![page.text];
        texts.extend((left > 0).then(|| left_out(left)));
        Ok(result(&texts, &wrapped(&array(&page.entries))))
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let servers = self.servers.all();
            let texts: Vec<_> = (servers.iter())
                .map(|server| ServerText {
                    name: server.id(),
                    instructions: server.instructions.as_deref().unwrap_or_default(),
                })
                .collect();
            let owned: Vec<_> = (servers.iter().enumerate())
                .flat_map(|(place, server)| server.tools().map(move |tool| (place, tool)))
                .map(|(place, tool)| {
                    (
                        place,
                        tool,
                        title(tool),
                        tool.description(),
                        parameters(tool),
                    )
                })
                .collect();
            let tools: Vec<_> = owned
                .iter()
                .map(|(server, tool, title, description, parameters)| ToolText {
                    server: *server,
                    name: tool.name(),
                    title,
                    description,
                    parameters,
                })
                .collect();
            Index::new(&texts, &tools)
        })
    }

    /// Returns a tool by its position in the index.
    fn tool_at(&self, mut place: usize) -> Option<entry::NamedTool<'_>> {
        for server in self.servers.all() {
            match server.tools.get(place) {
                Some(CallableTool { tool, .. }) => return Some((server.id(), tool)),
                None => place -= server.tools.len(),
            }
        }
        None
    }
}

fn nothing_found() -> Raw {
    let advice =
        "No tool matches these words. Try others, or inspect a server to see all its tools.";
    result(&["[]".to_owned(), advice.to_owned()], &wrapped(&array(&[])))
}

fn left_out(count: usize) -> String {
    format!("{count} more tools match but do not fit here. Use more specific words.")
}

fn title(tool: &Tool) -> String {
    let raw = &tool.item.raw;
    let title = raw.member("title");
    let title = title.or_else(|| raw.member("annotations")?.member("title"));
    let title = title.as_ref().and_then(Raw::as_text);
    title.unwrap_or_default().into_owned()
}

/// Returns the parameters of a tool, including those nested one level deep.
fn parameters(tool: &Tool) -> Parameters {
    let mut found = Parameters::new();
    let Some(schema) = tool.schema() else {
        return found;
    };
    let mut add = |schema: &Raw| -> Vec<Raw> {
        let properties = schema.member("properties");
        let members = properties.iter().flat_map(Raw::members);
        let mut values = Vec::new();
        for (name, value) in members.take(MAX_PARAMETERS.saturating_sub(found.len())) {
            let description = value.member("description");
            let description = description
                .as_ref()
                .and_then(Raw::as_text)
                .unwrap_or_default();
            found.push((name.into_owned().into(), description.into_owned().into()));
            values.push(value);
        }
        values
    };
    for value in add(&schema) {
        add(&value);
        if let Some(items) = value.member("items") {
            add(&items);
        }
    }
    found
}
