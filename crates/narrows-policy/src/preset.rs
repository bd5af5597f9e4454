//! Presets: rules that decide which tools, prompts and resources clients may see and use.
//!
//! A preset has three lists of [`Rule`]s. In each list the last matching rule decides, and an item
//! without a matching rule is not allowed. An absent list allows everything on the servers of which
//! the other lists allow anything. Only [`permission`](crate::permission) decides on requests.

mod pattern;
#[cfg(test)]
mod tests;
mod tool_filter;

use std::fmt;
use std::sync::Arc;

use narrows_wire::Raw;

pub use self::pattern::{Hint, Pattern, Rule, RuleError};
pub use self::tool_filter::{ToolFilter, ToolFilters, ToolList};

/// A selection of items that servers offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    id: Arc<str>,
    tools: Option<Vec<Rule>>,
    prompts: Option<Vec<Rule>>,
    resources: Option<Vec<Rule>>,
    /// The rules for resources, with normalised URIs.
    plain_resources: Vec<Rule>,
    /// A further preset that also applies.
    additional: Option<Arc<Preset>>,
}

/// All presets, and the one of the default endpoint.
pub struct Presets {
    all: Vec<Arc<Preset>>,
    default: Option<Arc<Preset>>,
}

/// The preset for direct access to one server: its own endpoint and plain JSON-RPC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DirectPreset {
    /// The preset of the default endpoint.
    #[default]
    AsDefault,
    /// No preset: everything is allowed.
    Free,
    /// The preset with this id.
    Named(String),
}

/// The two names of a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerName<'a> {
    pub id: &'a str,
    pub slug: &'a str,
}

/// A refusal: its source and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub source: DenialSource,
    pub why: DenialReason,
}

