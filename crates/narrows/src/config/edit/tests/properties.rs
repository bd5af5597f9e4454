//! Property tests: for any document with any comments, an edit makes exactly the requested change
//! and leaves other bytes unchanged.

use std::fmt::Write;

use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};
use narrows_serve::admin::Change;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{EditError, edit};
use crate::config::syntax;

const IDS: [&str; 4] = ["a", "b/\"c\"", "ü", "new"];

/// The place of the servers in a document.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    McpServers,
    ServersById,
    ServersInList,
    McpxList,
    Nowhere,
}

impl Layout {
    fn key(self) -> &'static str {
        match self {
            Layout::McpServers | Layout::Nowhere => "mcpServers",
            Layout::ServersById | Layout::ServersInList => "servers",
            Layout::McpxList => "mcp_servers",
        }
    }

    fn named_by(self) -> Option<&'static str> {
        match self {
            Layout::ServersInList => Some("id"),
            Layout::McpxList => Some("name"),
            _ => None,
        }
    }
}

fn shape() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::McpServers),
        Just(Layout::ServersById),
        Just(Layout::ServersInList),
        Just(Layout::McpxList),
        Just(Layout::Nowhere),
    ]
}

fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/*,{}\\[\\]\"\\\\\n ü]{0,6}".prop_map(Value::from),
    ]
}

/// Generates a server entry. The keys that enable and disable the server hold booleans.
fn entry() -> impl Strategy<Value = Value> {
    let value = plain().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z]{1,3}", inner), 0..3).prop_map(|members| {
                let members: Map<String, Value> = members.into_iter().collect();
                Value::Object(members)
            }),
        ]
    });
    let switch = prop_oneof![
        4 => Just(Vec::new()),
        1 => any::<bool>().prop_map(|on| vec![("enabled", on)]),
        1 => any::<bool>().prop_map(|off| vec![("disabled", off)]),
        1 => any::<bool>().prop_map(|on| vec![("disabled", !on), ("enabled", on)]),
    ];
    let members = vec(("(command|args|env|url|x)", value), 0..4);
    (members, switch).prop_map(|(members, switch)| {
        let mut entry: Map<String, Value> = members.into_iter().collect();
        for (key, value) in switch {
            entry.insert(key.to_owned(), value.into());
        }
        Value::Object(entry)
    })
}

fn id() -> impl Strategy<Value = String> {
    proptest::sample::select(&IDS[..]).prop_map(str::to_owned)
}

fn change() -> impl Strategy<Value = Change> {
    let preset = || proptest::option::of(id());
    prop_oneof![
        (id(), entry()).prop_map(|(id, entry)| Change::AddServer { id, entry }),
        (id(), entry()).prop_map(|(id, entry)| Change::ReplaceServer { id, entry }),
        id().prop_map(|id| Change::RemoveServer { id }),
        (id(), any::<bool>()).prop_map(|(id, enabled)| Change::EnableServer { id, enabled }),
        (id(), entry()).prop_map(|(id, entry)| Change::PutPreset { id, entry }),
        id().prop_map(|id| Change::RemovePreset { id }),
        (id(), preset()).prop_map(|(endpoint, preset)| Change::SwitchPreset { endpoint, preset }),
    ]
}

/// Generates a document and the place of its servers.
fn document() -> impl Strategy<Value = (Layout, Value)> {
    let by_id = || vec((proptest::sample::select(&IDS[..3]), entry()), 0..4);
    let top = (shape(), by_id(), by_id(), by_id(), any::<u8>());
    top.prop_map(|(shape, servers, presets, endpoints, order)| {
        let map = |pairs: Vec<(&str, Value)>| -> Map<String, Value> {
            let pairs = pairs.into_iter();
            pairs.map(|(id, entry)| (id.to_owned(), entry)).collect()
        };
        let mut members = vec![
            ("listen".to_owned(), json!("127.0.0.1:0")),
            ("presets".to_owned(), Value::Object(map(presets))),
            ("endpoints".to_owned(), Value::Object(map(endpoints))),
        ];
        let servers = map(servers);
        let servers = match shape.named_by() {
            None => Value::Object(servers),
            Some(key) => {
                let named = |(id, entry): (String, Value)| named(key, &id, &entry);
                servers.into_iter().map(named).collect()
            }
        };
        if shape != Layout::Nowhere {
            members.push((shape.key().to_owned(), servers));
        }
        // Some members are missing, and any of them may come first.
        let turn = usize::from(order) % members.len();
        members.rotate_left(turn);
        if order > 200 {
            members.retain(|(key, _)| key != "presets" && key != "endpoints");
        }
        (shape, Value::Object(members.into_iter().collect()))
    })
}

fn named(key: &str, id: &str, entry: &Value) -> Value {
    let mut all = Map::new();
    all.insert(key.to_owned(), id.into());
    all.extend(entry.as_object().cloned().unwrap_or_default());
    Value::Object(all)
}

/// Writes a document with whitespace and comments at all places that allow them.
struct DocumentWriter {
    out: String,
    /// Random bytes, one consumed per decision from the end.
    choices: Vec<u8>,
    line_end: &'static str,
    comments: usize,
}

impl DocumentWriter {
    fn choose(&mut self) -> u8 {
        self.choices.pop().unwrap_or(0)
    }

    fn gap(&mut self) {
        let line_end = self.line_end;
        for _ in 0..self.choose() % 3 {
            match self.choose() % 8 {
                0 => self.out.push(' '),
                1 => self.out.push_str(line_end),
                2 => self.out.push_str("\t "),
                3 => {
                    self.comments += 1;
                    let _ = write!(self.out, "// <{}>, \" {{{line_end}", self.comments);
                }
                4 => {
                    self.comments += 1;
                    let _ = write!(self.out, "/* <{}>, }} */", self.comments);
                }
                5 => {
                    self.comments += 1;
                    let _ = write!(self.out, "/* <{}>{line_end} // [ */", self.comments);
                }
                _ => {}
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    self.gap();
                    let _ = write!(self.out, "{}", Value::from(key.as_str()));
                    self.gap();
                    self.out.push(':');
                    self.gap();
                    self.value(value);
                    self.comma(index + 1 == members.len());
                }
                self.gap();
                self.out.push('}');
            }
            Value::Array(elements) => {
                self.out.push('[');
                for (index, value) in elements.iter().enumerate() {
                    self.gap();
                    self.value(value);
                    self.comma(index + 1 == elements.len());
                }
                self.gap();
                self.out.push(']');
            }
            plain => {
                let _ = write!(self.out, "{plain}");
            }
        }
    }

    fn comma(&mut self, is_last: bool) {
        self.gap();
        if !is_last || self.choose() % 4 == 1 {
            self.out.push(',');
        }
    }
}

