//! The entries that describe tools: `{server_name, name, description, input_schema}`, within a
//! limited number of characters.

use std::cell::LazyCell;

use narrows_shape::{TypeScriptOptions, typescript_of_text};
use narrows_wire::Raw;

use super::answer::{array, chars, text};
use super::servers::Tool;
use super::settings::FacadeSettings;
use super::tool_index::grouped;

/// A tool with the name of its server.
pub(super) type NamedTool<'a> = (&'a str, &'a Tool);

/// A part of a list of entries.
pub(super) struct EntryPage {
    pub(super) entries: Vec<Raw>,
    /// The entries as text.
    pub(super) text: String,
}

/// The level of detail of a schema.
#[derive(Clone, Copy)]
enum SchemaDetail {
    /// As configured.
    Whole,
    /// TypeScript with descriptions up to this number of characters.
    Cut(usize),
    /// Only the length.
    Size,
}

/// The levels of detail, in descending order: the length of the description in characters, and the
/// schema.
const REDUCTIONS: [(usize, SchemaDetail); 8] = [
    (2_000, SchemaDetail::Whole),
    (500, SchemaDetail::Whole),
    (500, SchemaDetail::Cut(100)),
    (300, SchemaDetail::Cut(40)),
    (300, SchemaDetail::Cut(0)),
    (300, SchemaDetail::Size),
    (80, SchemaDetail::Size),
    (0, SchemaDetail::Size),
];

/// The maximum number of characters for entries.
#[derive(Clone, Copy)]
pub(super) struct EntryBudget {
    /// The limit if all entries fit.
    pub(super) all: usize,
    /// The limit if a note on further entries is added.
    pub(super) some: usize,
}