/// The rules that deny an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialSource {
    /// The id of a preset.
    Preset(Arc<str>),
    /// The configuration path of a list in the server's own entry.
    ToolList(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenialReason {
    /// The entry that forbids the item.
    Forbidden(Box<str>),
    /// The entry that forbids the item because of a hint that its server does not declare.
    ForbiddenWithoutHints(Box<str>, Hint),
    /// No entry allows the item.
    NotNamed,
    /// The preset allows nothing on the server.
    ServerNotNamed,
    /// Presets have no entries for such items, so none can allow it.
    Unknowable,
    /// A list in the server's own entry excludes the item.
    Excluded,
    /// A list in the server's own entry allows only other tools.
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
            additional: None,
        }
    }

    /// Returns a preset that allows what both presets allow. `None` allows everything.
    pub fn both(one: Option<Arc<Preset>>, other: Option<Arc<Preset>>) -> Option<Arc<Preset>> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => Some(Arc::new(Preset {
                additional: Some(other),
                ..(*one).clone()
            })),
            (one, other) => one.or(other),
        }
    }

    /// Iterates over this preset and the ones combined with it. An item must be allowed by each of
    /// them.
    pub fn each(&self) -> impl Iterator<Item = &Preset> {
        std::iter::successors(Some(self), |preset| preset.additional.as_deref())
    }

    /// Returns a preset that allows nothing.
    pub fn nothing(id: impl Into<Arc<str>>) -> Preset {
        Preset::new(id, Some(Vec::new()), None, None)
    }

    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the entries for tools, prompts and resources as written; `None` for an absent list.
    pub fn rules(&self) -> [Option<Vec<&str>>; 3] {
        [&self.tools, &self.prompts, &self.resources].map(|list| {
            let rules = list.as_ref()?;
            Some(rules.iter().map(Rule::text).collect())
        })
    }

    /// Returns the entries that select tools of this server but match none of the given `tools`.
    /// They are probably misspelt.
    pub fn unmatched_rules<'p>(&'p self, id: &str, slug: &str, tools: &[&str]) -> Vec<&'p str> {
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

    /// Returns the id and a hash of the rules. Receipts are bound to it, so that a changed preset
    /// with the same id does not give access to them.
    pub fn fingerprint(&self) -> String {
        // FNV-1a, because the standard hasher may change between versions.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            // Hash the length first, so that adjacent texts cannot be confused.
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
        match &self.additional {
            Some(additional) => format!("{own}+{}", additional.fingerprint()),
            None => own,
        }
    }

    /// Returns the reason why a tool, given by its server's own name, is not allowed; `None` if it
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

    /// Returns the reason why a URI or URI template, in exactly this spelling, is not allowed;
    /// `None` if it is.
    pub fn denies_resource(&self, server: ServerName<'_>, uri: &str) -> Option<Denial> {
        self.denies(&self.resources, server, uri, None)
    }

    /// Returns a denial if an entry, in its normalised spelling, forbids this normalised URI.
    pub fn forbids_plain(&self, server: ServerName<'_>, plain: &str) -> Option<Denial> {
        let rule = last_match(&self.plain_resources, server, plain, None)?;
        (!rule.allows()).then(|| self.denied(DenialReason::Forbidden(rule.text().into())))
    }

    /// Returns a denial if an entry forbids a template and is later than every entry that allows
    /// `uri`, which matches the template.
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
        let why = || DenialReason::Forbidden(rules[of_template].text().into());
        is_later.then(|| self.denied(why()))
    }

    /// Returns a denial if nothing on a server is allowed.
    pub fn denies_server(&self, server: ServerName<'_>) -> Option<Denial> {
        (!self.allows_any_of(server)).then(|| self.denied(DenialReason::ServerNotNamed))
    }

    /// Returns the denial of an item that entries cannot describe: a method, or a URI with an
    /// unclear meaning.
    pub fn denies_unknowable(&self) -> Denial {
        self.denied(DenialReason::Unknowable)
    }

    /// Returns true if no entry matches exactly this URI.
    pub fn is_silent_on_resource(&self, server: ServerName<'_>, uri: &str) -> bool {
        let rules = self.resources.as_deref().unwrap_or_default();
        last_match(rules, server, uri, None).is_none()
    }

    /// Returns true if the preset has a list of resources.
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
            Some(rule) => match rule.hint().filter(|hint| !hint.is_declared_by(tool)) {
                Some(hint) => DenialReason::ForbiddenWithoutHints(rule.text().into(), hint),
                None => DenialReason::Forbidden(rule.text().into()),
            },
            None if self.allows_any_of(server) => DenialReason::NotNamed,
            None => DenialReason::ServerNotNamed,
        };
        Some(self.denied(why))
    }

    fn denied(&self, why: DenialReason) -> Denial {
        Denial {
            source: DenialSource::Preset(self.id.clone()),
            why,
        }
    }

    /// Returns true if a list allows any item of the server. An entry that forbids all its items
    /// cancels the entries before it.
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
    /// Creates the set. `default` is the preset id of the default endpoint.
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

    /// Returns the preset with this id. An unknown id gives a preset that allows nothing, because a
    /// caller that names a preset wants a restriction.
    pub fn get(&self, id: &str) -> Arc<Preset> {
        let found = self.all.iter().find(|preset| &**preset.id() == id);
        found
            .cloned()
            .unwrap_or_else(|| Arc::new(Preset::nothing(id)))
    }

    /// Returns the preset for direct access to one server.
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
    /// Returns the key of the source in errors and events, and its name.
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
            DenialReason::Forbidden(rule) => write!(f, "`{rule}` of preset '{source}' forbids it"),
            DenialReason::ForbiddenWithoutHints(rule, hint) => write!(
                f,
                "`{rule}` of preset '{source}' forbids it: {}",
                hint.default_description()
            ),
            DenialReason::NotNamed => write!(f, "no entry of preset '{source}' allows it"),
            DenialReason::ServerNotNamed => {
                write!(f, "preset '{source}' allows nothing on its server")
            }
            DenialReason::Unknowable => write!(f, "preset '{source}' cannot allow it"),
            DenialReason::Excluded => write!(f, "`{source}` excludes it"),
            DenialReason::NotIncluded => write!(f, "`{source}` does not name it"),
        }
    }
}
