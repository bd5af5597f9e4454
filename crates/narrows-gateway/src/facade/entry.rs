//! What is told of a tool: `{server_name, name, description, input_schema}`,
//! as many of them as an answer has room for.

use narrows_shape::{TypeScriptOptions, typescript_of_text};
use narrows_wire::Raw;

use super::answer::{array, chars, text};
use super::servers::Tool;
use super::telling::grouped;
use crate::settings::FacadeSettings;

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
        let text = text(&array(&entries[..count]), settings);
        (chars(&text) <= room).then_some(text)
    };
    let everything = (entries.len() == tools.len()).then(|| written(entries.len(), room.all));
    if let Some(text) = everything.flatten() {
        return Page { entries, text };
    }
    // More entries never make a shorter text, so that halving finds the most.
    let (mut most, mut fitting) = (entries.len(), None);
    let mut least = 0;
    while least < most {
        let tried = (least + most).div_ceil(2);
        match written(tried, room.some) {
            Some(text) => (least, fitting) = (tried, Some(text)),
            None => most = tried - 1,
        }
    }
    match (fitting, tools.first()) {
        (None, Some(first)) => {
            let listed = |entry: &Raw| text(&array(std::slice::from_ref(entry)), settings);
            let room = match tools.len() {
                1 => room.all,
                _ => room.some,
            };
            let (entry, text) = reduced(*first, room, settings, listed);
            Page {
                entries: vec![entry],
                text,
            }
        }
        (text, _) => {
            entries.truncate(least);
            Page {
                entries,
                text: text.unwrap_or_else(|| "[]".to_owned()),
            }
        }
    }
}

/// One tool, and the same as a text.
pub(super) fn single(named: Named<'_>, room: usize, settings: &FacadeSettings) -> (Raw, String) {
    let entry = whole(named, settings);
    let written = text(&entry, settings);
    match chars(&written) <= room {
        true => (entry, written),
        false => reduced(named, room, settings, |entry| text(entry, settings)),
    }
}

/// The TypeScript of what a tool takes, shorter if that is longer than `room`.
pub(super) fn typescript(tool: &Tool, settings: &FacadeSettings, room: usize) -> String {
    let lengths = [settings.max_description_len, 100, 40, 0];
    let texts = lengths
        .iter()
        .map(|length| in_typescript(tool, settings, *length));
    let mut fitting = texts.flatten().filter(|text| chars(text) <= room);
    fitting.next().unwrap_or_else(|| size(tool))
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
    let over = chars(&written(&whole(named, settings))).saturating_sub(room);
    // The description alone, by as much as is too much, if enough of it is left.
    let left = chars(&description).saturating_sub(over + 40);
    let first = (left > LESS[0].0).then_some((left, Schema::Whole));
    let mut last = None;
    for (length, amount) in first.into_iter().chain(LESS) {
        let schema = schema(named.1, settings, amount);
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
