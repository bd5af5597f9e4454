//! The servers of an endpoint, by the names that clients use. A lookup returns the tool, or an
//! error that lists the available ones or names the rule that denies it.

use std::sync::{Arc, OnceLock};

use narrows_policy::names;
use narrows_policy::preset::Denial;
use narrows_wire::{ItemKind, Raw};
use serde_json::{Value, json};

use super::request::shortened;
use super::{HiddenTool, ServerTools, TaskOnlyTool, VisibleTool};
use crate::error::{Error, did_you_mean};
use crate::permit;
use crate::target::Target;
use narrows_results::recover_tool;
use narrows_upstream::{Item, ListKind, Upstream};
use narrows_wire::tool_result;

/// The server name of the gateway's own tools.
pub(super) const GATEWAY_NAME: &str = "narrows";

/// The maximum number of servers and tools in one error.
const MAX_SERVERS_NAMED: usize = 100;
const MAX_TOOLS_NAMED: usize = 200;
/// The maximum total length in bytes of the names in one error.
const MAX_NAME_CHARS: usize = 10_000;

/// The reason why a request is refused.
pub(super) enum Refusal {
    /// A result with advice on a correct request.
    ErrorResult(Raw),
    /// The preset in force does not allow the request.
    Denied(Error),
}

/// The servers of an endpoint, sorted by id.
pub(super) struct Servers {
    all: Vec<Server>,
    /// The servers that are not up.
    down: Vec<Arc<Upstream>>,
    /// The gateway's own tool for cut texts, if texts are cut.
    recover: Option<Tool>,
}

pub(super) struct Server {
    pub(super) upstream: Arc<Upstream>,
    pub(super) server_info: Raw,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<CallableTool>,
    denied: Option<Arc<Denial>>,
    hidden: Vec<HiddenTool>,
    task_only: Vec<TaskOnlyTool>,
}

/// A tool that may be called.
pub(super) struct CallableTool {
    pub(super) tool: Tool,
    pub(super) published: Box<str>,
    pub(super) target: Target,
}

/// A tool that can be described.
pub(super) struct Tool {
    pub(super) item: Item,
    /// The description of the tool, created on first use.
    pub(super) entry: OnceLock<Raw>,
}

/// The owner of tools under a server name.
#[derive(Clone, Copy)]
pub(super) enum ToolOwner<'a> {
    /// The server at this position.
    Server(usize, &'a Server),
    /// The gateway itself, with its own tool.
    Gateway(&'a Tool),
}

impl Servers {
    pub(super) fn new(
        tools_by_server: Vec<ServerTools>,
        down: Vec<Arc<Upstream>>,
        cuts: bool,
    ) -> Servers {
        let mut all: Vec<Server> = tools_by_server.into_iter().map(Server::new).collect();
        all.sort_by(|a, b| a.id().cmp(b.id()));
        let recover = || {
            let item = Item::read(ListKind::Tools, recover_tool::tool(recover_tool::NAME))?;
            Some(Tool::new(item))
        };
        Servers {
            all,
            down,
            recover: cuts.then(recover).flatten(),
        }
    }

    /// Returns the servers that have usable tools.
    pub(super) fn offering(&self) -> impl Iterator<Item = &Server> {
        self.all.iter().filter(|server| !server.tools.is_empty())
    }

    /// Returns all servers, including those without tools. Positions in the search index refer to
    /// this list.
    pub(super) fn all(&self) -> &[Server] {
        &self.all
    }

    pub(super) fn count_tools(&self) -> usize {
        self.all.iter().map(|server| server.tools.len()).sum()
    }

    /// Returns the gateway's own tool for cut texts.
    pub(super) fn recover(&self) -> Option<&Tool> {
        self.recover.as_ref()
    }

    /// Returns a server by its id or slug.
    pub(super) fn named(&self, name: &str) -> Option<(usize, &Server)> {
        let mut places = self.all.iter().enumerate();
        places.find(|(_, server)| server.id() == name).or_else(|| {
            let mut places = self.all.iter().enumerate();
            places.find(|(_, server)| &*server.upstream.slug == name)
        })
    }

    /// Returns the server of this name. Returns the gateway itself if the name is the gateway's and
    /// no server has it.
    pub(super) fn owner(&self, name: &str) -> Result<ToolOwner<'_>, Refusal> {
        if let Some((place, server)) = self.named(name) {
            return Ok(ToolOwner::Server(place, server));
        }
        if let Some(recover) = self.recover.as_ref().filter(|_| name == GATEWAY_NAME) {
            return Ok(ToolOwner::Gateway(recover));
        }
        let is_down =
            |upstream: &&Arc<Upstream>| upstream.settings.id == name || &*upstream.slug == name;
        Err(self.refusal(match self.down.iter().find(is_down) {
            Some(upstream) => upstream.down().to_string(),
            None => format!("Server '{}' not found", shortened(name)),
        }))
    }

    /// Returns an error that lists the available servers.
    pub(super) fn refusal(&self, error: String) -> Refusal {
        let ids = self.offering().map(Server::id);
        let (listed, more) = some(ids, MAX_SERVERS_NAMED);
        let mut body = json!({ "error": error, "available_servers": listed });
        if more > 0 {
            body["more_servers"] = more.into();
        }
        refusal(&body)
    }
}

