//! The servers of an endpoint, found by the names that clients give: a tool is
//! there, or the answer says which are, or a preset forbids it.

use std::sync::{Arc, OnceLock};

use narrows_wire::Raw;
use serde_json::{Value, json};

use super::request::shortened;
use super::{Hidden, Shelf, Shown};
use crate::builtin::error_result;
use crate::error::{Error, ItemKind};
use crate::names;
use crate::preset::Denial;
use crate::recover;
use crate::upstream::Upstream;

/// The name under which the gateway's own tools are asked for.
pub(super) const OURS: &str = "narrows";

/// Servers and tools that one error tells.
const SERVERS_TOLD: usize = 100;
const TOOLS_TOLD: usize = 200;
/// Characters of names that one error tells.
const NAMES_TOLD: usize = 10_000;

/// Why a question is not answered.
pub(super) enum Refusal {
    /// This result says what to ask instead.
    Told(Raw),
    /// The preset in force does not allow what was asked for.
    Denied(Error),
}

/// All of them, sorted by id.
pub(super) struct Servers {
    all: Vec<Server>,
    /// Those that cannot be asked now.
    down: Vec<Arc<Upstream>>,
    /// The gateway's own tool for what was cut, where anything is.
    recover: Option<Tool>,
}

pub(super) struct Server {
    pub(super) upstream: Arc<Upstream>,
    pub(super) server_info: Raw,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Tool>,
    hidden: Vec<Hidden>,
}

pub(super) struct Tool {
    pub(super) shown: Shown,
    /// What is told of it.
    pub(super) entry: OnceLock<Raw>,
}

/// What a name of a server means.
#[derive(Clone, Copy)]
pub(super) enum Owner<'a> {
    /// The server at this place.
    Server(usize, &'a Server),
    /// The gateway.
    Gateway(&'a Tool),
}

impl Servers {
    pub(super) fn new(shelves: Vec<Shelf>, down: Vec<Arc<Upstream>>, cuts: bool) -> Servers {
        let mut all: Vec<Server> = shelves.into_iter().map(Server::new).collect();
        all.sort_by(|a, b| a.id().cmp(b.id()));
        let recover = || {
            let raw = recover::tool(recover::NAME);
            let item = crate::upstream::Item::read(crate::upstream::ListKind::Tools, raw)?;
            let published = item.key.clone();
            Some(Tool::new(Shown { item, published }))
        };
        Servers {
            all,
            down,
            recover: cuts.then(recover).flatten(),
        }
    }

    /// Those with tools that may be used.
    pub(super) fn offering(&self) -> impl Iterator<Item = &Server> {
        self.all.iter().filter(|server| !server.tools.is_empty())
    }

    /// All of them, also those without; what an index counts.
    pub(super) fn all(&self) -> &[Server] {
        &self.all
    }

    pub(super) fn count_tools(&self) -> usize {
        self.all.iter().map(|server| server.tools.len()).sum()
    }

    /// A server by its id or slug.
    pub(super) fn named(&self, name: &str) -> Option<(usize, &Server)> {
        let mut places = self.all.iter().enumerate();
        places.find(|(_, server)| server.id() == name).or_else(|| {
            let mut places = self.all.iter().enumerate();
            places.find(|(_, server)| &*server.upstream.slug == name)
        })
    }

    /// A server, or the gateway itself where no server has its name.
    pub(super) fn owner(&self, name: &str) -> Result<Owner<'_>, Refusal> {
        if let Some((place, server)) = self.named(name) {
            return Ok(Owner::Server(place, server));
        }
        if let Some(recover) = self.recover.as_ref().filter(|_| name == OURS) {
            return Ok(Owner::Gateway(recover));
        }
        let is_down =
            |upstream: &&Arc<Upstream>| upstream.settings.id == name || &*upstream.slug == name;
        Err(self.refusal(match self.down.iter().find(is_down) {
            Some(upstream) => upstream.down().to_string(),
            None => format!("Server '{}' not found", shortened(name)),
        }))
    }

    /// An error that tells which servers there are.
    pub(super) fn refusal(&self, error: String) -> Refusal {
        let ids = self.offering().map(Server::id);
        let (told, more) = some(ids, SERVERS_TOLD);
        let mut said = json!({ "error": error, "available_servers": told });
        if more > 0 {
            said["more_servers"] = more.into();
        }
        refusal(&said)
    }
}

