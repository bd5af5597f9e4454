//! Finds the lines that show the structure of a source file in any language: its header, imports
//! and definitions.
//!
//! Lines are classified individually by the words they begin with. A parser for each language would
//! be more precise, but would fail on the fragments and diffs that tools return. Methods without a
//! keyword (`run(a) {`) are not protected, because a marker between each two of them would cost
//! more than it is worth.

use crate::prune::Lines;

/// The number of lines kept from the comment at the top of a file: enough for the author and the
/// purpose, but not for a whole licence.
const HEADER_LINES: usize = 5;

/// The number of lines kept from a list of imports after the line that opens it.
const IMPORT_LINES: usize = 20;

/// Protects the header, imports and definitions.
pub(super) fn protect(lines: &Lines<'_>, protected: &mut [bool]) {
    header(lines, protected);
    let mut at = 0;
    while at < lines.len() {
        let line = lines.line(at);
        let shape = shape(line);
        protected[at] |= shape != Shape::Other;
        at += 1;
        if shape == Shape::Import
            && let Some(end) = end_of_list(lines, at - 1)
        {
            protected[at..end].fill(true);
            at = end;
        }
    }
}

/// Protects the comment at the top of the file.
fn header(lines: &Lines<'_>, protected: &mut [bool]) {
    const COMMENTS: [&str; 13] = [
        "#", "//", "/*", "*", "--", ";", "%", "<!--", "<?", "\"\"\"", "'''", "\"use ", "'use ",
    ];
    let opens = |line: &str| COMMENTS.iter().any(|sign| line.starts_with(sign));
    let quotes = |line: &str| line.matches("\"\"\"").count() + line.matches("'''").count();
    let mut inside = false;
    for (line, is_protected) in lines.iter().zip(protected).take(HEADER_LINES) {
        let text = line.trim_start_matches('\u{feff}').trim_start();
        if !(inside || text.is_empty() || opens(text)) {
            break;
        }
        *is_protected |= !text.is_empty();
        // A doc string at the top of the file continues until it is closed.
        inside ^= quotes(text) % 2 == 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Import,
    Definition,
    Other,
}

/// Words that may precede the keyword of a definition.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "case",
    "const",
    "data",
    "declare",
    "default",
    "export",
    "extern",
    "fileprivate",
    "final",
    "friend",
    "implicit",
    "infix",
    "inline",
    "inner",
    "internal",
    "lazy",
    "local",
    "mutating",
    "native",
    "open",
    "operator",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "static",
    "suspend",
    "synchronized",
    "tailrec",
    "typedef",
    "unsafe",
    "virtual",
];

/// Words that open a definition whenever a line begins with them.
const DEFINITIONS: &[&str] = &[
    "class",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "macro_rules",
    "mod",
    "struct",
    "trait",
];

/// Words that open a definition only if a name and the syntax of a definition follow, because
/// sentences begin with them, too.
const NAMED: &[&str] = &[
    "contract",
    "defmodule",
    "defp",
    "extension",
    "fun",
    "interface",
    "module",
    "namespace",
    "object",
    "package",
    "protocol",
    "record",
    "sub",
    "type",
    "typedef",
    "union",
];

/// Returns the kind of a line.
fn shape(line: &str) -> Shape {
    let text = behind_attributes(line.trim_start_matches(is_space));
    let (mut first, mut rest) = split_word(text);
    if first.is_empty() {
        let includes = ["#include", "#import", "@import "];
        return match includes.iter().any(|word| text.starts_with(word)) {
            true => Shape::Import,
            false => Shape::Other,
        };
    }
    let (mut declares, mut links) = (false, false);
    while MODIFIERS.contains(&first) {
        declares |= matches!(first, "const" | "local");
        links |= first == "extern";
        let next = behind_modifier(rest);
        let (word, after) = split_word(next);
        if word.is_empty() {
            break;
        }
        (first, rest) = (word, after);
    }
    match first {
        "import" | "use" => Shape::Import,
        "crate" if links => Shape::Import,
        "from" if imports_from(rest) => Shape::Import,
        "using" | "require" | "require_relative"
            if text.trim_end().ends_with([';', '\'', '"', ')']) =>
        {
            Shape::Import
        }
        "let" | "var" if is_required(rest) => Shape::Import,
        _ if declares && is_required(rest) => Shape::Import,
        _ if DEFINITIONS.contains(&first) => Shape::Definition,
        _ if NAMED.contains(&first) && is_named(rest) => Shape::Definition,
        _ => Shape::Other,
    }
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// Skips Rust attributes and C++ templates at the beginning of a line.
fn behind_attributes(text: &str) -> &str {
    let mut text = text;
    loop {
        let behind = if text.starts_with("#[") {
            text.split_once("] ")
        } else if text.starts_with("template") {
            text.split_once("> ")
        } else {
            return text;
        };
        match behind {
            Some((_, rest)) => text = rest.trim_start_matches(is_space),
            None => return text,
        }
    }
}

/// Splits off the first word of a text.
fn split_word(text: &str) -> (&str, &str) {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_letter(letter)).unwrap_or(text.len());
    text.split_at(end)
}

/// Skips the rest of a modifier: `(crate)` after `pub`, `"C"` after `extern`, and white space.
fn behind_modifier(rest: &str) -> &str {
    let mut rest = rest;
    if let Some(scope) = rest.strip_prefix('(')
        && let Some((_, after)) = scope.split_once(')')
    {
        rest = after;
    }
    rest = rest.trim_start_matches(is_space);
    if let Some(language) = rest.strip_prefix('"')
        && let Some((_, after)) = language.split_once('"')
    {
        rest = after.trim_start_matches(is_space);
    }
    rest
}

/// Returns `true` for the rest of `from x import y` after its first word.
fn imports_from(rest: &str) -> bool {
    let rest = rest.trim_start_matches(is_space);
    let behind = rest.find(is_space).map_or("", |end| &rest[end..]);
    split_word(behind.trim_start_matches(is_space)).0 == "import"
}

/// Returns `true` for the rest of `x = require("y")` after the keyword that declares `x`.
fn is_required(rest: &str) -> bool {
    let mut from = rest;
    while let Some(at) = from.find("require(") {
        if from[..at].trim_end_matches(is_space).ends_with('=') {
            return true;
        }
        from = &from[at + 1..];
    }
    false
}

/// Returns `true` if a name follows, and after it the syntax of a definition.
fn is_named(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(is_space) else {
        return false;
    };
    let (name, behind) = split_word(rest.trim_start_matches(is_space));
    let behind = behind.trim_start_matches(is_space);
    let (word, _) = split_word(behind);
    let follows = [
        "extends",
        "implements",
        "interface",
        "struct",
        "where",
        "for",
        "do",
        "is",
        "func",
    ];
    !name.is_empty()
        && (behind.is_empty()
            || behind.starts_with(['=', '{', '(', '<', ':', ';', '.', '['])
            || follows.contains(&word))
}

/// Returns the position after the last line of a list of imports, if the line opens one that is
/// closed within the limit.
fn end_of_list(lines: &Lines<'_>, at: usize) -> Option<usize> {
    let opens = lines.line(at).trim_end();
    let close = match opens.as_bytes().last()? {
        b'(' => ')',
        b'{' => '}',
        _ => return None,
    };
    let limit = lines.len().min(at + 1 + IMPORT_LINES);
    let closes = |&next: &usize| lines.line(next).trim_start().starts_with(close);
    (at + 1..limit).find(closes).map(|last| last + 1)
}