impl Server {
    fn new(server_tools: ServerTools) -> Server {
        Server {
            upstream: server_tools.upstream,
            server_info: server_tools.server_info,
            instructions: server_tools.instructions,
            tools: server_tools
                .tools
                .into_iter()
                .map(CallableTool::new)
                .collect(),
            denied: server_tools.denied,
            hidden: server_tools.hidden,
            task_only: server_tools.task_only,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.upstream.settings.id
    }

    pub(super) fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.tools.iter().map(|offered| &offered.tool)
    }

    /// Refuses the server if the preset denies the server itself or all its tools.
    pub(super) fn allowed(&self) -> Result<&Server, Refusal> {
        let hidden = self.hidden.first().filter(|_| self.tools.is_empty());
        let hidden = hidden.map(|hidden| &hidden.denial);
        match self.denied.as_ref().or(hidden) {
            Some(denial) => Err(denied(ItemKind::Server, self.id(), denial)),
            None => Ok(self),
        }
    }

    /// Returns a usable tool by the server's own name for it or by its published name.
    pub(super) fn has(&self, name: &str) -> Option<&CallableTool> {
        let own = |offered: &&CallableTool| offered.tool.name() == name;
        let published = |offered: &&CallableTool| *offered.published == *name;
        let found = self.tools.iter().find(own);
        found.or_else(|| self.tools.iter().find(published))
    }

    /// Returns a usable tool, or the reason why there is none.
    pub(super) fn tool(&self, name: &str) -> Result<&CallableTool, Refusal> {
        if let Some(offered) = self.has(name) {
            return Ok(offered);
        }
        let own = |hidden: &&HiddenTool| *hidden.name == *name;
        let published = |hidden: &&HiddenTool| *hidden.published == *name;
        let hidden = self.hidden.iter().find(own);
        let hidden = hidden.or_else(|| self.hidden.iter().find(published));
        if let Some(HiddenTool {
            published, denial, ..
        }) = hidden
        {
            return Err(denied(ItemKind::Tool, published, denial));
        }
        let is_named = |tool: &&TaskOnlyTool| *tool.name == *name || *tool.published == *name;
        if let Some(tool) = self.task_only.iter().find(is_named) {
            let error = Error::needs_task(&tool.published, self.id());
            let body = json!({ "error": error.to_string(), "code": error.as_str() });
            return Err(refusal(&body));
        }
        self.allowed()?;
        let known: Vec<&str> = self.tools().map(Tool::name).collect();
        Err(unknown_tool(self.id(), name, known))
    }
}

impl CallableTool {
    fn new(shown: VisibleTool) -> CallableTool {
        CallableTool {
            tool: Tool::new(shown.item),
            published: shown.published,
            target: shown.target,
        }
    }
}

impl Tool {
    fn new(item: Item) -> Tool {
        Tool {
            item,
            entry: OnceLock::new(),
        }
    }

    /// Returns the server's own name for the tool.
    pub(super) fn name(&self) -> &str {
        &self.item.key
    }

    /// Returns the full description, which may be empty.
    pub(super) fn description(&self) -> String {
        let description = self.item.raw.member("description");
        let text = description.as_ref().and_then(Raw::as_text);
        text.unwrap_or_default().into_owned()
    }

    /// Returns true if the first line of the description contains "deprecated".
    pub(super) fn is_deprecated(&self) -> bool {
        let description = self.description();
        let first = description.trim_start().lines().next().unwrap_or_default();
        let first: String = first.chars().take(200).collect();
        first.to_ascii_lowercase().contains("deprecated")
    }

    pub(super) fn schema(&self) -> Option<Raw> {
        self.item.raw.member("inputSchema")
    }
}

/// Returns the error for a tool that the server, or the gateway, does not have.
pub(super) fn unknown_tool(server: &str, name: &str, mut known: Vec<&str>) -> Refusal {
    let nearest = names::nearest(name, known.iter().copied());
    if known.len() > MAX_TOOLS_NAMED {
        known = names::by_likeness(name, known);
    }
    let (listed, more) = some(known.into_iter(), MAX_TOOLS_NAMED);
    let (name, server) = (shortened(name), shortened(server));
    let hint = did_you_mean(&nearest);
    let mut body = json!({
        "error": format!("Tool '{name}' not found on server '{server}'{hint}"),
        "available_tools": listed,
    });
    if more > 0 {
        body["more_tools"] = more.into();
    }
    body["nearest"] = nearest.into();
    refusal(&body)
}

/// Returns an error result.
pub(super) fn refusal(body: &Value) -> Refusal {
    Refusal::ErrorResult(tool_result::error(&body.to_string()))
}

fn denied(kind: ItemKind, name: &str, denial: &Arc<Denial>) -> Refusal {
    Refusal::Denied(permit::not_allowed(kind, name, denial))
}

/// Returns the first names, and the number of further ones.
fn some<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> (Vec<String>, usize) {
    let (mut listed, mut more, mut length) = (Vec::new(), 0, 0);
    for name in names {
        length += name.len();
        match listed.len() < most && length <= MAX_NAME_CHARS {
            true => listed.push(name.to_owned()),
            false => more += 1,
        }
    }
    (listed, more)
}
