//! Presets: which tools, prompts and resources clients may see and use.
//!
//! A preset is three lists of [`Rule`]s. In a list the last rule that matches
//! decides, and what none matches is not allowed. A list that is absent allows
//! everything of the servers that the other lists allow anything of. Whether a
//! caller may use a thing is decided in [`permission`](crate::permission), and nowhere else.

mod pattern;
#[cfg(test)]
mod tests;
mod tool_filter;

use std::fmt;
use std::sync::Arc;

use narrows_wire::Raw;

pub use self::pattern::{BadRule, Hint, Pattern, Rule};
pub use self::tool_filter::{ToolFilter, ToolFilters, ToolList};

/// A selection of what the servers offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    id: Arc<str>,
    tools: Option<Vec<Rule>>,
    prompts: Option<Vec<Rule>>,
    resources: Option<Vec<Rule>>,
    /// The same with every URI written plainly.
    plain_resources: Vec<Rule>,
    /// Another one that binds as well.
    besides: Option<Arc<Preset>>,
}

/// All presets, by what names them.
pub struct Presets {
    all: Vec<Arc<Preset>>,
    default: Option<Arc<Preset>>,
}

/// The preset of a server's own ways in: its endpoint, and plain JSON-RPC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DirectPreset {
    /// That of the default endpoint.
    #[default]
    AsDefault,
    /// None, so that everything is allowed.
    Free,
    /// The one of this id.
    Named(String),
}

/// A server by the two names that it has.
#[derive(Debug, Clone, Copy)]
pub struct ServerName<'a> {
    pub id: &'a str,
    pub slug: &'a str,
}

/// A refusal: the rules that do not allow a thing, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub source: DenialSource,
    pub why: Why,
}

/// The rules that deny a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialSource {
    /// A preset, by its id.
    Preset(Arc<str>),
    /// A list in the server's own entry, by its path in the configuration.
    ToolList(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// This entry forbids it.
    Forbidden(Box<str>),
    /// This entry forbids it by a hint of which its server says nothing.
    ForbiddenWithoutHints(Box<str>, Hint),
    /// No entry allows it.
    NotNamed,
    /// The preset names nothing of its server.
    ServerNotNamed,
    /// A preset can say nothing of it, so that none allows it.
    Unknowable,
    /// A list in the server's own entry excludes it.
    Excluded,
    /// A list in the server's own entry allows other tools only.
    NotIncluded,
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
            plain_resources: resources.iter().flatten().map(Rule::plain).collect(),
            resources,
            besides: None,
        }
    }

    /// One that allows what both allow; the absence of one allows everything.
    pub fn both(one: Option<Arc<Preset>>, other: Option<Arc<Preset>>) -> Option<Arc<Preset>> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => Some(Arc::new(Preset {
                besides: Some(other),
                ..(*one).clone()
            })),
            (one, other) => one.or(other),
        }
    }

    /// This one, and what binds besides it: each of them must allow a thing.
    pub fn each(&self) -> impl Iterator<Item = &Preset> {
        std::iter::successors(Some(self), |preset| preset.besides.as_deref())
    }

    /// One that allows nothing.
    pub fn nothing(id: impl Into<Arc<str>>) -> Preset {
        Preset::new(id, Some(Vec::new()), None, None)
    }

    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The entries for tools, for prompts and for resources, as they are
    /// written; a list that is absent is `None`.
    pub fn rules(&self) -> [Option<Vec<&str>>; 3] {
        [&self.tools, &self.prompts, &self.resources].map(|list| {
            let rules = list.as_ref()?;
            Some(rules.iter().map(Rule::text).collect())
        })
    }

    /// Entries for tools of just one server that fit none of its tools, which
    /// are given: they are most likely misspelt.
    pub fn idle_entries<'p>(&'p self, id: &str, slug: &str, tools: &[&str]) -> Vec<&'p str> {
        let server = ServerName { id, slug };
        let rules = self.tools.iter().flatten();
        let idle = rules.filter(|rule| {
            let fits = |tool: &&str| rule.matches(server, tool, None);
            let is_about_all = rule.text().trim_start_matches('!').starts_with('*');
            let is_meant = rule.hint().is_none() && !is_about_all && rule.names_server(server);
            is_meant && !tools.iter().any(fits)
        });
        idle.map(Rule::text).collect()
    }

    /// The id, and a digest of what it allows: what was handed out under a
    /// preset is not to be had under another of the same name.
    pub fn fingerprint(&self) -> String {
        // FNV-1a: stable between versions, as the standard hasher is not.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            // The length first, so that no two texts read like one.
            let length = (text.len() as u64).to_le_bytes();
            for byte in length.iter().chain(text.as_bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for (name, list) in [
            ("tools", &self.tools),
            ("prompts", &self.prompts),
            ("resources", &self.resources),
        ] {
            add(name);
            add(if list.is_some() { "chosen" } else { "absent" });
            for rule in list.iter().flatten() {
                rule.parts().into_iter().for_each(&mut add);
            }
        }
        let own = format!("{}#{hash:016x}", self.id);
        match &self.besides {
            Some(besides) => format!("{own}+{}", besides.fingerprint()),
            None => own,
        }
    }

    /// Whether a tool is allowed, by its server's own name for it; `None` if it
    /// is. `tool` is the tool as its server listed it.
    pub fn denies_tool(
        &self,
        server: ServerName<'_>,
        name: &str,
        tool: Option<&Raw>,
    ) -> Option<Denial> {
        self.denies(&self.tools, server, name, tool)
    }

    pub fn denies_prompt(&self, server: ServerName<'_>, name: &str) -> Option<Denial> {
        self.denies(&self.prompts, server, name, None)
    }

    /// By a URI or a URI template, in exactly this spelling.
    pub fn denies_resource(&self, server: ServerName<'_>, uri: &str) -> Option<Denial> {
        self.denies(&self.resources, server, uri, None)
    }

    /// Whether an entry forbids a URI that is written plainly, however the
    /// entry itself is written.
    pub fn forbids_plain(&self, server: ServerName<'_>, plain: &str) -> Option<Denial> {
        let rule = last_match(&self.plain_resources, server, plain, None)?;
        (!rule.allows()).then(|| self.denied(Why::Forbidden(rule.text().into())))
    }

    /// Whether an entry forbids a template after everything that allows this
    /// URI, which fits it.
    pub fn forbids_template(
        &self,
        server: ServerName<'_>,
        template: &str,
        uri: &str,
    ) -> Option<Denial> {
        let rules = self.resources.as_deref()?;
        let last = |name: &str| {
            let matches = |rule: &Rule| rule.matches(server, name, None);
            rules.iter().rposition(matches)
        };
        let of_template = last(template).filter(|at| !rules[*at].allows())?;
        let is_later = last(uri).is_none_or(|of_uri| of_uri < of_template);
        let why = || Why::Forbidden(rules[of_template].text().into());
        is_later.then(|| self.denied(why()))
    }

    /// Whether nothing at all of a server is allowed.
    pub fn denies_server(&self, server: ServerName<'_>) -> Option<Denial> {
        (!self.allows_any_of(server)).then(|| self.denied(Why::ServerNotNamed))
    }

    /// Why something is not allowed that no entry can speak of: a method, or a
    /// URI of which nobody can say what it means.
    pub fn denies_unknowable(&self) -> Denial {
        self.denied(Why::Unknowable)
    }

    /// Returns true if no entry has anything to say on exactly this URI.
    pub fn is_silent_on_resource(&self, server: ServerName<'_>, uri: &str) -> bool {
        let rules = self.resources.as_deref().unwrap_or_default();
        last_match(rules, server, uri, None).is_none()
    }

    /// Returns true if it says more on resources than of which servers.
    pub fn chooses_resources(&self) -> bool {
        self.resources.is_some()
    }

    fn denies(
        &self,
        list: &Option<Vec<Rule>>,
        server: ServerName<'_>,
        name: &str,
        tool: Option<&Raw>,
    ) -> Option<Denial> {
        let Some(rules) = list else {
            return self.denies_server(server);
        };
        let why = match last_match(rules, server, name, tool) {
            Some(rule) if rule.allows() => return None,
            Some(rule) => match rule.hint().filter(|hint| !hint.is_said_of(tool)) {
                Some(hint) => Why::ForbiddenWithoutHints(rule.text().into(), hint),
                None => Why::Forbidden(rule.text().into()),
            },
            None if self.allows_any_of(server) => Why::NotNamed,
            None => Why::ServerNotNamed,
        };
        Some(self.denied(why))
    }

    fn denied(&self, why: Why) -> Denial {
        Denial {
            source: DenialSource::Preset(self.id.clone()),
            why,
        }
    }

    /// What a later entry takes back as a whole was not allowed before it.
    fn allows_any_of(&self, server: ServerName<'_>) -> bool {
        let lists = [&self.tools, &self.prompts, &self.resources];
        lists.into_iter().flatten().any(|rules| {
            let of_server = |rule: &&Rule| match rule.allows() {
                true => rule.names_server(server),
                false => rule.names_all_of(server),
            };
            let last = rules.iter().rev().find(of_server);
            last.is_some_and(Rule::allows)
        })
    }
}

