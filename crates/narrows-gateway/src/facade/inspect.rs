//! `inspect`: describes the tools of a server and their parameters.

use narrows_wire::{Raw, token};
use serde_json::json;

use super::answer::{array, chars, result, wrapped};
use super::request::ToolArguments;
use super::servers::{GATEWAY_NAME, Refusal, Server, ToolOwner, refusal, unknown_tool};
use super::{Facade, entry};

pub(super) const NAME: &str = "inspect";

/// The description of the tool on endpoints with `search_tools`.
pub(super) const AFTER_SEARCH: &str =
    "Show the tools of an MCP server with their schemas, or one of them.";

/// The minimum length of shortened instructions. Shorter ones are left out.
const LEAST_INSTRUCTIONS: usize = 80;

const TOOL: &str = r#"{"name":"inspect","description":"","inputSchema":{"type":"object","properties":{"server_name":{"type":"string"},"tool_name":{"type":"string","description":"Only this tool"},"cursor":{"type":"string","description":"From a previous answer, for its next page"}},"required":["server_name"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

/// Returns the tool's list entry.
pub(super) fn tool(description: &str) -> Raw {
    Raw::from_static(TOOL).with_member("description", &Raw::string(description))
}

impl Facade {
    pub(super) fn inspected(&self, arguments: Option<&Raw>) -> Result<Raw, Refusal> {
        let wrong = |error: String| refusal(&json!({ "error": error }));
        let names = ["server_name", "tool_name", "cursor"];
        let asked = ToolArguments::read(NAME, names, arguments).map_err(wrong)?;
        let name = asked.text("server_name");
        let name = name.map_err(|error| self.servers.refusal(error))?;
        let tool = asked.optional_text("tool_name").map_err(wrong)?;
        let cursor = asked.optional_text("cursor").map_err(wrong)?;
        let owner = self.servers.owner(&name)?;
        match (owner, tool) {
            (ToolOwner::Server(_, server), Some(tool)) => {
                Ok(self.one((server.id(), &server.tool(&tool)?.tool)))
            }
            (ToolOwner::Server(_, server), None) => {
                let server = server.allowed()?;
                let id = server.id();
                let tools: Vec<_> = server.tools().map(|tool| (id, tool)).collect();
                self.several(id, &tools, cursor, Some(server))
            }
            (ToolOwner::Gateway(own), Some(tool)) if tool != own.name() => {
                Err(unknown_tool(GATEWAY_NAME, &tool, vec![own.name()]))
            }
            (ToolOwner::Gateway(own), Some(_)) => Ok(self.one((GATEWAY_NAME, own))),
            (ToolOwner::Gateway(own), None) => {
                self.several(GATEWAY_NAME, &[(GATEWAY_NAME, own)], cursor, None)
            }
        }
    }

    fn one(&self, named: entry::NamedTool<'_>) -> Raw {
        let (entry, text) = entry::single(named, self.max_chars, &self.settings);
        result(&[text], &wrapped(&entry))
    }

    /// Returns the tools of a server from the cursor on, as many as fit.
    fn several(
        &self,
        id: &str,
        tools: &[entry::NamedTool<'_>],
        cursor: Option<String>,
        server: Option<&Server>,
    ) -> Result<Raw, Refusal> {
        let total = tools.len();
        let start = match cursor.as_deref().map(token::parse_cursor) {
            None => 0,
            Some(Ok(start)) if start < total => start,
            Some(_) => {
                let error =
                    "The cursor does not belong to this server. Call inspect without a cursor";
                return Err(refusal(&json!({ "error": error })));
            }
        };
        // The maximum length of the note about pages.
        let longest = chars(&note(id, total, total, total, Some(token::cursor(total))));
        let some = self.max_chars.saturating_sub(longest);
        let room = match start {
            0 => entry::EntryBudget {
                all: self.max_chars,
                some,
            },
            _ => entry::EntryBudget { all: some, some },
        };
        let page = entry::page(&tools[start..], room, &self.settings);
        let end = start + page.entries.len();
        let next = (end < total).then(|| token::cursor(end));
        let mut structured = wrapped(&array(&page.entries));
        let mut texts = vec![page.text];
        if let Some(next) = &next {
            structured = structured.with_member("next_cursor", &Raw::string(next));
        }
        if start > 0 || next.is_some() {
            structured = structured.with_member("total", &Raw::number(total as u64));
            texts.push(note(id, start + 1, end, total, next));
        }
        if let Some(server) = server.filter(|_| start == 0) {
            texts.extend(self.instructions_of(server, &texts));
        }
        Ok(result(&texts, &structured))
    }

    /// Returns a server's instructions, cut to the remaining room. Returns `None` if the tool list
    /// already contains them in full.
    fn instructions_of(&self, server: &Server, others: &[String]) -> Option<String> {
        let instructions = server.instructions.as_deref()?.trim();
        if instructions.is_empty() || self.listing.covers(server, instructions) {
            return None;
        }
        let head = format!("Instructions of {}:\n", server.id());
        let taken: usize = others.iter().map(|text| chars(text)).sum();
        let room = self.max_chars.checked_sub(taken + chars(&head))?;
        match instructions.char_indices().nth(room) {
            None => Some(head + instructions),
            Some(_) if room < LEAST_INSTRUCTIONS => None,
            Some(_) => {
                let kept: String = instructions.chars().take(room - 3).collect();
                Some(format!("{head}{kept}..."))
            }
        }
    }
}

/// Returns the note that names the tools of a page and the call for the next page.
fn note(id: &str, first: usize, last: usize, total: usize, next: Option<String>) -> String {
    let range = format!("Tools {first}-{last} of {total}.");
    match next {
        None => range,
        Some(next) => {
            let id = Raw::string(id);
            let id = id.as_str();
            format!(r#"{range} For the next: inspect(server_name: {id}, cursor: "{next}")"#)
        }
    }
}
