//! The description of `search_tools`: what it does, and a few words on each
//! server, so that a model knows what can be found at all.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use narrows_wire::Raw;

use super::answer::chars;
use super::servers::{Server, Servers, Tool};
use super::telling::{Lines, folded, grouped};
use crate::settings::FacadeSettings;

const HEAD: &str = "Find tools of MCP servers by what they do. The best come with their schemas, \
    ready to be called with exec. Say in a few words what is to be done; several phrasings, one \
    per line, find more.\n\nServers (number of tools):";

/// The most words on a server, in characters, from most to least: about 25
/// tokens, then less.
const LENGTHS: [usize; 4] = [70, 40, 20, 0];

/// A sentence of a server's own that is longer says more than what it is for.
const SENTENCE: usize = 60;

/// Names from which topics are taken; more would tell the same.
const TOOLS_READ: usize = 500;

/// What tools do: nothing that tells one server from another.
static VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "add analyze append apply archive assign ask build bulk call cancel change check clear close \
     complete compare convert copy count create delete describe disable download edit enable \
     execute export fetch fill find generate get import insert invoke is list load lock make \
     manage mark merge move open perform post process publish push put query read remove rename \
     reply reset resolve restore run save search send set show start stop submit sync test toggle \
     track transform trigger unlock update upload upsert validate verify view wait write"
        .split(' ')
        .collect()
});

/// What any server could say of itself.
static STOP: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a access all allows an and any api are as at based batch by can context data enables for \
     from has have id in info into it its mcp model multi multiple my name new of official on one \
     or other our protocol provides server servers service services so such that the their them \
     these this to tool tools up use used uses using via when with you your"
        .split(' ')
        .collect()
});

/// The description, never longer than a quarter of what `inspect` may have
/// where it tells all tools.
pub(super) fn listing(servers: &Servers, settings: &FacadeSettings) -> String {
    let limit = settings.listing_max_chars / 4;
    let said: Vec<(String, Vec<String>)> = servers.offering().map(said).collect();
    if said.is_empty() {
        return format!("{HEAD}\n  (none at the moment)");
    }
    for length in LENGTHS {
        if let Some(text) = told(&said, length, limit) {
            return text;
        }
    }
    let rest = |told: usize| format!("  ... and {} more", grouped(said.len() - told));
    let mut lines = match Lines::new(HEAD, limit.saturating_sub(chars(&rest(0)) + 1)) {
        Some(lines) => lines,
        None => return HEAD.to_owned(),
    };
    let fitting = said
        .iter()
        .take_while(|(line, _)| lines.add(line).is_some());
    let count = fitting.count();
    format!("{}\n{}", lines.finish(), rest(count))
}

/// All servers, with at most so many characters on each.
fn told(said: &[(String, Vec<String>)], length: usize, limit: usize) -> Option<String> {
    let mut lines = Lines::new(HEAD, limit)?;
    for (line, topics) in said {
        let mut line = line.clone();
        let mut room = length;
        for (at, topic) in topics.iter().enumerate() {
            let between = if at == 0 { ": " } else { ", " };
            let Some(left) = room.checked_sub(chars(topic) + 2) else {
                break;
            };
            room = left;
            line.push_str(between);
            line.push_str(topic);
        }
        lines.add(&line)?;
    }
    Some(lines.finish())
}

/// A server's line without its topics, and these, the best first.
fn said(server: &Server) -> (String, Vec<String>) {
    let id = folded(server.id(), usize::MAX);
    let line = format!("  {id} ({})", grouped(server.tools.len()));
    let topics = match sentence(server) {
        Some(sentence) => vec![sentence],
        None => topics(server),
    };
    (line, topics)
}

