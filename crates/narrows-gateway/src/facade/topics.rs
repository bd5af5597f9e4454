//! The description of `search_tools`: what it does, and a few words on each
//! server, so that a model knows what can be found at all.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use narrows_wire::Raw;

use super::answer::chars;
use super::servers::{Server, Servers, Tool};
use super::settings::FacadeSettings;
use super::telling::{Lines, Listing, folded, grouped};

const HEAD: &str = "Find tools of MCP servers by what they do. The best come with their schemas, \
    ready to be called with exec. Say in a few words what is to be done; several phrasings, one \
    per line, find more.\n\nServers (number of tools):";

/// The most words on a server, in characters, from most to least: about 25
/// tokens, then less.
const LENGTHS: [usize; 4] = [70, 40, 20, 0];

/// A sentence of a server's own that is longer says more than what it is for.
const SENTENCE: usize = 60;

/// Fewer words than this do not tell what a server is for.
const ENOUGH_TOPICS: usize = 3;

/// Names from which topics are taken; more would tell the same.
const TOOLS_READ: usize = 500;

/// What tools do: nothing that tells one server from another.
static VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "add analyze append apply archive ask assign build bulk call cancel change check clear \
     close compare complete convert copy count create delete describe disable download edit \
     enable execute export fetch fill find generate get handle import insert invoke is list \
     load lock make manage mark merge move open perform post press process publish push put \
     query read remove rename reply reset resolve restore run save search select send set show \
     start stop submit sync take test toggle track transform trigger unlock update upload \
     upsert validate verify view wait write"
        .split(' ')
        .collect()
});

/// What any server could say of itself.
static STOP: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a access all allowed allows an and any api are as at based batch by can context current \
     data enables for from has have id in info installed into it its latest mcp model multi \
     multiple my name new of official on one or other our protocol provides server servers \
     service services so such that the their them these this to tool tools up use used user \
     users uses using via when with you your"
        .split(' ')
        .collect()
});

/// The description, never longer than half of what `inspect` may have where it
/// tells all tools.
pub(super) fn listing(servers: &Servers, settings: &FacadeSettings) -> Listing {
    Listing::without_instructions(description(servers, settings))
}

fn description(servers: &Servers, settings: &FacadeSettings) -> String {
    let limit = settings.listing_max_chars / 2;
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
            // The first may be a sentence, of which the beginning is better than nothing.
            let (between, topic) = match at {
                0 => (": ", folded(topic, room.saturating_sub(2))),
                _ => (", ", topic.clone()),
            };
            match room.checked_sub(chars(&topic) + 2) {
                Some(left) => room = left,
                None => break,
            }
            line.push_str(between);
            line.push_str(&topic);
        }
        lines.add(&line)?;
    }
    Some(lines.finish())
}

/// A server's line without its topics, and these, the best first.
fn said(server: &Server) -> (String, Vec<String>) {
    let id = folded(server.id(), usize::MAX);
    let line = format!("  {id} ({})", grouped(server.tools.len()));
    let info = |name: &str| {
        let value = server.server_info.member(name)?;
        Some(value.as_text()?.into_owned())
    };
    let introduction = |text: String| introduction(server, &text);
    let own = info("description").and_then(introduction);
    let own = own.or_else(|| info("title").and_then(introduction));
    if let Some(own) = own {
        return (line, vec![own]);
    }
    let topics = topics(server);
    if topics.len() >= ENOUGH_TOPICS {
        return (line, topics);
    }
    // Names of few tools tell little; what is said of them tells more.
    let instructions = server.instructions.clone().and_then(introduction);
    let first = || {
        server
            .tools()
            .next()
            .map(|tool| first_sentence(&tool.description()))
    };
    let said = instructions.or_else(first).filter(|said| !said.is_empty());
    let said = said.map(|said| folded(&said, SENTENCE));
    (line, said.map_or(topics, |said| vec![said]))
}

/// What a server says it is for, if that is short and says something.
fn introduction(server: &Server, text: &str) -> Option<String> {
    let own = own_words(server);
    let sentence = first_sentence(text);
    let mut telling = words(&sentence)
        .map(singular)
        .filter(|word| !own.contains(word) && !STOP.contains(&**word));
    let is_helpful = telling.next().is_some() && telling.next().is_some();
    drop(telling);
    Some(sentence).filter(|sentence| is_helpful && chars(sentence) <= SENTENCE)
}

fn first_sentence(text: &str) -> String {
    let text = folded(text, 3 * SENTENCE);
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
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
    for name in server.tools().take(TOOLS_READ).map(Tool::name) {
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
