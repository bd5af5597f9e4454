//! Detects lines that define a function, a method or a class.

use crate::prune::{Lines, Span};

/// The definition on a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) kind: BlockKind,
    /// The byte range of the name within the line.
    pub(super) name: Span,
    /// Set if the body is expected on the next lines.
    pub(super) expects_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Function,
    /// A class, an implementation or a module, which contains functions.
    Container,
    /// Lines outside of functions.
    Piece,
}

/// The maximum number of lines that are searched for the end of a signature.
const AHEAD: usize = 24;
/// The maximum number of bytes of a line that are searched for a definition.
const WIDEST: usize = 400;

const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "override",
    "virtual",
    "inline",
    "unsafe",
    "extern",
    "declare",
    "readonly",
    "open",
    "suspend",
    "sealed",
    "data",
    "partial",
    "const",
    "constexpr",
    "local",
    "synchronized",
    "native",
    "get",
    "set",
    "explicit",
    "friend",
    "mutating",
    "fileprivate",
];
const FUNCTIONS: &[&str] = &[
    "def",
    "fn",
    "func",
    "function",
    "fun",
    "sub",
    "proc",
    "macro_rules!",
    "macro",
    "defp",
    "defmacro",
];
const CONTAINERS: &[&str] = &[
    "class",
    "struct",
    "enum",
    "trait",
    "impl",
    "interface",
    "mod",
    "module",
    "namespace",
    "union",
    "record",
    "protocol",
    "extension",
    "object",
    "defmodule",
    "actor",
    "contract",
];
const NOT_NAMES: &[&str] = &[
    "if", "for", "while", "switch", "catch", "return", "else", "do", "try", "match", "loop",
    "with", "elif", "await", "new", "throw", "yield", "case", "assert", "print", "in", "not",
    "and", "or", "typeof", "delete", "unless", "until", "when", "using", "lock", "foreach",
    "super", "except", "finally", "raise", "del", "lambda", "let", "var", "use", "import", "from",
];

/// Returns the definition on a line, if there is one.
pub(super) fn definition(lines: &Lines<'_>, at: usize) -> Option<Definition> {
    let whole = lines.line(at);
    let line = clip(whole);
    let end = line.trim_ascii_end();
    let expects_body = whole.trim_ascii_end().ends_with(['{', ':', '(', ',', ')']);
    let found = |kind, name| {
        Some(Definition {
            kind,
            name,
            expects_body,
        })
    };
    let mut from = line.len() - line.trim_ascii_start().len();
    let first = from;
    loop {
        let word = word_at(line, from);
        let text = &line[word.clone()];
        if FUNCTIONS.contains(&text) || (text == "macro_rules" && line[word.end..].starts_with('!'))
        {
            return found(BlockKind::Function, name_after(line, word.end)?);
        }
        if CONTAINERS.contains(&text) {
            if text == "impl" {
                return found(BlockKind::Container, word.end..end.len().max(word.end));
            }
            // A word such as `module` may itself be a name, in which case no name follows.
            let follows = line[word.end..].trim_ascii_start();
            let named = line[word.end..].starts_with([' ', '\t'])
                && follows.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if named {
                return found(BlockKind::Container, name_after(line, word.end)?);
            }
            if text == "class" && follows.starts_with('{') {
                return found(BlockKind::Container, word);
            }
        }
        if !MODIFIERS.contains(&text) {
            break;
        }
        from = skip_modifier(line, word.end);
    }
    let name = assigned(line, first).or_else(|| method(lines, at, line, first))?;
    found(BlockKind::Function, name)
}

/// Returns `true` if a line with the same indentation as a definition still belongs to it.
pub(super) fn continues(line: &str) -> bool {
    line.starts_with(['}', ')', ']', '{'])
        || line == "where"
        || line.starts_with("where ")
        || line == "end"
        || line.starts_with("-> ")
        || line.starts_with("=> ")
}

/// Returns the indentation of a line; a tab counts as four spaces.
pub(super) fn indent(line: &str) -> usize {
    let mut depth = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => depth += 1,
            b'\t' => depth += 4,
            _ => break,
        }
    }
    depth
}

fn clip(line: &str) -> &str {
    &line[..line.floor_char_boundary(WIDEST)]
}

/// Returns `true` if a byte may be part of a name. All non-ASCII bytes may.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn word_at(line: &str, from: usize) -> Span {
    let length = line.as_bytes()[from..]
        .iter()
        .take_while(|&&byte| is_name(byte))
        .count();
    from..from + length
}

/// Returns the position after the rest of a modifier, such as `(crate)` or `"C"`, and the spaces.
fn skip_modifier(line: &str, from: usize) -> usize {
    let rest = &line[from..];
    let inside = match rest.trim_ascii_start().as_bytes().first() {
        Some(b'(') if rest.starts_with('(') => rest.find(')').map_or(0, |at| at + 1),
        Some(b'"') => rest.match_indices('"').nth(1).map_or(0, |(at, _)| at + 1),
        _ => 0,
    };
    let rest = &line[from + inside..];
    line.len() - rest.trim_ascii_start().len()
}