fn written(value: &Value, choices: Vec<u8>) -> String {
    let line_end = match choices.len() % 3 {
        0 => "\r\n",
        _ => "\n",
    };
    let mut writer = DocumentWriter {
        out: String::new(),
        choices,
        line_end,
        comments: 0,
    };
    writer.gap();
    writer.value(value);
    writer.gap();
    writer.out
}

fn read(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &syntax()).ok()?;
    parsed.value.map(|value| plain_value(&value))
}

fn plain_value(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::from(&*text.value),
        ast::Value::NumberLit(number) => number.value.parse().map_or(Value::Null, Value::Number),
        ast::Value::BooleanLit(literal) => Value::from(literal.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(plain_value).collect(),
        ast::Value::Object(object) => {
            let members = object.properties.iter().map(|property| {
                let key = match &property.name {
                    ObjectPropName::String(text) => text.value.to_string(),
                    ObjectPropName::Word(word) => word.value.to_owned(),
                };
                (key, plain_value(&property.value))
            });
            Value::Object(members.collect())
        }
    }
}

/// Applies the change to the value of a document.
fn changed(mut top: Value, shape: Layout, change: &Change) -> Result<Value, EditError> {
    let unknown = |kind, name: &str| EditError::Unknown {
        kind,
        name: name.to_owned(),
    };
    let presets = |top: &mut Value, key: &str| -> Map<String, Value> {
        let found = top[key].as_object().cloned();
        found.unwrap_or_default()
    };
    match change {
        Change::AddServer { id, entry } => {
            if server(&mut top, shape, id).is_some() {
                let (kind, name) = ("server", id.clone());
                return Err(EditError::Exists { kind, name });
            }
            match shape.named_by() {
                None => top[shape.key()][id] = entry.clone(),
                Some(key) => {
                    let servers = top[shape.key()].as_array_mut().expect("a list");
                    servers.push(named(key, id, entry));
                }
            }
        }
        Change::ReplaceServer { id, entry } => {
            let found = server(&mut top, shape, id).ok_or_else(|| unknown("server", id))?;
            *found = match shape.named_by() {
                None => entry.clone(),
                Some(key) => named(key, id, entry),
            };
        }
        Change::RemoveServer { id } => {
            server(&mut top, shape, id).ok_or_else(|| unknown("server", id))?;
            match &mut top[shape.key()] {
                Value::Object(servers) => {
                    servers.shift_remove(id);
                }
                Value::Array(servers) => {
                    let key = shape.named_by().expect("a list names its servers");
                    servers.retain(|server| server[key] != **id);
                }
                other => panic!("{other}"),
            }
        }
        Change::EnableServer { id, enabled } => {
            let found = server(&mut top, shape, id).ok_or_else(|| unknown("server", id))?;
            let found = found.as_object_mut().expect("servers are objects");
            let has_enabled = found.contains_key("enabled");
            if has_enabled {
                found.insert("enabled".to_owned(), (*enabled).into());
            }
            match found.get("disabled") {
                Some(Value::Bool(true)) if *enabled => {
                    found.shift_remove("disabled");
                }
                Some(_) if !*enabled => {
                    found.insert("disabled".to_owned(), true.into());
                }
                None if !*enabled && !has_enabled => {
                    found.insert("disabled".to_owned(), true.into());
                }
                _ => {}
            }
        }
        Change::PutPreset { id, entry } => {
            let mut all = presets(&mut top, "presets");
            all.insert(id.clone(), entry.clone());
            top["presets"] = Value::Object(all);
        }
        Change::RemovePreset { id } => {
            let mut all = presets(&mut top, "presets");
            all.shift_remove(id).ok_or_else(|| unknown("preset", id))?;
            top["presets"] = Value::Object(all);
        }
        Change::SwitchPreset { endpoint, preset } => match preset {
            Some(preset) => top["endpoints"][endpoint]["preset"] = preset.as_str().into(),
            None => {
                let found = top["endpoints"].get_mut(endpoint);
                if let Some(found) = found.and_then(Value::as_object_mut) {
                    found.shift_remove("preset");
                }
                // Indexing inserted null values.
                let top = top.as_object_mut().expect("an object");
                top.retain(|_, value| !value.is_null());
            }
        },
    }
    let top_members = top.as_object_mut().expect("an object");
    top_members.retain(|_, value| !value.is_null());
    Ok(top)
}

