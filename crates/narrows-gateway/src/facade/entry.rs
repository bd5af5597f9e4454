//! What is told of a tool: `{server_name, name, description, input_schema}`,
//! as many of them as an answer has room for.

use std::cell::LazyCell;

use narrows_shape::{TypeScriptOptions, typescript_of_text};
use narrows_wire::Raw;

use super::answer::{array, chars, text};
use super::servers::Tool;
use super::settings::FacadeSettings;
use super::telling::grouped;

/// A tool, and the name of who has it.
pub(super) type Named<'a> = (&'a str, &'a Tool);

/// Some of a list of entries.
pub(super) struct Page {
    pub(super) entries: Vec<Raw>,
    /// The same as a text.
    pub(super) text: String,
}

/// How much of a schema is told.
#[derive(Clone, Copy)]
enum Schema {
    /// As the settings want it.
    Whole,
    /// TypeScript with descriptions of at most so many characters.
    Cut(usize),
    /// How long it is.
    Size,
}

/// From most to least: characters of the description, and the schema.
const LESS: [(usize, Schema); 8] = [
    (2_000, Schema::Whole),
    (500, Schema::Whole),
    (500, Schema::Cut(100)),
    (300, Schema::Cut(40)),
    (300, Schema::Cut(0)),
    (300, Schema::Size),
    (80, Schema::Size),
    (0, Schema::Size),
];

/// How many characters entries may take.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// All of them together.
    pub(super) all: usize,
    /// Some of them, beside a note that there are more.
    pub(super) some: usize,
}

/// As many of the first tools as have room, at least one. The first is told
/// shorter if it has none.
pub(super) fn page(tools: &[Named<'_>], room: Room, settings: &FacadeSettings) -> Page {
    let mut entries = Vec::new();
    let mut bytes = 0_usize;
    for named in tools {
        let entry = whole(*named, settings);
        bytes += entry.len();
        // No form is so much shorter than this that more could have room.
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
        return Page { entries, text };
    }
    // From a certain number of entries on another form is open to them, which
    // may be shorter. On either side of it more never make a shorter text.
    let turn = settings.toon_min_size.clamp(1, entries.len() + 1);
    let written = |count: usize| written(count, room.some);
    let fitting = most(turn, entries.len(), written).or_else(|| most(1, turn - 1, written));
    if let Some((count, text)) = fitting {
        entries.truncate(count);
        return Page { entries, text };
    }
    let Some(first) = tools.first() else {
        let text = "[]".to_owned();
        return Page { entries, text };
    };
    let room = match tools.len() {
        1 => room.all,
        _ => room.some,
    };
    let listed = |entry: &Raw| text(&array(std::slice::from_ref(entry)), settings, room);
    let (entry, text) = reduced(*first, room, settings, listed);
    Page {
        entries: vec![entry],
        text,
    }
}

/// One tool, and the same as a text.
pub(super) fn single(named: Named<'_>, room: usize, settings: &FacadeSettings) -> (Raw, String) {
    let entry = whole(named, settings);
    let written = text(&entry, settings, room);
    match chars(&written) <= room {
        true => (entry, written),
        false => reduced(named, room, settings, |entry| text(entry, settings, room)),
    }
}

/// The TypeScript of what a tool takes, shorter if that is longer than `room`.
pub(super) fn typescript(tool: &Tool, settings: &FacadeSettings, room: usize) -> String {
    let written = |length: usize| {
        let text = in_typescript(tool, settings, length)?;
        (chars(&text) <= room).then_some(text)
    };
    if let Some(whole) = written(settings.max_description_len) {
        return whole;
    }
    // One that has no room even so is not written in other lengths.
    let Some(least) = written(0) else {
        return size(tool);
    };
    [100, 40].into_iter().find_map(written).unwrap_or(least)
}

/// The most entries from `least` to `most` that can be written, and how, where
/// fewer always can if more can.
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

/// Everything of it, made once.
fn whole((server, tool): Named<'_>, settings: &FacadeSettings) -> Raw {
    let make = || {
        let schema = schema(tool, settings, Schema::Whole);
        entry((server, tool), &tool.description(), &schema)
    };
    tool.entry.get_or_init(make).clone()
}

/// As much of it as has room, by `written`.
fn reduced(
    named: Named<'_>,
    room: usize,
    settings: &FacadeSettings,
    written: impl Fn(&Raw) -> String,
) -> (Raw, String) {
    let description = named.1.description();
    let whole = whole(named, settings);
    let over = chars(&written(&whole)).saturating_sub(room);
    let whole = whole.member("input_schema");
    // Each of them is written once, and none that has no room even alone. No
    // text is so much shorter than the JSON that half of it could have room.
    let has_room = |schema: &Raw| chars(schema.as_str()) / 2 <= room;
    let least = LazyCell::new(|| schema(named.1, settings, Schema::Cut(0)));
    let written_schema = |amount: Schema| match amount {
        Schema::Whole => whole.clone().filter(has_room),
        Schema::Size => Some(schema(named.1, settings, amount)),
        Schema::Cut(_) if !has_room(&least) => None,
        Schema::Cut(0) => Some(least.clone()),
        Schema::Cut(_) => Some(schema(named.1, settings, amount)),
    };
    // The description alone, by as much as is too much, if enough of it is left.
    let left = chars(&description).saturating_sub(over + 40);
    let first = (left > LESS[0].0).then_some((left, Schema::Whole));
    let mut last = None;
    for (length, amount) in first.into_iter().chain(LESS) {
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

fn entry((server, tool): Named<'_>, description: &str, schema: &Raw) -> Raw {
    let text = Raw::string;
    Raw::empty_object()
        .with_member("server_name", &text(server))
        .with_member("name", &text(tool.name()))
        .with_member("description", &text(description))
        .with_member("input_schema", schema)
}

fn schema(tool: &Tool, settings: &FacadeSettings, amount: Schema) -> Raw {
    let length = match amount {
        Schema::Size => return Raw::string(&size(tool)),
        Schema::Cut(length) => length.min(settings.max_description_len),
        Schema::Whole if !settings.typescript => return json_schema(tool),
        Schema::Whole => settings.max_description_len,
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

/// A tool that says nothing of its arguments takes an object.
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
