//! The words of a query, weighed by how they are written: what is quoted, a path
//! or an address is mostly a value to work with.

use super::values;
use crate::terms::{self, Word};

/// What is between quotes is a value to work with, not what to do with it.
const QUOTED: f32 = 0.25;
/// Paths and names with signs in them are mostly values as well.
const VALUE: f32 = 0.35;
/// What a web address, a mail address or a file says by being one.
const ADDRESS: f32 = 0.6;

/// A word of a line, with what its surroundings say about it.
pub(super) struct QueryWord {
    pub(super) word: Word,
    pub(super) weight: f32,
    pub(super) is_name: bool,
}

/// Returns the words of a line.
pub(super) fn read(text: &str) -> Vec<QueryWord> {
    let mut read: Vec<QueryWord> = Vec::new();
    let mut push = |text: &str, weight: f32, is_name: bool| {
        let words = terms::read(text).into_iter();
        // Signs are read by the run, not one by one.
        let words = words.filter(|word| !word.plain.starts_with(terms::is_sign));
        read.extend(words.map(|word| QueryWord {
            word,
            weight,
            is_name,
        }));
    };
    let mut quote = None;
    let mut begins_sentence = true;
    for chunk in text.split_whitespace() {
        quote = quote.or_else(|| opened(chunk, text));
        let weight = if quote.is_some() { QUOTED } else { 1.0 };
        let bare = chunk.trim_matches(|letter: char| !letter.is_alphanumeric());
        if bare.contains("://") || bare.starts_with("www.") {
            push("url", ADDRESS, false);
        } else if bare
            .split_once('@')
            .is_some_and(|(_, host)| host.contains('.'))
        {
            push("email", ADDRESS, false);
        } else if let Some(ending) = file_ending(bare) {
            push("file", ADDRESS, false);
            push(ending, weight, false);
            push(&bare[..bare.len() - ending.len()], weight * VALUE, false);
        } else {
            let mark = chunk.chars().take_while(|letter| !letter.is_alphanumeric());
            for word in values::meaning(bare, mark.last()) {
                push(word, ADDRESS, false);
            }
            let is_value = bare.contains(['/', ':', '=', '\\', '#', '*', '.']);
            let is_name = !begins_sentence && bare.starts_with(char::is_uppercase);
            push(bare, weight * if is_value { VALUE } else { 1.0 }, is_name);
        }
        begins_sentence = chunk.ends_with(['.', '!', '?', ':']);
        let end = chunk.trim_end_matches(['.', ',', '?', '!', ';', ':']);
        if quote.is_some_and(|close| end.ends_with(close)) {
            quote = None;
        }
    }
    read
}

/// The sign that ends the quote which opens with this chunk. A sign that is
/// alone in the line is an apostrophe.
fn opened(chunk: &str, line: &str) -> Option<char> {
    let open = chunk.chars().next()?;
    match open {
        '"' | '\'' | '`' => (line.matches(open).nth(1).is_some()).then_some(open),
        '“' | '„' => Some('”'),
        '‘' | '‚' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// The ending of a file's name, if it is one.
fn file_ending(chunk: &str) -> Option<&str> {
    let (name, ending) = chunk.rsplit_once('.')?;
    let is_ending = (1..=5).contains(&ending.len())
        && ending
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && ending.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_host = matches!(
        ending,
        "com"
            | "org"
            | "net"
            | "io"
            | "dev"
            | "de"
            | "fr"
            | "es"
            | "cn"
            | "eu"
            | "uk"
            | "ai"
            | "app"
    );
    (!name.is_empty() && is_ending && !is_host).then_some(ending)
}

#[cfg(test)]
mod tests;
