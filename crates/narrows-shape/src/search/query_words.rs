//! The words of a query with weights based on their form: quoted text, paths and addresses are
//! mostly values.

use super::values;
use crate::terms::{self, Word};

/// The weight of quoted text, which is a value rather than a description of the task.
const QUOTED: f32 = 0.25;
/// The weight of paths and of names with punctuation, which are mostly values, too.
const VALUE: f32 = 0.35;
/// The weight of the concept that a web address, an e-mail address or a file name implies.
const ADDRESS: f32 = 0.6;

/// One word in a line, with its weight.
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
        // Runs of these scripts are read elsewhere as a whole.
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

/// Returns the closing mark of a quotation that begins with this chunk. A mark that occurs only
/// once in the line is an apostrophe.
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

/// Returns the extension if the chunk is a file name.
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
