//! `envFile`: a file with environment variables for one server.
//!
//! The format is that of `.env` files: one `NAME=VALUE` per line, optionally after `export `, with
//! comments after `#` and values plain or quoted. Values are secrets, so messages do not quote any
//! part of a line.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The size limit of a file, larger than any such file needs to be.
const MAX_BYTES: u64 = 1024 * 1024;

/// The variables of a file, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EnvFile {
    pub(super) variables: Vec<(String, String)>,
    /// The numbers of the lines that do not set a variable.
    pub(super) ignored: Vec<usize>,
}

impl EnvFile {
    /// Reads a file. The error text completes "... cannot be read: ".
    pub(super) fn read(path: &Path) -> Result<EnvFile, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        // Opening a pipe would block until a writer opens it.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(failed)?;
        let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        if text.contains('\0') {
            return Err("it contains a NUL character".to_owned());
        }
        Ok(EnvFile::parse(&text))
    }

    fn parse(text: &str) -> EnvFile {
        let mut parsed = EnvFile::default();
        let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut line = 1;
        while !rest.is_empty() {
            let after = match variable(rest) {
                Line::Variable(name, value, after) => {
                    parsed.variables.push((name.to_owned(), value));
                    after
                }
                Line::Blank => next_line(rest),
                Line::Other => {
                    parsed.ignored.push(line);
                    next_line(rest)
                }
            };
            let taken = &rest[..rest.len() - after.len()];
            line += taken.matches('\n').count();
            rest = after;
        }
        parsed
    }
}

enum Line<'a> {
    /// The name, the value and the text after the variable. A quoted value may take several lines.
    Variable(&'a str, String, &'a str),
    /// An empty line or a comment.
    Blank,
    Other,
}

fn variable(text: &str) -> Line<'_> {
    let line = text.lines().next().unwrap_or_default().trim_start();
    if line.is_empty() || line.starts_with('#') {
        return Line::Blank;
    }
    let Some((name, _)) = line.split_once('=') else {
        return Line::Other;
    };
    let start = text.find('=').map_or(text.len(), |at| at + 1);
    let name = name.trim();
    let exported = name.strip_prefix("export").map(str::trim_start);
    let name = exported
        .filter(|rest| rest.len() < name.len() - "export".len())
        .unwrap_or(name);
    if !is_name(name) {
        return Line::Other;
    }
    match value(&text[start..]) {
        Some((value, after)) => Line::Variable(name, value, after),
        None => Line::Other,
    }
}

/// Returns the value at the start of `text` and the text after its line. Returns `None` if a quote
/// is not closed, or if anything but a comment follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let trimmed = text.trim_start_matches([' ', '\t']);
    let Some(quote) = trimmed.chars().next().filter(|c| "'\"`".contains(*c)) else {
        let line = text.lines().next().unwrap_or_default();
        // A `#` inside a word is part of the value.
        let comment = line.char_indices().find(|(at, c)| {
            *c == '#'
                && line[..*at]
                    .chars()
                    .next_back()
                    .is_none_or(char::is_whitespace)
        });
        let end = comment.map_or(line.len(), |(at, _)| at);
        return Some((line[..end].trim().to_owned(), next_line(text)));
    };
    let inner = &trimmed[1..];
    let mut value = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => {
                let after = &inner[at + 1..];
                let rest = after.lines().next().unwrap_or_default().trim();
                let is_end = rest.is_empty() || rest.starts_with('#');
                return is_end.then(|| (value, next_line(after)));
            }
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$') => value.push(c),
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
    None
}

/// Returns the text after the first line break.
fn next_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && (text.chars()).all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}