/// Returns as many of the first tools as fit, at least one. Shortens the first tool if it does not
/// fit.
pub(super) fn page(
    tools: &[NamedTool<'_>],
    room: EntryBudget,
    settings: &FacadeSettings,
) -> EntryPage {
    let mut entries = Vec::new();
    let mut bytes = 0_usize;
    for named in tools {
        let entry = whole(*named, settings);
        bytes += entry.len();
        // No encoding is less than a quarter of this size, so no further entries can fit.
        if bytes / 4 > room.all && !entries.is_empty() {
            break;
        }
        entries.push(entry);
    }
    let written = |count: usize, room: usize| {
        let text = text(&array(&entries[..count]), settings, room);
        (chars(&text) <= room).then_some(text)
    };
    let everything = (entries.len() == tools.len()).then(|| written(entries.len(), room.all));
    if let Some(text) = everything.flatten() {
        return EntryPage { entries, text };
    }
    // Lists of at least `turn` entries may use TOON, which may be shorter. On either side of
    // `turn`, adding entries never shortens the text.
    let turn = settings.toon_min_size.clamp(1, entries.len() + 1);
    let written = |count: usize| written(count, room.some);
    let fitting = most(turn, entries.len(), written).or_else(|| most(1, turn - 1, written));
    if let Some((count, text)) = fitting {
        entries.truncate(count);
        return EntryPage { entries, text };
    }
    let Some(first) = tools.first() else {
        let text = "[]".to_owned();
        return EntryPage { entries, text };
    };
    let room = match tools.len() {
        1 => room.all,
        _ => room.some,
    };
    let listed = |entry: &Raw| text(&array(std::slice::from_ref(entry)), settings, room);
    let (entry, text) = reduced(*first, room, settings, listed);
    EntryPage {
        entries: vec![entry],
        text,
    }
}

/// Returns the entry of one tool, also as text.
pub(super) fn single(
    named: NamedTool<'_>,
    room: usize,
    settings: &FacadeSettings,
) -> (Raw, String) {
    let entry = whole(named, settings);
    let written = text(&entry, settings, room);
    match chars(&written) <= room {
        true => (entry, written),
        false => reduced(named, room, settings, |entry| text(entry, settings, room)),
    }
}

/// Returns the parameters of a tool as TypeScript, shortened if longer than `room`.
pub(super) fn typescript(tool: &Tool, settings: &FacadeSettings, room: usize) -> String {
    let written = |length: usize| {
        let text = in_typescript(tool, settings, length)?;
        (chars(&text) <= room).then_some(text)
    };
    if let Some(whole) = written(settings.max_description_len) {
        return whole;
    }
    // If the schema does not fit even without descriptions, no other length is tried.
    let Some(least) = written(0) else {
        return size(tool);
    };
    [100, 40].into_iter().find_map(written).unwrap_or(least)
}

/// Returns the largest number of entries from `least` to `most` that can be written, with their
/// text. Assumes that fewer entries can always be written if more can.
fn most(
    least: usize,
    most: usize,
    written: impl Fn(usize) -> Option<String>,
) -> Option<(usize, String)> {
    let (mut below, mut above) = (least, most + 1);
    let mut found = None;
    while below < above {
        let tried = below + (above - below) / 2;
        match written(tried) {
            Some(text) => (below, found) = (tried + 1, Some((tried, text))),
            None => above = tried,
        }
    }
    found
}

/// Returns the full entry, which is created only once.
fn whole((server, tool): NamedTool<'_>, settings: &FacadeSettings) -> Raw {
    let make = || {
        let schema = schema(tool, settings, SchemaDetail::Whole);
        entry((server, tool), &tool.description(), &schema)
    };
    tool.entry.get_or_init(make).clone()
}

/// Returns the most detailed entry that fits into `room` when written by `written`.
fn reduced(
    named: NamedTool<'_>,
    room: usize,
    settings: &FacadeSettings,
    written: impl Fn(&Raw) -> String,
) -> (Raw, String) {
    let description = named.1.description();
    let whole = whole(named, settings);
    let over = chars(&written(&whole)).saturating_sub(room);
    let whole = whole.member("input_schema");
    // Each schema is created at most once, and skipped if it cannot fit even alone. A text is never
    // less than half as long as the JSON.
    let has_room = |schema: &Raw| chars(schema.as_str()) / 2 <= room;
    let least = LazyCell::new(|| schema(named.1, settings, SchemaDetail::Cut(0)));
    let written_schema = |amount: SchemaDetail| match amount {
        SchemaDetail::Whole => whole.clone().filter(has_room),
        SchemaDetail::Size => Some(schema(named.1, settings, amount)),
        SchemaDetail::Cut(_) if !has_room(&least) => None,
        SchemaDetail::Cut(0) => Some(least.clone()),
        SchemaDetail::Cut(_) => Some(schema(named.1, settings, amount)),
    };
    // First shortens only the description, by the excess, if enough of it remains.
    let left = chars(&description).saturating_sub(over + 40);
    let first = (left > REDUCTIONS[0].0).then_some((left, SchemaDetail::Whole));
    let mut last = None;
    for (length, amount) in first.into_iter().chain(REDUCTIONS) {
        let Some(schema) = written_schema(amount) else {
            continue;
        };
        let entry = entry(named, &cut(&description, length), &schema);
        let text = written(&entry);
        if chars(&text) <= room {
            return (entry, text);
        }
        last = Some((entry, text));
    }
    last.expect("there are forms to try")
}

fn entry((server, tool): NamedTool<'_>, description: &str, schema: &Raw) -> Raw {
    let text = Raw::string;
    Raw::empty_object()
        .with_member("server_name", &text(server))
        .with_member("name", &text(tool.name()))
        .with_member("description", &text(description))
        .with_member("input_schema", schema)
}

fn schema(tool: &Tool, settings: &FacadeSettings, amount: SchemaDetail) -> Raw {
    let length = match amount {
        SchemaDetail::Size => return Raw::string(&size(tool)),
        SchemaDetail::Cut(length) => length.min(settings.max_description_len),
        SchemaDetail::Whole if !settings.typescript => return json_schema(tool),
        SchemaDetail::Whole => settings.max_description_len,
    };
    match in_typescript(tool, settings, length) {
        Some(text) => Raw::string(&text),
        None => json_schema(tool),
    }
}

fn in_typescript(tool: &Tool, settings: &FacadeSettings, length: usize) -> Option<String> {
    let options = TypeScriptOptions {
        descriptions: length > 0,
        max_description_len: length,
        constraints: settings.constraints,
    };
    let written = typescript_of_text(json_schema(tool).as_str(), &options).ok()?;
    Some(written.to_string())
}

/// Returns the input schema of a tool. A missing schema means an object.
fn json_schema(tool: &Tool) -> Raw {
    let missing = || Raw::from_static(r#"{"type":"object"}"#);
    tool.schema().unwrap_or_else(missing)
}

fn size(tool: &Tool) -> String {
    let length = chars(json_schema(tool).as_str());
    format!("unknown /* {} characters of schema */", grouped(length))
}

fn cut(description: &str, length: usize) -> String {
    match description.char_indices().nth(length) {
        None => description.to_owned(),
        Some((end, _)) => {
            let (kept, whole) = (&description[..end], grouped(chars(description)));
            format!("{kept}... ({whole} characters)")
        }
    }
}
