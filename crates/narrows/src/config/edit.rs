//! Edits the text of the configuration file to make an operator's change. Comments, order,
//! indentation, line ends and trailing commas written by the user stay unchanged.
//!
//! [`edit`] is the entry point. This module knows the place of each setting in the configuration;
//! `document.rs` replaces one place of a text without touching the others. Edits are not validated
//! here: the check does that for the resulting text. Values are written unchanged, including
//! `${VAR}`.

mod document;
mod print;
#[cfg(test)]
mod tests;

use narrows_serve::admin::Change;
use serde_json::{Map, Value};

use document::{Document, Kind, Step};

/// The reason why a change cannot be made in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditError {
    /// The item to change does not exist.
    Unknown { kind: &'static str, name: String },
    /// The item to add already exists.
    Exists { kind: &'static str, name: String },
    /// The text or the given value has an unsuitable form.
    Unusable(String),
}

/// Returns the text with the change made.
pub(crate) fn edit(text: &str, change: &Change) -> Result<String, EditError> {
    let mut document = Document::parse(text)?;
    match change {
        Change::AddServer { id, entry } => add_server(&mut document, id, entry)?,
        Change::ReplaceServer { id, entry } => replace_server(&mut document, id, entry)?,
        Change::RemoveServer { id } => {
            let server = find_server(&document, id)?;
            document.remove(&[server.list.into()], server.at);
        }
        Change::EnableServer { id, enabled } => enable_server(&mut document, id, *enabled)?,
        Change::PutPreset { id, entry } => put_preset(&mut document, id, entry)?,
        Change::RemovePreset { id } => {
            let index = document.position(&[PRESETS.into()], id);
            let index = index.ok_or_else(|| unknown("preset", id))?;
            document.remove(&[PRESETS.into()], index);
        }
        Change::SwitchPreset { endpoint, preset } => {
            switch_preset(&mut document, endpoint, preset.as_deref())?;
        }
    }
    Ok(document.into_text())
}

/// Returns the text of a preset file with `entry` in it. An invalid file is replaced as a whole.
pub(crate) fn preset_file(text: &str, entry: &Value) -> Result<String, EditError> {
    let entry = members(entry, "a preset")?;
    let parsed = Document::parse(text).or_else(|_| Document::parse("{\n}\n"));
    let mut document = parsed?;
    make(&mut document, &[], entry);
    Ok(document.into_text())
}

/// Returns true if the text itself defines the preset.
pub(crate) fn has_preset(text: &str, id: &str) -> bool {
    let document = Document::parse(text);
    document.is_ok_and(|document| document.position(&[PRESETS.into()], id).is_some())
}

const PRESETS: &str = "presets";
const ENDPOINTS: &str = "endpoints";

/// The keys that hold servers, and the key that names a server if they hold a list.
const SERVERS: [(&str, &str); 3] = [
    ("mcpServers", "id"),
    ("servers", "id"),
    ("mcp_servers", "name"),
];

/// The keys that name a server in a list, in the order in which the check tries them.
const NAMED_BY: [&str; 2] = ["id", "name"];

/// The maximum number of members to change one by one, more than handwritten entries have. Each
/// change parses the whole text.
const MOST_MEMBERS: usize = 64;

/// The position of a server.
struct ServerPlace {
    list: &'static str,
    at: usize,
    /// The key that names the server if it is in a list.
    named_by: Option<&'static str>,
}

impl ServerPlace {
    fn path(&self) -> [Step<'static>; 2] {
        [Step::Key(self.list), Step::At(self.at)]
    }
}

fn find_server(document: &Document, id: &str) -> Result<ServerPlace, EditError> {
    for (list, _) in SERVERS {
        let found = match document.kind(&[list.into()]) {
            Some(Kind::Object) => {
                let at = document.position(&[list.into()], id);
                at.map(|at| (at, None))
            }
            Some(Kind::Array) => {
                let names = document.names(&[list.into()], &NAMED_BY);
                let mut names = names.into_iter().enumerate();
                names.find_map(|(at, name)| {
                    let (named_by, _) = name.filter(|(_, name)| name == id)?;
                    Some((at, Some(named_by)))
                })
            }
            _ => None,
        };
        if let Some((at, named_by)) = found {
            return Ok(ServerPlace { list, at, named_by });
        }
    }
    Err(unknown("server", id))
}

fn add_server(document: &mut Document, id: &str, entry: &Value) -> Result<(), EditError> {
    let entry = members(entry, "a server")?;
    if find_server(document, id).is_ok() {
        return Err(EditError::Exists {
            kind: "server",
            name: id.to_owned(),
        });
    }
    let place = |&(list, usual): &(&'static str, &'static str)| {
        let kind = document.kind(&[list.into()])?;
        (kind != Kind::Null).then_some((list, usual, kind))
    };
    match SERVERS.iter().find_map(place) {
        // An entry in an object is named only by its key.
        None => {
            let servers = object(document, &[], SERVERS[0].0)?;
            document.set(&servers, id, &Value::Object(entry.clone()));
        }
        Some((list, _, Kind::Object)) => {
            document.set(&[list.into()], id, &Value::Object(entry.clone()));
        }
        Some((list, usual, Kind::Array)) => {
            let last = document.names(&[list.into()], &NAMED_BY).pop().flatten();
            let named_by = last.map_or(usual, |(named_by, _)| named_by);
            // If the entry has a `name`, it is a display name or selects a built-in server, so the
            // id needs another key.
            let named_by = match entry.contains_key("name") {
                true => "id",
                false => named_by,
            };
            document.push(&[list.into()], &named(named_by, id, entry));
        }
        Some((list, ..)) => {
            let message = format!("`{list}` is neither an object nor an array");
            return Err(EditError::Unusable(message));
        }
    }
    Ok(())
}

fn replace_server(document: &mut Document, id: &str, entry: &Value) -> Result<(), EditError> {
    let entry = members(entry, "a server")?;
    let server = find_server(document, id)?;
    let path = server.path();
    match server.named_by {
        None => make(document, &path, entry),
        Some(named_by) => {
            let named_by = match entry.contains_key("name") {
                true => "id",
                false => named_by,
            };
            if let Value::Object(entry) = named(named_by, id, entry) {
                make(document, &path, &entry);
            }
        }
    }
    Ok(())
}

/// Returns an entry for a list, with its name first.
fn named(named_by: &str, id: &str, entry: &Map<String, Value>) -> Value {
    let mut all = Map::new();
    all.insert(named_by.to_owned(), id.into());
    for (key, value) in entry.iter().filter(|(key, _)| *key != "id") {
        all.insert(key.clone(), value.clone());
    }
    Value::Object(all)
}

fn enable_server(document: &mut Document, id: &str, enabled: bool) -> Result<(), EditError> {
    let server = find_server(document, id)?;
    let path = server.path();
    if document.kind(&path) != Some(Kind::Object) {
        let message = format!("the entry of server '{id}' is not an object");
        return Err(EditError::Unusable(message));
    }
    let [list, at] = path;
    let setting = |document: &Document, key| {
        let kind = document.kind(&[list, at, Step::Key(key)]);
        kind.filter(|kind| *kind != Kind::Null)
    };
    // Both keys may exist and must not contradict each other.
    let says_enabled = setting(document, "enabled").is_some();
    if says_enabled {
        document.set(&path, "enabled", &enabled.into());
    }
    match (setting(document, "disabled"), enabled) {
        (Some(_), false) => document.set(&path, "disabled", &true.into()),
        // `false` has the same effect as no key, and a user wrote it.
        (Some(Kind::Boolean(false)), true) => {}
        (Some(_), true) => {
            let index = document.position(&path, "disabled");
            index.into_iter().for_each(|at| document.remove(&path, at));
        }
        (None, false) if !says_enabled => document.set(&path, "disabled", &true.into()),
        (None, _) => {}
    }
    Ok(())
}

fn put_preset(document: &mut Document, id: &str, entry: &Value) -> Result<(), EditError> {
    let entry = members(entry, "a preset")?;
    let presets = object(document, &[], PRESETS)?;
    match document.position(&presets, id) {
        Some(at) => make(document, &[PRESETS.into(), Step::At(at)], entry),
        None => document.set(&presets, id, &Value::Object(entry.clone())),
    }
    Ok(())
}

fn switch_preset(
    document: &mut Document,
    endpoint: &str,
    preset: Option<&str>,
) -> Result<(), EditError> {
    // Without its own preset, the default endpoint falls back to this one.
    let default = document.kind(&["defaultPresetId".into()]);
    let falls_back = endpoint == "default" && default.is_some_and(|kind| kind != Kind::Null);
    let choice: Value = match preset {
        Some(id) => id.into(),
        None if falls_back => false.into(),
        None => {
            let path = [ENDPOINTS.into(), Step::Key(endpoint)];
            let index = document.position(&path, "preset");
            index.into_iter().for_each(|at| document.remove(&path, at));
            return Ok(());
        }
    };
    let endpoints = object(document, &[], ENDPOINTS)?;
    let path = object(document, &endpoints, endpoint)?;
    document.set(&path, "preset", &choice);
    Ok(())
}

/// Returns the path of an object member, and creates the member if it is absent.
fn object<'a>(
    document: &mut Document,
    path: &[Step<'a>],
    key: &'a str,
) -> Result<Vec<Step<'a>>, EditError> {
    let inner = [path, &[Step::Key(key)]].concat();
    match document.kind(&inner) {
        Some(Kind::Object) => {}
        None | Some(Kind::Null) => document.set(path, key, &Value::Object(Map::new())),
        Some(_) => return Err(EditError::Unusable(format!("`{key}` is not an object"))),
    }
    Ok(inner)
}

/// Makes the object at `path` equal to `entry`. Members that are already equal stay unchanged, with
/// their comments.
fn make(document: &mut Document, path: &[Step<'_>], entry: &Map<String, Value>) {
    let keys = document.keys(path);
    let is_object = document.kind(path) == Some(Kind::Object);
    if !is_object || keys.len() + entry.len() > MOST_MEMBERS {
        document.replace(path, &Value::Object(entry.clone()));
        return;
    }
    for (at, key) in keys.iter().enumerate().rev() {
        let is_again = keys[..at].contains(key);
        if is_again || !entry.contains_key(key) {
            document.remove(path, at);
        }
    }
    for (key, value) in entry {
        document.set(path, key, value);
    }
}

fn members<'a>(entry: &'a Value, what: &str) -> Result<&'a Map<String, Value>, EditError> {
    let unfit = || EditError::Unusable(format!("{what} must be an object"));
    entry.as_object().ok_or_else(unfit)
}

fn unknown(kind: &'static str, name: &str) -> EditError {
    let name = name.to_owned();
    EditError::Unknown { kind, name }
}
