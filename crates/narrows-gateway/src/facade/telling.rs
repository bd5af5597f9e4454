//! The description of `inspect` on lazy endpoints: which tools there are, told
//! in as many words as there is room for.

use super::answer::chars;
use super::servers::{Server, Servers, Tool};
use crate::settings::{FacadeSettings, Telling};

const HEAD: &str = "Inspect available MCP tools and their schemas.\n\nAvailable tools:";

/// The most of a server's instructions, and of a tool's description.
const INSTRUCTIONS: usize = 300;
const DESCRIPTION: usize = 80;

/// The least of both before names go bare. A shorter beginning of a description
/// says no more than the name does.
const FEW_INSTRUCTIONS: usize = 100;
const FEW_WORDS: usize = 20;

/// How much of servers and tools a description has.
#[derive(Clone, Copy)]
struct Detail {
    level: Telling,
    /// The most characters of a server's instructions.
    instructions: usize,
    /// The most characters of a tool's description.
    description: usize,
}

/// What a description says of the servers.
pub(super) struct Listing {
    pub(super) text: String,
    /// Instructions of so many characters are told whole, those of servers that
    /// have tools.
    pub(super) instructions: usize,
}

/// The description, never longer than the settings allow.
pub(super) fn listing(servers: &Servers, settings: &FacadeSettings) -> Listing {
    let limit = settings.listing_max_chars;
    let count = servers.count_tools();
    if count == 0 {
        return Listing::without_instructions(format!("{HEAD}\n  (none at the moment)"));
    }
    for step in steps(settings.listing, limit) {
        let shortened = step.shortened.then(|| note(step.detail.level, count));
        let told = |description: usize| {
            let detail = Detail {
                description,
                ..step.detail
            };
            told(servers, detail, shortened.as_deref(), limit)
        };
        if let Some(text) = longest(step.least, step.detail.description, told) {
            return Listing {
                text,
                instructions: step.detail.instructions,
            };
        }
    }
    Listing::without_instructions(some_servers(servers, limit))
}

/// One way to tell of the servers, with descriptions of `least` characters up to
/// those of the detail.
struct Step {
    detail: Detail,
    least: usize,
    /// It tells less than the settings want.
    shortened: bool,
}

/// What is tried, from most to least. All descriptions get shorter alike before
/// instructions do, and both before names go bare.
fn steps(wanted: Telling, limit: usize) -> impl Iterator<Item = Step> {
    use Telling::{Capped, Full, Names, Servers};
    let all = [
        (Full, usize::MAX, limit, limit),
        (Full, INSTRUCTIONS, DESCRIPTION + 1, limit),
        (Capped, INSTRUCTIONS, DESCRIPTION, DESCRIPTION),
        (Capped, INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Capped, FEW_INSTRUCTIONS, FEW_WORDS, DESCRIPTION),
        (Names, INSTRUCTIONS, 0, 0),
        (Names, FEW_INSTRUCTIONS, 0, 0),
        (Servers, INSTRUCTIONS, 0, 0),
        (Servers, FEW_INSTRUCTIONS, 0, 0),
        (Servers, 40, 0, 0),
        (Servers, 0, 0, 0),
    ];
    let wanted = all.into_iter().filter(move |(level, ..)| *level >= wanted);
    wanted
        .enumerate()
        .map(|(nth, (level, instructions, least, description))| Step {
            detail: Detail {
                level,
                instructions,
                description,
            },
            least,
            shortened: nth > 0,
        })
}

/// The text for the largest number from `least` to `most` that has one. A
/// smaller number never needs more room.
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

impl Listing {
    pub(super) fn without_instructions(text: String) -> Listing {
        Listing {
            text,
            instructions: 0,
        }
    }

    /// Whether it tells all of these instructions of a server.
    pub(super) fn tells(&self, server: &Server, instructions: &str) -> bool {
        let length = || chars(&folded(instructions, usize::MAX));
        !server.tools.is_empty() && self.instructions > 0 && length() <= self.instructions
    }
}