fn server<'a>(top: &'a mut Value, shape: Layout, id: &str) -> Option<&'a mut Value> {
    match top.get_mut(shape.key())? {
        Value::Object(servers) => servers.get_mut(id),
        Value::Array(servers) => {
            let key = shape.named_by()?;
            servers.iter_mut().find(|server| server[key] == *id)
        }
        _ => None,
    }
}

/// Returns changes that fit a document, each with its inverse. Empty objects and lists are left
/// out, because they lose their whitespace.
fn pairs(value: &Value, shape: Layout, id: &str, entry: &Value) -> Vec<(Change, Change)> {
    let id = id.to_owned();
    let mut pairs = Vec::new();
    let mut top = value.clone();
    let servers = value.get(shape.key());
    let has_others = servers.is_some_and(|servers| match servers {
        Value::Object(servers) => !servers.is_empty(),
        Value::Array(servers) => !servers.is_empty(),
        _ => false,
    });
    match server(&mut top, shape, &id) {
        Some(server) => {
            // `"disabled": false` becomes `true`, and the inverse change removes it.
            let says_disabled = server.get("disabled").is_some();
            if !says_disabled && server.get("enabled") != Some(&json!(false)) {
                let has_members = server.as_object().is_some_and(|server| !server.is_empty());
                if has_members {
                    let enable = |enabled| Change::EnableServer {
                        id: id.clone(),
                        enabled,
                    };
                    pairs.push((enable(false), enable(true)));
                }
            }
        }
        None if has_others => {
            let (id, entry) = (id.clone(), entry.clone());
            let add = Change::AddServer {
                id: id.clone(),
                entry,
            };
            pairs.push((add, Change::RemoveServer { id }));
        }
        None => {}
    }
    let presets = value.get("presets").and_then(Value::as_object);
    if presets.is_some_and(|presets| !presets.is_empty() && !presets.contains_key(&id)) {
        let (id, entry) = (id.clone(), entry.clone());
        let put = Change::PutPreset {
            id: id.clone(),
            entry,
        };
        pairs.push((put, Change::RemovePreset { id }));
    }
    let endpoint = value
        .get("endpoints")
        .and_then(|endpoints| endpoints.get(&id));
    if endpoint
        .and_then(Value::as_object)
        .is_some_and(|endpoint| !endpoint.is_empty())
    {
        let switch = |preset: Option<&str>| Change::SwitchPreset {
            endpoint: id.clone(),
            preset: preset.map(str::to_owned),
        };
        pairs.push((switch(Some("other")), switch(None)));
    }
    pairs
}

