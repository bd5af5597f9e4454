//! The description of `inspect` on lazy endpoints: lists the available tools in as much detail as
//! fits.

use narrows_wire::{Kind, Raw};

use super::answer::chars;
use super::servers::{GATEWAY_NAME, Server, Servers, Tool};
use super::settings::{FacadeSettings, ListingDetail};

const HEAD: &str = "Inspect available MCP tools and their schemas.\n\nAvailable tools:";

/// The maximum lengths of a server's instructions and of a tool's description.
const INSTRUCTIONS: usize = 300;
const DESCRIPTION: usize = 80;

/// The minimum lengths of both. A description cut further says no more than the name, so names
/// alone are listed instead.
const FEW_INSTRUCTIONS: usize = 100;
const FEW_WORDS: usize = 20;

/// The limits of a signature: the number of parameters, the length of a parameter's name, and the
/// length of a default.
const MOST_PARAMETERS: usize = 6;
const LONGEST_PARAMETER: usize = 40;
const SHORT_DEFAULT: usize = 8;

/// The amount of detail about servers and tools in a description.
#[derive(Clone, Copy)]
struct DetailLimits {
    level: ListingDetail,
    /// True to include the parameters.
    signatures: bool,
    /// The maximum length of a server's instructions.
    instructions: usize,
    /// The maximum length of a tool's description.
    description: usize,
}

/// The servers as described in a tool's description.
pub(super) struct ToolIndex {
    pub(super) text: String,
    /// Instructions of servers with tools are included in full up to this length.
    pub(super) instructions: usize,
}

/// Returns the description, which never exceeds the configured length.
pub(super) fn listing(servers: &Servers, settings: &FacadeSettings) -> ToolIndex {
    let limit = settings.listing_max_chars;
    let count = servers.count_tools();
    if count == 0 {
        return ToolIndex::without_instructions(format!("{HEAD}\n  (none at the moment)"));
    }
    for step in steps(settings, limit) {
        let shortened = step.shortened.then(|| note(step.detail.level, count));
        let render = |description: usize| {
            let detail = DetailLimits {
                description,
                ..step.detail
            };
            render(servers, detail, shortened.as_deref(), limit)
        };
        if let Some(text) = longest(step.least, step.detail.description, render) {
            return ToolIndex {
                text,
                instructions: step.detail.instructions,
            };
        }
    }
    ToolIndex::without_instructions(some_servers(servers, limit))
}

/// A level of detail to try, with descriptions from `least` characters to the maximum of the
/// detail.
struct DetailStep {
    detail: DetailLimits,
    least: usize,
    /// True if the level is below the configured one.
    shortened: bool,
}

/// Returns the levels to try, in descending order. All descriptions are shortened equally, then the
/// instructions, and only then are descriptions left out.
fn steps(settings: &FacadeSettings, limit: usize) -> impl Iterator<Item = DetailStep> {
    use ListingDetail::{Capped, Full, Names, Servers};
    let (wanted, signatures) = (settings.listing, settings.signatures);
    let all = [
        (Full, signatures, usize::MAX, limit, limit),
        (Full, signatures, INSTRUCTIONS, DESCRIPTION + 1, limit),
        (Capped, signatures, INSTRUCTIONS, DESCRIPTION, DESCRIPTION),
        (Capped, signatures, INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Capped, signatures, FEW_INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Capped, false, INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Capped, false, FEW_INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Names, false, INSTRUCTIONS, 0, 0),
        (Names, false, FEW_INSTRUCTIONS, 0, 0),
        (Servers, false, INSTRUCTIONS, 0, 0),
        (Servers, false, FEW_INSTRUCTIONS, 0, 0),
        (Servers, false, 40, 0, 0),
        (Servers, false, 0, 0, 0),
    ];
    let wanted = all.into_iter().filter(move |(level, ..)| *level >= wanted);
    wanted.enumerate().map(
        |(nth, (level, signatures, instructions, least, description))| DetailStep {
            detail: DetailLimits {
                level,
                signatures,
                instructions,
                description,
            },
            least,
            shortened: nth > 0,
        },
    )
}