impl Presets {
    /// `default` is the id of the preset of the default endpoint.
    pub fn new(presets: &[Preset], default: Option<&str>) -> Presets {
        let mut presets = Presets {
            all: presets.iter().cloned().map(Arc::new).collect(),
            default: None,
        };
        presets.default = default.map(|id| presets.get(id));
        presets
    }

    pub fn all(&self) -> &[Arc<Preset>] {
        &self.all
    }

    pub fn has(&self, id: &str) -> bool {
        self.all.iter().any(|preset| &**preset.id() == id)
    }

    /// One that is not there allows nothing: whoever named it wanted less than
    /// everything.
    pub fn get(&self, id: &str) -> Arc<Preset> {
        let found = self.all.iter().find(|preset| &**preset.id() == id);
        found
            .cloned()
            .unwrap_or_else(|| Arc::new(Preset::nothing(id)))
    }

    /// For the ways in of one server.
    pub fn direct(&self, choice: &DirectPreset) -> Option<Arc<Preset>> {
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

impl DenialSource {
    /// Returns the key under which errors and events name it, and its name.
    pub fn named(&self) -> (&'static str, &str) {
        match self {
            DenialSource::Preset(id) => ("preset", id),
            DenialSource::ToolList(path) => ("tool_list", path),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, source) = self.source.named();
        match &self.why {
            Why::Forbidden(rule) => write!(f, "`{rule}` of preset '{source}' forbids it"),
            Why::ForbiddenWithoutHints(rule, hint) => write!(
                f,
                "`{rule}` of preset '{source}' forbids it: {}",
                hint.unsaid()
            ),
            Why::NotNamed => write!(f, "no entry of preset '{source}' allows it"),
            Why::ServerNotNamed => write!(f, "preset '{source}' allows nothing of its server"),
            Why::Unknowable => write!(f, "preset '{source}' cannot allow it"),
            Why::Excluded => write!(f, "`{source}` excludes it"),
            Why::NotIncluded => write!(f, "`{source}` does not name it"),
        }
    }
}