impl Server {
    fn new(shelf: Shelf) -> Server {
        Server {
            upstream: shelf.upstream,
            server_info: shelf.server_info,
            instructions: shelf.instructions,
            tools: shelf.tools.into_iter().map(Tool::new).collect(),
            hidden: shelf.hidden,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.upstream.settings.id
    }

    /// Refuses a server of which nothing may be used.
    pub(super) fn allowed(&self) -> Result<&Server, Refusal> {
        match self.hidden.first() {
            Some(hidden) if self.tools.is_empty() => {
                Err(denied(ItemKind::Server, self.id(), hidden.denial.clone()))
            }
            _ => Ok(self),
        }
    }

    /// A tool by the server's own name for it, or by its published one.
    pub(super) fn has(&self, name: &str) -> Option<&Tool> {
        let own = |tool: &&Tool| *tool.shown.item.key == *name;
        let published = |tool: &&Tool| *tool.shown.published == *name;
        let found = self.tools.iter().find(own);
        found.or_else(|| self.tools.iter().find(published))
    }

    /// The same, or why there is none.
    pub(super) fn tool(&self, name: &str) -> Result<&Tool, Refusal> {
        if let Some(tool) = self.has(name) {
            return Ok(tool);
        }
        let own = |hidden: &&Hidden| *hidden.name == *name;
        let published = |hidden: &&Hidden| *hidden.published == *name;
        let hidden = self.hidden.iter().find(own);
        let hidden = hidden.or_else(|| self.hidden.iter().find(published));
        if let Some(Hidden {
            published, denial, ..
        }) = hidden
        {
            return Err(denied(ItemKind::Tool, published, denial.clone()));
        }
        self.allowed()?;
        let known: Vec<&str> = self.tools.iter().map(Tool::name).collect();
        Err(unknown_tool(self.id(), name, known))
    }
}

impl Tool {
    fn new(shown: Shown) -> Tool {
        Tool {
            shown,
            entry: OnceLock::new(),
        }
    }

    /// As its server calls it.
    pub(super) fn name(&self) -> &str {
        &self.shown.item.key
    }

    /// The whole of it; nothing where there is none.
    pub(super) fn description(&self) -> String {
        let description = self.shown.item.raw.member("description");
        let text = description.as_ref().and_then(Raw::as_text);
        text.unwrap_or_default().into_owned()
    }

    pub(super) fn schema(&self) -> Option<Raw> {
        self.shown.item.raw.member("inputSchema")
    }
}

/// That a server, or the gateway, has no such tool.
pub(super) fn unknown_tool(server: &str, name: &str, mut known: Vec<&str>) -> Refusal {
    let nearest = names::nearest(name, known.iter().copied());
    if known.len() > TOOLS_TOLD {
        let wanted: String = name.chars().take(100).collect();
        // Similarity costs the product of the lengths, and both come from peers.
        let likeness = |name: &str| match name.len() {
            ..=200 => strsim::jaro_winkler(&wanted, name),
            _ => 0.0,
        };
        let mut scored: Vec<(f64, &str)> =
            known.iter().map(|name| (likeness(name), *name)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        known = scored.into_iter().map(|(_, name)| name).collect();
    }
    let (told, more) = some(known.into_iter(), TOOLS_TOLD);
    let (name, server) = (shortened(name), shortened(server));
    let mut said = json!({
        "error": format!("Tool '{name}' not found on server '{server}'"),
        "available_tools": told,
    });
    if more > 0 {
        said["more_tools"] = more.into();
    }
    said["nearest"] = nearest.into();
    refusal(&said)
}

/// A result that says what is wrong.
pub(super) fn refusal(said: &Value) -> Refusal {
    Refusal::Told(error_result(&said.to_string()))
}

fn denied(kind: ItemKind, name: &str, denial: Arc<Denial>) -> Refusal {
    Refusal::Denied(Error::NotAllowed {
        kind,
        name: name.to_owned(),
        denial,
    })
}

/// The first names, and how many more there are.
fn some<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> (Vec<String>, usize) {
    let (mut told, mut more, mut length) = (Vec::new(), 0, 0);
    for name in names {
        length += name.len();
        match told.len() < most && length <= NAMES_TOLD {
            true => told.push(name.to_owned()),
            false => more += 1,
        }
    }
    (told, more)
}