/// Returns the byte range of the entry that a change affects, if it exists.
fn edited_range(text: &str, shape: Layout, change: &Change) -> Option<std::ops::Range<usize>> {
    let (list, id) = match change {
        Change::AddServer { id, .. }
        | Change::ReplaceServer { id, .. }
        | Change::RemoveServer { id }
        | Change::EnableServer { id, .. } => (shape.key(), id),
        Change::PutPreset { id, .. } | Change::RemovePreset { id } => ("presets", id),
        Change::SwitchPreset { endpoint, .. } => ("endpoints", endpoint),
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &syntax()).ok()?;
    let top = parsed.value?;
    match &top.as_object()?.get(list)?.value {
        ast::Value::Object(object) => {
            let property = object.get(id)?;
            Some(property.start()..property.end())
        }
        ast::Value::Array(array) => {
            let key = shape.named_by()?;
            let mut elements = array.elements.iter();
            let found = elements.find(|element| plain_value(element)[key] == **id)?;
            Some(found.start()..found.end())
        }
        _ => None,
    }
}

/// Returns the numbers of the comments in a text, in order.
fn comments(text: &str) -> Vec<&str> {
    let numbered = text.match_indices('<');
    let number = |(at, _): (usize, &str)| {
        let end = text[at..].find('>')?;
        text.get(at..=at + end)
    };
    numbered.filter_map(number).collect()
}

/// Removes whitespace, which an empty object may lose.
fn bare(text: &str) -> String {
    text.replace([' ', '\t', '\r', '\n'], "")
}

