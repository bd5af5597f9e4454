//! Configuration values that have more than one form.

use jsonc_parser::ast::BooleanLit;
use narrows_gateway::preset::{Hint, Rule, RuleError};

use super::{RawHealth, RawRate, RawSelected, RawServer, RawShape, RawTool};
use crate::config::problem::{At, Problems};
use crate::config::read::{Field, Given, Map, Node, Read, read_list, unknown_word};
use crate::nearest::nearest;

/// `false` disables shaping, an object sets it, and `true` enables it with the default settings.
#[derive(Debug)]
pub(crate) enum Shape {
    Off,
    On(Box<RawShape>),
}

impl Read for Shape {
    const EXPECTED: &'static str = "true, false or an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(literal) = node.value.as_boolean_lit() {
            return Some(match literal.value {
                true => Shape::On(Box::default()),
                false => Shape::Off,
            });
        }
        if node.value.as_object().is_none() {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        }
        RawShape::read(node, problems).map(|shape| Shape::On(Box::new(shape)))
    }
}

/// `false` disables health checks, an object sets them, and `true` enables them with the default
/// settings.
#[derive(Debug)]
pub(crate) enum Health {
    Off,
    On(RawHealth),
}

impl Read for Health {
    const EXPECTED: &'static str = "true, false or an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(literal) = node.value.as_boolean_lit() {
            return Some(match literal.value {
                true => Health::On(RawHealth::default()),
                false => Health::Off,
            });
        }
        if node.value.as_object().is_none() {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        }
        RawHealth::read(node, problems).map(Health::On)
    }
}

/// A request rate: requests per minute, or that and a burst size.
#[derive(Debug)]
pub(crate) enum RateChoice {
    PerMinute(usize),
    Both(RawRate),
}

impl Read for RateChoice {
    const EXPECTED: &'static str = "a number or an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if node.value.as_number_lit().is_some() {
            return usize::read(node, problems).map(RateChoice::PerMinute);
        }
        if node.members().is_none() {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        }
        RawRate::read(node, problems).map(RateChoice::Both)
    }
}

/// The program, followed by its first arguments if it is written as an array.
#[derive(Debug)]
pub(crate) struct RawCommand(pub(crate) Vec<Given<String>>);

impl Read for RawCommand {
    const EXPECTED: &'static str = "a string or an array of strings";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(text) = node.text() {
            let (value, at) = (text.to_owned(), node.at.clone());
            return Some(RawCommand(vec![Given { value, at }]));
        }
        read_list(node, Self::EXPECTED, problems).map(RawCommand)
    }
}

/// The transport of a server. Case, `-` and `_` are ignored, because clients spell the same words
/// differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportWord {
    Stdio,
    Http,
    Sse,
    WebSocket,
    Rpc,
    Builtin,
}

impl Read for TransportWord {
    const EXPECTED: &'static str = "a string";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        const WORDS: &[&str] = &["stdio", "http", "sse", "ws", "rpc", "builtin"];
        let mut word = node.text().unwrap_or_default().to_ascii_lowercase();
        word.retain(|c| !matches!(c, '-' | '_'));
        Some(match word.as_str() {
            // Copilot CLI and OpenCode write `local`.
            "stdio" | "local" => TransportWord::Stdio,
            "http" | "streamablehttp" | "httpstream" => TransportWord::Http,
            "sse" | "httpsse" => TransportWord::Sse,
            "ws" | "websocket" => TransportWord::WebSocket,
            "rpc" => TransportWord::Rpc,
            "builtin" => TransportWord::Builtin,
            _ => {
                unknown_word(node, "transport", WORDS, problems);
                return None;
            }
        })
    }
}

/// Settings per tool, or the list of allowed tools.
#[derive(Debug)]
pub(crate) enum RawTools {
    Settings(Map<RawTool>),
    Allowed(Vec<Given<String>>),
}

impl Read for RawTools {
    const EXPECTED: &'static str = "an object or an array of strings";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if node.members().is_some() {
            return Map::read(node, problems).map(RawTools::Settings);
        }
        read_list(node, Self::EXPECTED, problems).map(RawTools::Allowed)
    }
}

#[derive(Debug)]
pub(crate) enum InheritEnv {
    Usual,
    All,
    Named(Vec<String>),
}

impl Read for InheritEnv {
    const EXPECTED: &'static str = "true, false or an array of names";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(literal) = node.value.as_boolean_lit() {
            return Some(if literal.value {
                InheritEnv::All
            } else {
                InheritEnv::Usual
            });
        }
        let names: Vec<Given<String>> = read_list(node, Self::EXPECTED, problems)?;
        Some(InheritEnv::Named(
            names.into_iter().map(|name| name.value).collect(),
        ))
    }
}

/// The preset to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PresetChoice {
    /// No preset, so that everything is allowed.
    Free,
    Named(String),
}

impl Read for PresetChoice {
    const EXPECTED: &'static str = "the id of a preset, false or null";
    const NULL_IS_VALUE: bool = true;

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let is_false = |value: &BooleanLit| !value.value;
        if node.is_null() || node.value.as_boolean_lit().is_some_and(is_false) {
            return Some(PresetChoice::Free);
        }
        let id = node.text().map(str::to_owned);
        if id.is_none() {
            node.wrong_type(Self::EXPECTED, problems);
        }
        id.map(PresetChoice::Named)
    }
}

/// The entries of a preset, in order: patterns `server/tool`, or objects with exact names.
#[derive(Debug)]
pub(crate) struct Selection(pub(crate) Vec<Given<Selected>>);

impl Read for Selection {
    const EXPECTED: &'static str = "an array of patterns or objects";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        read_list(node, Self::EXPECTED, problems).map(Selection)
    }
}