/// Returns the text for the largest number from `least` to `most` that has one. Assumes that
/// smaller numbers never need more room.
fn longest(least: usize, most: usize, text: impl Fn(usize) -> Option<String>) -> Option<String> {
    let mut found = text(least)?;
    let (mut fits, mut exceeds) = (least, most + 1);
    while exceeds - fits > 1 {
        let middle = fits.midpoint(exceeds);
        match text(middle) {
            Some(text) => (found, fits) = (text, middle),
            None => exceeds = middle,
        }
    }
    Some(found)
}

impl ToolIndex {
    pub(super) fn without_instructions(text: String) -> ToolIndex {
        ToolIndex {
            text,
            instructions: 0,
        }
    }

    /// Returns true if the description contains these instructions in full.
    pub(super) fn covers(&self, server: &Server, instructions: &str) -> bool {
        let length = || chars(&folded(instructions, usize::MAX));
        !server.tools.is_empty() && self.instructions > 0 && length() <= self.instructions
    }
}

/// Folds white space and control characters to single spaces. A text of more than `most` characters
/// is cut to at most `most` - 3 characters, at the end of a word unless that word is very long,
/// followed by `...`.
pub(super) fn folded(text: &str, most: usize) -> String {
    let mut folded = String::new();
    let mut length = 0;
    // Texts may be very long, so only the necessary part is read.
    let breaks = |letter: char| letter.is_whitespace() || letter.is_control();
    let words = text.split(breaks).filter(|word| !word.is_empty());
    'words: for word in words {
        let space = (length > 0).then_some(' ');
        for letter in space.into_iter().chain(word.chars()) {
            folded.push(letter);
            length += 1;
            if length > most {
                break 'words;
            }
        }
    }
    if length > most {
        let kept = most.saturating_sub(3);
        let end = folded.char_indices().nth(kept).map_or(0, |(end, _)| end);
        let is_within_word = !folded[end..].starts_with(' ');
        folded.truncate(end);
        if is_within_word
            && let Some(word) = folded.rfind(' ')
            && chars(&folded[..word]) >= kept / 2
        {
            folded.truncate(word);
        }
        folded.truncate(folded.trim_end().len());
        folded.push_str(&"..."[..most.min(3)]);
    }
    folded
}

/// Returns a number with thousands separators: `1,204`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Lines within a maximum total length.
pub(super) struct LineBuffer {
    text: String,
    room: usize,
}

impl LineBuffer {
    /// Starts a text with `head`. Returns `None` if the head alone is too long.
    pub(super) fn new(head: &str, limit: usize) -> Option<LineBuffer> {
        Some(LineBuffer {
            text: head.to_owned(),
            room: limit.checked_sub(chars(head))?,
        })
    }