fn is_within(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|wanted| rest.any(|found| found == wanted))
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1_000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn edit_applies_the_change_and_keeps_other_bytes(
        (shape, value) in document(),
        change in change(),
        choices in vec(any::<u8>(), 0..400),
    ) {
        let text = written(&value, choices);
        prop_assert_eq!(read(&text), Some(value.clone()), "the pen writes the given value");
        let edited = edit(&text, &change);
        let expected = changed(value, shape, &change);
        let (edited, expected) = match (edited, expected) {
            (Ok(edited), Ok(expected)) => (edited, expected),
            (edited, expected) => {
                prop_assert_eq!(edited.err(), expected.err());
                return Ok(());
            }
        };
        prop_assert_eq!(read(&edited), Some(expected), "{}", edited);
        let range = edited_range(&text, shape, &change);
        let removes = matches!(
            change,
            Change::RemoveServer { .. } | Change::RemovePreset { .. }
        );
        match range {
            Some(range) if !removes => {
                prop_assert!(edited.starts_with(&text[..range.start]), "{}", edited);
                prop_assert!(edited.ends_with(&text[range.end..]), "{}", edited);
            }
            Some(range) => {
                let outside = [&text[..range.start], &text[range.end..]].concat();
                prop_assert_eq!(comments(&outside), comments(&edited));
                prop_assert!(is_within(&edited, &outside), "{}", edited);
                // Besides the entry, only one comma and its line are removed.
                prop_assert!(bare(&outside).len() <= bare(&edited).len() + 1);
            }
            None => {
                prop_assert_eq!(comments(&text), comments(&edited));
                prop_assert!(is_within(&bare(&text), &bare(&edited)), "{}", edited);
            }
        }
    }

    #[test]
    fn add_then_remove_restores_the_text(
        (_, value) in document(),
        entry in entry(),
        choices in vec(any::<u8>(), 0..400),
    ) {
        let text = written(&value, choices);
        let id = "new".to_owned();
        let add = Change::AddServer { id: id.clone(), entry };
        let added = edit(&text, &add).expect("there is no such server yet");
        let again = edit(&added, &Change::RemoveServer { id }).expect("it was just added");
        let mut left = read(&again).expect("it is JSON");
        // A container created for the server stays.
        if value.get("mcpServers").is_none() && left["mcpServers"] == json!({}) {
            left.as_object_mut().expect("an object").shift_remove("mcpServers");
        }
        prop_assert_eq!(left, value);
        prop_assert_eq!(comments(&text), comments(&again));
    }

    #[test]
    fn inverse_edit_restores_the_original_bytes(
        (shape, value) in document(),
        id in id(),
        entry in entry(),
        choices in vec(any::<u8>(), 0..400),
    ) {
        // A member added before a multi-line comment shares its line, and the comment stays on that
        // line.
        let text = written(&value, choices);
        let text = text.replace("\r\n // [ */", " */").replace("\n // [ */", " */");
        for (change, inverse) in pairs(&value, shape, &id, &entry) {
            let changed = edit(&text, &change).expect("the change fits the document");
            let again = edit(&changed, &inverse).expect("the inverse fits what was changed");
            prop_assert_eq!(&again, &text, "{:?} made {}", change, changed);
        }
    }

    /// Other programs read the file too, and some of them do not accept trailing commas.
    #[test]
    fn plain_json_stays_plain_json((_, value) in document(), change in change(), lines: bool) {
        let text = match lines {
            true => serde_json::to_string_pretty(&value),
            false => serde_json::to_string(&value),
        };
        let text = text.expect("a value is JSON");
        if let Ok(edited) = edit(&text, &change) {
            let plain: Result<Value, _> = serde_json::from_str(&edited);
            prop_assert!(plain.is_ok(), "{}", edited);
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(
        text in "([{}\\[\\],:\"/*\\\\ \n\r\tü]|//|/\\*|\\*/|\"mcpServers\": ?|\"a\": ?|\\{|\\}|null|1|\u{feff}){0,40}",
        change in change(),
    ) {
        if let Ok(edited) = edit(&text, &change) {
            prop_assert!(read(&edited).is_some(), "{}", edited);
        }
    }
}
