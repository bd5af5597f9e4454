//! Values of the configuration file that can be written in more than one way.

use super::{RawSelected, RawServer, RawShape};
use crate::config::problem::{At, Problems};
use crate::config::read::{Given, Node, Read, read_list};

/// `false` for off, or what to do; `true` says nothing more than that.
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

/// The program and, where it is written as an array, its first arguments.
#[derive(Debug)]
pub(crate) struct Command(pub(crate) Vec<Given<String>>);

impl Read for Command {
    const EXPECTED: &'static str = "a string or an array of strings";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        if let Some(text) = node.text() {
            let (value, at) = (text.to_owned(), node.at.clone());
            return Some(Command(vec![Given { value, at }]));
        }
        read_list(node, Self::EXPECTED, problems).map(Command)
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

/// Entries of a preset: patterns `server/tool`, or exact ones as objects.
#[derive(Debug)]
pub(crate) struct Selection;

impl Read for Selection {
    const EXPECTED: &'static str = "an array of patterns or objects";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        read_list::<Selected>(node, Self::EXPECTED, problems).map(|_| Selection)
    }
}

struct Selected;

impl Read for Selected {
    const EXPECTED: &'static str = "a pattern or an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let Some(pattern) = node.text() else {
            if node.members().is_none() {
                node.wrong_type(Self::EXPECTED, problems);
                return None;
            }
            let selected = RawSelected::read(node, problems)?;
            if selected.server_id.is_absent() || selected.item.is_absent() {
                let help = "write {\"serverId\": \"...\", \"toolName\": \"...\"}";
                problems.error(&node.at, "an entry names a server and an item", help);
            }
            return Some(Selected);
        };
        let parts = pattern.trim_start_matches('!').split_once('/');
        if parts.is_none_or(|(server, item)| server.is_empty() || item.is_empty()) {
            let help = "write server/tool; * stands for anything inside either part";
            problems.error(&node.at, format!("`{pattern}` is no pattern"), help);
        }
        Some(Selected)
    }
}

/// Recognised but not looked into.
#[derive(Debug)]
pub(crate) struct Anything;

impl Read for Anything {
    const EXPECTED: &'static str = "anything";

    fn read(_: &Node<'_>, _: &mut Problems<'_>) -> Option<Self> {
        Some(Anything)
    }
}

/// A server and what it is called. One that could not be read at all is kept
/// by name, so that a second one of the same name is still found.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Given<String>,
    /// The place of the server as a whole.
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

/// Servers one after the other, each saying its own id.
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
                // Its type is wrong, which has been said.
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

/// Either form: VS Code's object or a list.
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