/// What a server says it is for, if that is short and says something.
fn sentence(server: &Server) -> Option<String> {
    let info = |name: &str| {
        let value = server.server_info.member(name)?;
        Some(value.as_text()?.into_owned())
    };
    let own = own_words(server);
    let is_helpful = |text: &String| {
        let telling = words(text).filter(|word| !own.contains(word) && !STOP.contains(&**word));
        chars(text) <= SENTENCE && telling.take(2).count() == 2
    };
    let sources = [
        info("description"),
        info("title"),
        server.instructions.clone(),
    ];
    let first = |text: String| {
        let text = folded(&text, 2 * SENTENCE);
        let end = text.find(". ").unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_owned()
    };
    sources.into_iter().flatten().map(first).find(is_helpful)
}

/// What the names of its tools are about, the most frequent first. Two words
/// that come together mostly are one topic.
fn topics(server: &Server) -> Vec<String> {
    let own = own_words(server);
    let skipped = |word: &String| {
        chars(word) < 3 || own.contains(word) || VERBS.contains(&**word) || STOP.contains(&**word)
    };
    let mut counts: HashMap<String, Topic> = HashMap::new();
    let mut order = 0;
    let mut count = |topic: String, seen: &mut HashSet<String>| {
        if seen.insert(topic.clone()) {
            order += 1;
            let first = order;
            counts
                .entry(topic)
                .or_insert(Topic { first, count: 0 })
                .count += 1;
        }
    };
    for name in server.tools.iter().take(TOOLS_READ).map(Tool::name) {
        let mut seen = HashSet::new();
        let mut before: Option<String> = None;
        // Pieces of a name that is longer than any are no words.
        for word in words(name).take(12) {
            let word = singular(word);
            if skipped(&word) {
                before = None;
                continue;
            }
            if let Some(before) = before.replace(word.clone()) {
                count(format!("{before} {word}"), &mut seen);
            }
            count(word, &mut seen);
        }
    }
    let count_of = |topic: &str| counts.get(topic).map_or(0, |topic| topic.count);
    let is_one = |pair: &str| {
        let mut words = pair.split(' ').map(count_of);
        count_of(pair) > 1 && words.all(|count| count_of(pair) * 10 >= count * 7)
    };
    let pairs: HashSet<&str> = counts
        .keys()
        .map(|topic| &**topic)
        .filter(|topic| topic.contains(' ') && is_one(topic))
        .collect();
    let paired: HashSet<&str> = pairs.iter().flat_map(|pair| pair.split(' ')).collect();
    let mut chosen: Vec<(&String, &Topic)> = counts
        .iter()
        .filter(|(topic, _)| match topic.contains(' ') {
            true => pairs.contains(&***topic),
            false => !paired.contains(&***topic),
        })
        .collect();
    chosen.sort_by_key(|(_, topic)| (std::cmp::Reverse(topic.count), topic.first));
    chosen.into_iter().map(|(topic, _)| topic.clone()).collect()
}

struct Topic {
    /// When it was first seen.
    first: usize,
    /// In how many names it is.
    count: usize,
}

/// The words of a server's names.
fn own_words(server: &Server) -> HashSet<String> {
    let name = server.server_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text).unwrap_or_default();
    let all = words(server.id()).chain(words(&name)).map(singular);
    all.collect()
}

/// The words of a text or of an identifier in any style, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().take(1_000).peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let follows = letters.peek().copied().unwrap_or(' ');
        // `readFile` and `getHTTPHeaders`.
        let begins = letter.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && follows.is_lowercase()));
        if begins || !letter.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty())
}

/// Good enough to count `issues` and `issue` as one.
fn singular(word: String) -> String {
    let cut = |end: &str, to: &str| word.strip_suffix(end).map(|stem| format!("{stem}{to}"));
    let kept = [
        "ss",
        "us",
        "is",
        "news",
        "aws",
        "dns",
        "kubernetes",
        "sms",
        "css",
        "https",
    ];
    if chars(&word) < 4 || kept.iter().any(|end| word.ends_with(end)) {
        return word;
    }
    let shorter = cut("ies", "y")
        .or_else(|| cut("sses", "ss"))
        .or_else(|| cut("xes", "x"))
        .or_else(|| cut("ches", "ch"))
        .or_else(|| cut("s", ""));
    shorter.unwrap_or(word)
}