/// Returns the name after a keyword, skipping `*`, spaces, and a Go receiver.
fn name_after(line: &str, from: usize) -> Option<Span> {
    let skip = |from: usize| {
        let rest = line[from..].trim_ascii_start();
        line.len() - rest.trim_start_matches(['*', '!', '#', ' ']).len()
    };
    let mut from = skip(from);
    if line[from..].starts_with('(') {
        from = skip(from + line[from..].find(')')? + 1);
    }
    let word = word_at(line, from);
    // In `self.name`, `Foo::bar` and `module.function`, the name is the last part.
    let mut last = word.clone();
    while let Some(rest) = line[last.end..].strip_prefix(['.', ':']) {
        let next = word_at(line, line.len() - rest.trim_start_matches([':']).len());
        if next.is_empty() {
            break;
        }
        last = next;
    }
    (!last.is_empty()).then_some(last)
}

/// Returns the name in `name = function`, `name: (a) => {` or `const name = async (…) =>`.
fn assigned(line: &str, first: usize) -> Option<Span> {
    let bytes = line.as_bytes();
    let mut from = first;
    loop {
        let word = word_at(line, from);
        if !matches!(
            &line[word.clone()],
            "export" | "const" | "let" | "var" | "static" | "default"
        ) {
            break;
        }
        from = line.len() - line[word.end..].trim_ascii_start().len();
    }
    let path = line[from..]
        .bytes()
        .take_while(|&byte| is_name(byte) || byte == b'.' || byte == b'#')
        .count();
    if path == 0 {
        return None;
    }
    let path_end = from + path;
    let rest = line[path_end..].trim_ascii_start();
    let value = rest.strip_prefix(['=', ':'])?;
    if value.starts_with(['=', ':']) {
        return None;
    }
    let value = value.trim_ascii();
    let value = value
        .strip_prefix("async")
        .map_or(value, |rest| rest.trim_ascii_start());
    let is_arrow = value.split_once("=>").is_some_and(|(before, _)| {
        before.starts_with('(') || before.trim_ascii().bytes().all(is_name)
    });
    let goes_on = value == "(" && rest.starts_with('=') && line[..from].contains("const");
    if !value.starts_with("function") && !is_arrow && !goes_on {
        return None;
    }
    let name = bytes[from..path_end]
        .iter()
        .rposition(|&byte| !is_name(byte))
        .map_or(from, |at| from + at + 1);
    (name < path_end).then_some(name..path_end)
}

/// Returns the name in `name(a, b) {`, with or without types before it. The signature may take
/// several lines.
fn method(lines: &Lines<'_>, at: usize, line: &str, first: usize) -> Option<Span> {
    let paren = first + line[first..].find('(')?;
    let before = &line[first..paren];
    let plain = |byte: u8| {
        is_name(byte)
            || matches!(
                byte,
                b' ' | b'\t' | b'*' | b'&' | b'<' | b'>' | b':' | b',' | b'~' | b'#' | b'[' | b']'
            )
    };
    if !before.bytes().all(plain) {
        return None;
    }
    let start_word = &line[word_at(line, first)];
    if NOT_NAMES.contains(&start_word) {
        return None;
    }
    let trimmed = before.trim_ascii_end();
    let end = first + trimmed.len();
    let start = first
        + trimmed
            .bytes()
            .rposition(|byte| !is_name(byte))
            .map_or(0, |at| at + 1);
    if start == end || NOT_NAMES.contains(&&line[start..end]) {
        return None;
    }
    let tail = lines.line(at).trim_ascii_end();
    let opens = if tail.ends_with('{') {
        closes_before_brace(&line[paren..])
    } else if tail.ends_with(['(', ',']) {
        let depth = indent(line);
        let next = (at + 1..lines.len().min(at + AHEAD)).find(|&next| {
            indent(lines.line(next)) <= depth || lines.line(next).trim_ascii_end().ends_with('{')
        });
        next.is_some_and(|next| {
            let line = lines.line(next).trim_ascii();
            line.starts_with(')')
                && line.ends_with('{')
                && !line.contains("=>")
                && !line.contains("function")
        })
    } else {
        tail.ends_with(')') && at + 1 < lines.len() && lines.line(at + 1).trim_ascii() == "{"
    };
    opens.then_some(start..end)
}

/// Returns `true` if the first bracket is closed before the final brace, and only a type may follow
/// it.
fn closes_before_brace(rest: &str) -> bool {
    let mut depth = 0usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let between = &rest[at + 1..];
                    return !between.contains("=>")
                        && !between.contains('(')
                        && !between.contains(';')
                        && !between.contains("function");
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests;
