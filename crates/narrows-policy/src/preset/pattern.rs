//! A single entry of a preset.

use narrows_wire::Raw;

use super::ServerName;
use crate::names;
use crate::uri;

/// A pattern `server/item`, where `*` matches any text in either part. Patterns are case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Box<str>);

/// A hint from a tool's `annotations`. Absent hints have the defaults of the MCP specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    ReadOnly,
    /// Any tool that is not read-only, unless its server declares otherwise.
    Destructive,
    Idempotent,
    /// Any tool, unless its server declares otherwise.
    OpenWorld,
}

/// One entry: a selection of items, and whether it allows or forbids them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: Box<str>,
    allows: bool,
    target: RuleTarget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleTarget {
    Pattern(Pattern),
    Exact {
        server: Box<str>,
        item: Box<str>,
    },
    Hint {
        /// A pattern that matches only the server.
        server: Box<str>,
        hint: Hint,
    },
}

/// The reason why a text is not a valid entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("`{0}` is not a pattern: use server/item, where * matches any text in either part")]
    NoPattern(String),
    #[error("`@{0}` is not a hint: use one of {words}", words = Hint::WORDS.join(", "))]
    NoHint(String),
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern, RuleError> {
        let parts = text.split_once('/');
        if parts.is_none_or(|(server, item)| server.is_empty() || item.is_empty()) {
            return Err(RuleError::NoPattern(text.to_owned()));
        }
        Ok(Pattern(text.into()))
    }

    pub fn matches(&self, server: ServerName<'_>, name: &str) -> bool {
        let mut splits = self.splits();
        splits.any(|(own, item)| server.fits(own) && fits(item, name))
    }

    fn names_server(&self, server: ServerName<'_>) -> bool {
        self.splits().any(|(own, _)| server.fits(own))
    }

    fn names_all_of(&self, server: ServerName<'_>) -> bool {
        let all = |item: &str| item.bytes().all(|byte| byte == b'*');
        let mut splits = self.splits();
        splits.any(|(own, item)| !item.is_empty() && all(item) && server.fits(own))
    }

    /// Returns the pattern for normalised URIs.
    fn plain(&self) -> Pattern {
        let absolute = |(_, item): &(&str, &str)| uri::is_absolute(item);
        let split = self.splits().find(absolute).or(self.splits().next());
        match split {
            Some((server, item)) => {
                Pattern(format!("{server}/{}", uri::plain_pattern(item)).into())
            }
            None => self.clone(),
        }
    }

    /// Returns every way to split the pattern, because both server ids and item names may contain
    /// slashes.
    fn splits(&self) -> impl Iterator<Item = (&str, &str)> {
        let splits = self.0.match_indices('/');
        splits.map(|(at, _)| (&self.0[..at], &self.0[at + 1..]))
    }
}

impl Hint {
    /// The names of the hints, as written after `@`.
    pub const WORDS: [&str; 4] = ["readonly", "destructive", "idempotent", "open_world"];

    fn parse(word: &str) -> Option<Hint> {
        match word {
            "readonly" | "read_only" => Some(Hint::ReadOnly),
            "destructive" => Some(Hint::Destructive),
            "idempotent" => Some(Hint::Idempotent),
            "open_world" | "openworld" => Some(Hint::OpenWorld),
            _ => None,
        }
    }

    /// Describes the default that applies because the server does not declare the hint.
    pub(super) fn default_description(self) -> &'static str {
        match self {
            Hint::ReadOnly => "its server does not declare it read-only",
            Hint::Destructive => "its server declares no hint, so it counts as destructive",
            Hint::Idempotent => "its server does not declare it idempotent",
            Hint::OpenWorld => "its server declares no hint, so it counts as open world",
        }
    }

    /// Returns true if the tool has an annotation that decides this hint.
    pub(super) fn is_declared_by(self, tool: Option<&Raw>) -> bool {
        let members: &[&str] = match self {
            Hint::ReadOnly => &["readOnlyHint"],
            Hint::Destructive => &["readOnlyHint", "destructiveHint"],
            Hint::Idempotent => &["readOnlyHint", "idempotentHint"],
            Hint::OpenWorld => &["openWorldHint"],
        };
        let annotations = tool.and_then(|tool| tool.member("annotations"));
        annotations.is_some_and(|said| members.iter().any(|name| said.member(name).is_some()))
    }

    /// Returns true if the hint applies to a tool as its server listed it.
    fn is_true_of(self, tool: &Raw) -> bool {
        let annotations = tool.member("annotations");
        let said = |name: &str| {
            let value = annotations.as_ref()?.member(name)?;
            match value.as_bytes() {
                b"true" => Some(true),
                b"false" => Some(false),
                _ => None,
            }
        };
        let read_only = said("readOnlyHint").unwrap_or(false);
        match self {
            Hint::ReadOnly => read_only,
            Hint::Destructive => !read_only && said("destructiveHint").unwrap_or(true),
            Hint::Idempotent => read_only || said("idempotentHint").unwrap_or(false),
            Hint::OpenWorld => said("openWorldHint").unwrap_or(true),
        }
    }
}