    /// Adds a line. Returns `None` if it does not fit.
    pub(super) fn add(&mut self, line: &str) -> Option<()> {
        self.room = self.room.checked_sub(chars(line) + 1)?;
        self.text.push('\n');
        self.text.push_str(line);
        Some(())
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns the description of all servers at one level of detail, or `None` if it is too long.
fn render(
    servers: &Servers,
    detail: DetailLimits,
    note: Option<&str>,
    limit: usize,
) -> Option<String> {
    let DetailLimits {
        level,
        instructions,
        ..
    } = detail;
    let mut lines = LineBuffer::new(HEAD, limit)?;
    for server in servers.offering() {
        lines.add(&server_line(server, level, instructions.min(limit)))?;
        match level {
            ListingDetail::Full | ListingDetail::Capped => {
                for tool in current_first(server) {
                    lines.add(&tool_line(tool, detail))?;
                }
            }
            ListingDetail::Names => lines.add(&names_line(server, limit)?)?,
            ListingDetail::Servers => {}
        }
    }
    if let Some(recover) = servers.recover() {
        let name = recover.name();
        lines.add(&format!("  Server: {GATEWAY_NAME}"))?;
        lines.add(&format!(
            "    - {name}(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result"
        ))?;
    }
    if let Some(note) = note {
        lines.add(note)?;
    }
    Some(lines.finish())
}

/// Returns the tools of a server, deprecated ones last.
fn current_first(server: &Server) -> impl Iterator<Item = &Tool> {
    let current = server.tools().filter(|tool| !tool.is_deprecated());
    current.chain(server.tools().filter(|tool| tool.is_deprecated()))
}

fn server_line(server: &Server, level: ListingDetail, instructions: usize) -> String {
    let id = folded(server.id(), usize::MAX);
    let count = match (level, server.tools.len()) {
        (ListingDetail::Servers, 1) => " (1 tool)".to_owned(),
        (ListingDetail::Servers, count) => format!(" ({} tools)", grouped(count)),
        _ => String::new(),
    };
    let instructions = server
        .instructions
        .as_deref()
        .map(|text| folded(text, instructions));
    match instructions.filter(|text| !text.is_empty()) {
        Some(instructions) => format!("  Server: {id}{count} - {instructions}"),
        None => format!("  Server: {id}{count}"),
    }
}

fn tool_line(tool: &Tool, detail: DetailLimits) -> String {
    let name = match detail.signatures {
        true => signature(tool),
        false => folded(tool.name(), usize::MAX),
    };
    let description = tool.description();
    let text = match detail.level {
        ListingDetail::Full => folded(&description, detail.description),
        // Many descriptions begin with an empty line.
        _ => folded(
            description.trim_start().lines().next().unwrap_or_default(),
            detail.description,
        ),
    };
    match text.is_empty() {
        true => format!("    - {name}"),
        false => format!("    - {name}: {text}"),
    }
}

/// Returns a tool with its parameters: `read_file(path, head?, tail?)`. Required parameters come
/// first, and short defaults are shown.
fn signature(tool: &Tool) -> String {
    let mut text = folded(tool.name(), usize::MAX);
    let Some(schema) = tool.schema() else {
        return text;
    };
    let required = schema.member("required");
    let required: Vec<String> = required
        .iter()
        .flat_map(Raw::elements)
        .filter_map(|name| name.as_text().map(|name| name.into_owned()))
        .collect();
    let properties = schema.member("properties");
    let properties = properties.iter().flat_map(Raw::members);
    let (first, last): (Vec<_>, Vec<_>) =
        properties.partition(|(name, _)| required.iter().any(|own| *own == *name));
    let all = first.len() + last.len();
    let mut shown: Vec<String> = first
        .iter()
        .map(|(name, _)| folded(name, LONGEST_PARAMETER))
        .collect();
    shown.extend(last.iter().map(|(name, property)| {
        let name = folded(name, LONGEST_PARAMETER);
        match property.member("default").filter(is_short_scalar) {
            Some(default) => format!("{name}?={}", default.as_str()),
            None => format!("{name}?"),
        }
    }));
    shown.truncate(MOST_PARAMETERS.max(first.len().min(2 * MOST_PARAMETERS)));
    if shown.len() < all {
        shown.push("…".to_owned());
    }
    text.push('(');
    text.push_str(&shown.join(", "));
    text.push(')');
    text
}

fn is_short_scalar(value: &Raw) -> bool {
    let is_scalar = matches!(value.kind(), Kind::Number | Kind::Bool | Kind::String);
    is_scalar && value.len() <= SHORT_DEFAULT
}

fn names_line(server: &Server, limit: usize) -> Option<String> {
    let mut line = String::from("   ");
    for (at, tool) in server.tools().enumerate() {
        line.push_str(if at > 0 { ", " } else { " " });
        line.push_str(&folded(tool.name(), usize::MAX));
        // A character has at most four bytes.
        if line.len() / 4 > limit {
            return None;
        }
    }
    Some(line)
}

fn note(level: ListingDetail, count: usize) -> String {
    let to = match level {
        ListingDetail::Names => "names",
        ListingDetail::Servers => "servers",
        _ => return "(Descriptions shortened. inspect a tool to see the whole.)".to_owned(),
    };
    let (count, s) = (grouped(count), if count == 1 { "" } else { "s" });
    format!("(Shortened to {to}: {count} tool{s}. inspect a server to see its tools.)")
}

/// Returns as many servers as fit, and the number of further ones.
fn some_servers(servers: &Servers, limit: usize) -> String {
    let count = servers.offering().count();
    let rest = |render: usize| format!("  ... and {} more servers", grouped(count - render));
    let room = limit.saturating_sub(chars(&rest(0)) + 1);
    let Some(mut lines) = LineBuffer::new(HEAD, room) else {
        return HEAD.to_owned();
    };
    let mut render = 0;
    for server in servers.offering() {
        if lines
            .add(&server_line(server, ListingDetail::Servers, 0))
            .is_none()
        {
            break;
        }
        render += 1;
    }
    lines.room = usize::MAX;
    let _ = lines.add(&rest(render));
    lines.finish()
}
