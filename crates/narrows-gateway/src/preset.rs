//! Presets: which tools, prompts and resources clients may see and use.
//!
//! A preset is three lists of [`Rule`]s. In a list the last rule that matches
//! decides, and what none matches is not allowed. A list that is absent allows
//! everything of the servers that the other lists allow anything of. Whether a
//! caller may use a thing is asked in `permit`, and nowhere else.

mod pattern;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use narrows_wire::Raw;

pub use self::pattern::{BadRule, Hint, Pattern, Rule};
use crate::error::ItemKind;
use crate::settings::{DirectPreset, EndpointSettings};

/// A selection of what the servers offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    id: Arc<str>,
    tools: Option<Vec<Rule>>,
    prompts: Option<Vec<Rule>>,
    resources: Option<Vec<Rule>>,
}

/// All presets, by what names them.
pub(crate) struct Presets {
    all: Vec<Arc<Preset>>,
    default: Option<Arc<Preset>>,
}

/// A server by the two names that it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerName<'a> {
    pub(crate) id: &'a str,
    pub(crate) slug: &'a str,
}

/// Why something is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The id of the preset that says so.
    pub preset: Arc<str>,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// This entry forbids it.
    Forbidden(Box<str>),
    /// This entry forbids it by a hint, and its server gives the tool none.
    ForbiddenWithoutHints(Box<str>),
    /// No entry allows it.
    NotNamed,
    /// The preset names nothing of its server.
    ServerNotNamed,
    /// A preset can say nothing of it, so that none allows it.
    Unknowable,
}

impl Preset {
    pub fn new(
        id: impl Into<Arc<str>>,
        tools: Option<Vec<Rule>>,
        prompts: Option<Vec<Rule>>,
        resources: Option<Vec<Rule>>,
    ) -> Preset {
        Preset {
            id: id.into(),
            tools,
            prompts,
            resources,
        }
    }

    /// One that allows nothing.
    pub fn nothing(id: impl Into<Arc<str>>) -> Preset {
        Preset::new(id, Some(Vec::new()), None, None)
    }

    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The id, and a digest of what it allows: what was handed out under a
    /// preset is not to be had under another of the same name.
    pub(crate) fn fingerprint(&self) -> String {
        // FNV-1a: stable between versions, as the standard hasher is not.
        let text = format!("{:?}", (&self.tools, &self.prompts, &self.resources));
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}#{hash:016x}", self.id)
    }

    /// Whether a thing is allowed, by its server's own name or URI for it;
    /// `None` if it is. `tool` is the tool as its server listed it.
    pub(crate) fn denial(
        &self,
        kind: ItemKind,
        server: ServerName<'_>,
        name: &str,
        tool: Option<&Raw>,
    ) -> Option<Denial> {
        let list = match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Prompt => &self.prompts,
            ItemKind::Resource => &self.resources,
            ItemKind::Server => &None,
            ItemKind::Method => return Some(self.denied(Why::Unknowable)),
        };
        let why = match list {
            None if self.allows_any_of(server) => return None,
            None => Why::ServerNotNamed,
            Some(rules) => match last_match(rules, server, name, tool) {
                Some(rule) if rule.allows() => return None,
                Some(rule) if rule.is_hint() && !has_hints(tool) => {
                    Why::ForbiddenWithoutHints(rule.text().into())
                }
                Some(rule) => Why::Forbidden(rule.text().into()),
                None if self.allows_any_of(server) => Why::NotNamed,
                None => Why::ServerNotNamed,
            },
        };
        Some(self.denied(why))
    }

    /// Whether no entry has anything to say on exactly this URI.
    pub(crate) fn is_silent_on_resource(&self, server: ServerName<'_>, uri: &str) -> bool {
        let rules = self.resources.as_deref().unwrap_or_default();
        last_match(rules, server, uri, None).is_none()
    }

    /// Whether it says more on resources than of which servers.
    pub(crate) fn chooses_resources(&self) -> bool {
        self.resources.is_some()
    }

    fn denied(&self, why: Why) -> Denial {
        Denial {
            preset: self.id.clone(),
            why,
        }
    }

    fn allows_any_of(&self, server: ServerName<'_>) -> bool {
        let lists = [&self.tools, &self.prompts, &self.resources];
        let mut rules = lists.into_iter().flatten().flatten();
        rules.any(|rule| rule.allows() && rule.names_server(server))
    }
}

impl Presets {
    pub(crate) fn new(presets: &[Preset], endpoints: &[EndpointSettings]) -> Presets {
        let mut presets = Presets {
            all: presets.iter().cloned().map(Arc::new).collect(),
            default: None,
        };
        let default = endpoints.iter().find(|endpoint| endpoint.name == "default");
        let id = default.and_then(|endpoint| endpoint.preset.as_deref());
        presets.default = id.map(|id| presets.get(id));
        presets
    }

    /// One that is not there allows nothing: whoever named it wanted less than
    /// everything.
    pub(crate) fn get(&self, id: &str) -> Arc<Preset> {
        let found = self.all.iter().find(|preset| &**preset.id() == id);
        found
            .cloned()
            .unwrap_or_else(|| Arc::new(Preset::nothing(id)))
    }

    /// For the ways in of one server.
    pub(crate) fn direct(&self, choice: &DirectPreset) -> Option<Arc<Preset>> {
        match choice {
            DirectPreset::AsDefault => self.default.clone(),
            DirectPreset::Free => None,
            DirectPreset::Named(id) => Some(self.get(id)),
        }
    }
}

fn last_match<'a>(
    rules: &'a [Rule],
    server: ServerName<'_>,
    name: &str,
    tool: Option<&Raw>,
) -> Option<&'a Rule> {
    let mut rules = rules.iter().rev();
    rules.find(|rule| rule.matches(server, name, tool))
}

fn has_hints(tool: Option<&Raw>) -> bool {
    let annotations = tool.and_then(|tool| tool.member("annotations"));
    annotations.is_some_and(|annotations| {
        let known = ["readOnlyHint", "destructiveHint"];
        known.iter().any(|hint| annotations.member(hint).is_some())
    })
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let preset = &self.preset;
        match &self.why {
            Why::Forbidden(rule) => write!(f, "`{rule}` of preset '{preset}' forbids it"),
            Why::ForbiddenWithoutHints(rule) => write!(
                f,
                "`{rule}` of preset '{preset}' forbids it: its server says nothing of what it \
                 does, which counts as destructive"
            ),
            Why::NotNamed => write!(f, "no entry of preset '{preset}' allows it"),
            Why::ServerNotNamed => write!(f, "preset '{preset}' allows nothing of its server"),
            Why::Unknowable => write!(f, "preset '{preset}' cannot allow it"),
        }
    }
}