impl Rule {
    /// Parses `server/item`, `@hint` or `server/@hint`. With a leading `!`, the entry forbids what
    /// it matches.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let (allows, body) = match text.strip_prefix('!') {
            Some(body) => (false, body),
            None => (true, text),
        };
        let target = match hinted(body) {
            Some((server, word)) => RuleTarget::Hint {
                server: server.into(),
                hint: Hint::parse(word).ok_or_else(|| RuleError::NoHint(word.to_owned()))?,
            },
            None => RuleTarget::Pattern(Pattern::parse(body)?),
        };
        Ok(Rule {
            text: text.into(),
            allows,
            target,
        })
    }

    /// Creates an entry for exactly this item, without wildcards.
    pub fn exact(server: &str, item: &str, enabled: bool) -> Rule {
        let mark = if enabled { "" } else { "!" };
        Rule {
            text: format!("{mark}{server}/{item}").into(),
            allows: enabled,
            target: RuleTarget::Exact {
                server: server.into(),
                item: item.into(),
            },
        }
    }

    /// Returns the entry as written in a list.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn allows(&self) -> bool {
        self.allows
    }

    /// Returns true if the entry selects tools by a hint. Prompts and resources have no hints.
    pub fn is_hint(&self) -> bool {
        self.hint().is_some()
    }

    pub(super) fn hint(&self) -> Option<Hint> {
        match self.target {
            RuleTarget::Hint { hint, .. } => Some(hint),
            RuleTarget::Pattern(_) | RuleTarget::Exact { .. } => None,
        }
    }

    /// Returns the entry for normalised URIs, with the same text.
    pub(super) fn plain(&self) -> Rule {
        let target = match &self.target {
            RuleTarget::Pattern(pattern) => RuleTarget::Pattern(pattern.plain()),
            RuleTarget::Exact { server, item } => RuleTarget::Exact {
                server: server.clone(),
                item: uri::plain(item).into(),
            },
            hint @ RuleTarget::Hint { .. } => hint.clone(),
        };
        Rule {
            target,
            ..self.clone()
        }
    }

    /// Returns the parts that identify an entry, because the text alone is ambiguous.
    pub(super) fn parts(&self) -> [&str; 4] {
        let verb = if self.allows { "allow" } else { "forbid" };
        match &self.target {
            RuleTarget::Exact { server, item } => [verb, "exact", server, item],
            RuleTarget::Pattern(_) | RuleTarget::Hint { .. } => [verb, "written", &self.text, ""],
        }
    }

    pub(super) fn matches(&self, server: ServerName<'_>, name: &str, tool: Option<&Raw>) -> bool {
        match &self.target {
            RuleTarget::Pattern(pattern) => pattern.matches(server, name),
            RuleTarget::Exact { server: own, item } => server.is(own) && **item == *name,
            RuleTarget::Hint { server: own, hint } => {
                // For an unlisted tool, only the default hints apply.
                let unlisted = Raw::empty_object();
                server.fits(own) && hint.is_true_of(tool.unwrap_or(&unlisted))
            }
        }
    }

    /// Returns true if the entry can match an item of any of these servers, which must be all
    /// servers.
    pub fn names_any_of(&self, ids: &[&str]) -> bool {
        let slugs = names::slugs(ids);
        let mut servers = ids.iter().zip(&slugs);
        servers.any(|(id, slug)| self.names_server(ServerName { id, slug }))
    }

    /// Returns true if the entry can match an item of this server.
    pub(super) fn names_server(&self, server: ServerName<'_>) -> bool {
        match &self.target {
            RuleTarget::Pattern(pattern) => pattern.names_server(server),
            RuleTarget::Exact { server: own, .. } => server.is(own),
            RuleTarget::Hint { server: own, .. } => server.fits(own),
        }
    }

    /// Returns true if the entry matches all items of this server.
    pub(super) fn names_all_of(&self, server: ServerName<'_>) -> bool {
        match &self.target {
            RuleTarget::Pattern(pattern) => pattern.names_all_of(server),
            RuleTarget::Exact { .. } | RuleTarget::Hint { .. } => false,
        }
    }
}

impl ServerName<'_> {
    fn is(self, name: &str) -> bool {
        self.id == name || self.slug == name
    }

    fn fits(self, pattern: &str) -> bool {
        fits(pattern, self.id) || fits(pattern, self.slug)
    }
}

/// Returns the server and the hint of an entry `@hint` or `server/@hint`. An `@` inside a URI or
/// before a further slash is part of a name.
fn hinted(body: &str) -> Option<(&str, &str)> {
    let (front, word) = match body.strip_prefix('@') {
        Some(word) => ("*/", word),
        None => body.split_at(body.rfind("/@")? + 1),
    };
    let word = word.strip_prefix('@').unwrap_or(word);
    let server = front.strip_suffix('/')?;
    let is_hint = !word.contains('/') && !server.is_empty() && !front.contains("://");
    is_hint.then_some((server, word))
}

/// Returns true if `text` matches `pattern`, in which `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, mut rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    // Matching the text between two stars as early as possible leaves the most text for the rest.
    while let Some((literal, behind)) = rest.split_once('*') {
        match text.find(literal) {
            Some(at) => text = &text[at + literal.len()..],
            None => return false,
        }
        rest = behind;
    }
    text.ends_with(rest)
}