/// White space and control characters folded to single spaces; of a text that
/// is longer than `most` characters, at most three less are kept, up to the end
/// of a word unless that one is very long, and `...` stands at its end.
pub(super) fn folded(text: &str, most: usize) -> String {
    let mut folded = String::new();
    let mut length = 0;
    // Texts are as long as servers like; no more is looked at than decides.
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

/// A number as people read it: `1,204`.
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

/// Lines within a limit.
pub(super) struct Lines {
    text: String,
    room: usize,
}

impl Lines {
    /// `None` if there is no room even for the head.
    pub(super) fn new(head: &str, limit: usize) -> Option<Lines> {
        Some(Lines {
            text: head.to_owned(),
            room: limit.checked_sub(chars(head))?,
        })
    }

    /// Adds a line, unless it has no room.
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

/// All servers in one detail; `None` if that is too long.
fn told(servers: &Servers, detail: Detail, note: Option<&str>, limit: usize) -> Option<String> {
    let Detail {
        level,
        instructions,
        description,
    } = detail;
    let mut lines = Lines::new(HEAD, limit)?;
    for server in servers.offering() {
        lines.add(&server_line(server, level, instructions.min(limit)))?;
        match level {
            Telling::Full | Telling::Capped => {
                for tool in server.tools() {
                    lines.add(&tool_line(tool, level, description))?;
                }
            }
            Telling::Names => lines.add(&names_line(server, limit)?)?,
            Telling::Servers => {}
        }
    }
    if let Some(note) = note {
        lines.add(note)?;
    }
    Some(lines.finish())
}

fn server_line(server: &Server, level: Telling, instructions: usize) -> String {
    let id = folded(server.id(), usize::MAX);
    let count = match (level, server.tools.len()) {
        (Telling::Servers, 1) => " (1 tool)".to_owned(),
        (Telling::Servers, count) => format!(" ({} tools)", grouped(count)),
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

fn tool_line(tool: &Tool, level: Telling, most: usize) -> String {
    let name = folded(tool.name(), usize::MAX);
    let description = tool.description();
    let text = match level {
        Telling::Full => folded(&description, most),
        // Many begin with an empty line.
        _ => folded(
            description.trim_start().lines().next().unwrap_or_default(),
            most,
        ),
    };
    match text.is_empty() {
        true => format!("    - {name}"),
        false => format!("    - {name}: {text}"),
    }
}

fn names_line(server: &Server, limit: usize) -> Option<String> {
    let mut line = String::from("   ");
    for (at, tool) in server.tools().enumerate() {
        line.push_str(if at > 0 { ", " } else { " " });
        line.push_str(&folded(tool.name(), usize::MAX));
        // Four bytes are one character at least.
        if line.len() / 4 > limit {
            return None;
        }
    }
    Some(line)
}

fn note(level: Telling, count: usize) -> String {
    let to = match level {
        Telling::Names => "names",
        Telling::Servers => "servers",
        _ => return "(Descriptions shortened. inspect a tool to see the whole.)".to_owned(),
    };
    let (count, s) = (grouped(count), if count == 1 { "" } else { "s" });
    format!("(Shortened to {to}: {count} tool{s}. inspect a server to see its tools.)")
}

/// As many servers as have room, and how many more there are.
fn some_servers(servers: &Servers, limit: usize) -> String {
    let count = servers.offering().count();
    let rest = |told: usize| format!("  ... and {} more servers", grouped(count - told));
    let room = limit.saturating_sub(chars(&rest(0)) + 1);
    let Some(mut lines) = Lines::new(HEAD, room) else {
        return HEAD.to_owned();
    };
    let mut told = 0;
    for server in servers.offering() {
        if lines
            .add(&server_line(server, Telling::Servers, 0))
            .is_none()
        {
            break;
        }
        told += 1;
    }
    lines.room = usize::MAX;
    let _ = lines.add(&rest(told));
    lines.finish()
}