#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) rule: Rule,
    /// The server and key of an entry written as an object. A pattern holds both in one text.
    pub(crate) exact: Option<Exact>,
}

#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) server: String,
    /// The key of the item, which determines the list that the entry belongs to.
    pub(crate) key: Given<&'static str>,
}

impl Read for Selected {
    const EXPECTED: &'static str = "a pattern or an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(text) = node.text() {
            let rule = match Rule::parse(text) {
                Ok(rule) => rule,
                Err(bad) => {
                    not_a_rule(node, &bad, problems);
                    return None;
                }
            };
            return Some(Selected { rule, exact: None });
        }
        if node.members().is_none() {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        }
        exact(&RawSelected::read(node, problems)?, node, problems)
    }
}

fn exact(raw: &RawSelected, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Selected> {
    let items = [
        ("toolName", &raw.tool_name),
        ("promptName", &raw.prompt_name),
        ("resourceKey", &raw.resource_key),
    ];
    let mut there = items.into_iter().filter(|(_, item)| !item.is_absent());
    let (item, another) = (there.next(), there.next());
    if raw.server_id.is_absent() || item.is_none() || another.is_some() {
        let help = "write {\"serverId\": \"...\", \"toolName\": \"...\"}";
        problems.error(&node.at, "an entry must name one server and one item", help);
        return None;
    }
    let (value, item) = item?;
    let (server, item) = (raw.server_id.value()?, item.given()?);
    let enabled = match &raw.enabled {
        Field::Absent => true,
        Field::Given(given) => given.value,
        Field::Bad => return None,
    };
    let at = item.at.clone();
    let exact = Exact {
        server: server.clone(),
        key: Given { value, at },
    };
    Some(Selected {
        rule: Rule::exact(server, &item.value, enabled),
        exact: Some(exact),
    })
}

fn not_a_rule(node: &Node<'_>, bad: &RuleError, problems: &mut Problems<'_>) {
    match bad {
        RuleError::NoPattern(pattern) => {
            let help = "write server/tool; * matches any text in either part";
            problems.error(
                &node.at,
                format!("`{pattern}` is not a valid pattern"),
                help,
            );
        }
        RuleError::NoHint(word) => {
            let words = || Hint::WORDS.into_iter();
            let all: Vec<String> = words().map(|word| format!("@{word}")).collect();
            let mut help = format!("use one of {}", all.join(", "));
            if let Some(near) = nearest(word, words()) {
                help = format!("did you mean `@{near}`? Otherwise {help}");
            }
            problems.error(&node.at, format!("`@{word}` is not a known hint"), help);
        }
    }
}

/// A recognised value that is not read.
#[derive(Debug)]
pub(crate) struct AnyValue;

impl Read for AnyValue {
    const EXPECTED: &'static str = "anything";

    fn read(_: &Node<'_>, _: &mut Problems<'_>) -> Option<Self> {
        Some(AnyValue)
    }
}

/// A server and its id. An unreadable server keeps its id, so that duplicates are still found.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Given<String>,
    /// The position of the server as a whole.
    pub(crate) at: At,
    pub(crate) server: Option<RawServer>,
}

/// Servers by id.
#[derive(Debug)]
pub(crate) struct ServersById(pub(crate) Vec<Entry>);

impl Read for ServersById {
    const EXPECTED: &'static str = "an object with a server under each id";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let Some(members) = node.members() else {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        };
        let mut entries = Vec::new();
        for member in members {
            problems.server = Some(member.key.clone());
            let server = RawServer::read(&member.value, problems);
            problems.server = None;
            let (value, at) = (member.key, member.key_at.clone());
            let id = Given { value, at };
            let at = member.key_at;
            entries.push(Entry { id, at, server });
        }
        Some(ServersById(entries))
    }
}

/// A list of servers, each with its own id.
#[derive(Debug)]
pub(crate) struct ServersInList(pub(crate) Vec<Entry>);

impl Read for ServersInList {
    const EXPECTED: &'static str = "an array of servers";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let Some(elements) = node.elements() else {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        };
        let mut entries = Vec::new();
        for element in elements {
            let id = id_of(&element);
            problems.server = id.as_ref().map(|id| id.value.clone());
            let server = RawServer::read(&element, problems);
            problems.server = None;
            match (id, &server) {
                (Some(id), _) => {
                    let at = element.at;
                    entries.push(Entry { id, at, server });
                }
                (None, Some(server)) if server.id.is_absent() && server.name.is_absent() => {
                    problems.error(&element.at, "a server without an id", "add \"id\": \"...\"");
                }
                // The wrong type has already been reported.
                (None, _) => {}
            }
        }
        Some(ServersInList(entries))
    }
}

fn id_of(node: &Node<'_>) -> Option<Given<String>> {
    let member = |key| node.members()?.find(|member| member.key == key);
    let found = member("id")
        .filter(|id| !id.value.is_null())
        .or_else(|| member("name"))?;
    let (value, at) = (found.value.text()?.to_owned(), found.value.at.clone());
    Some(Given { value, at })
}

/// Either form: the object that VS Code writes, or a list.
#[derive(Debug)]
pub(crate) struct Servers(pub(crate) Vec<Entry>);

impl Read for Servers {
    const EXPECTED: &'static str = "an object or an array of servers";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if node.members().is_some() {
            ServersById::read(node, problems).map(|servers| Servers(servers.0))
        } else if node.elements().is_some() {
            ServersInList::read(node, problems).map(|servers| Servers(servers.0))
        } else {
            node.wrong_type(Self::EXPECTED, problems);
            None
        }
    }
}
