//! The description of `search_tools`: its purpose, and a few words about each server, so that a
//! model knows which kinds of tools can be found.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use narrows_wire::Raw;

use super::answer::chars;
use super::servers::{Server, Servers, Tool};
use super::settings::FacadeSettings;
use super::tool_index::{LineBuffer, ToolIndex, folded, grouped};

const HEAD: &str = "Find tools of MCP servers by what they do. The best matches come with \
    their schemas, ready to call with exec. Describe the task in a few words; different \
    phrasings, one per line, find more.\n\nServers (number of tools):";

/// The maximum length of the words about a server in characters, in descending order. The first is
/// about 25 tokens.
const LENGTHS: [usize; 4] = [70, 40, 20, 0];

/// The maximum length of a server's introduction. Longer sentences say more than the purpose of the
/// server.
const SENTENCE: usize = 60;

/// The minimum number of topics that show the purpose of a server.
const ENOUGH_TOPICS: usize = 3;

/// The maximum number of tool names from which topics are taken.
const TOOLS_READ: usize = 500;

/// Verbs in tool names, which do not distinguish servers.
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

/// Words that could describe any server.
static STOP: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a access all allowed allows an and any api are as at based batch by can context current \
     data enables for from has have id in info installed into it its latest mcp model multi \
     multiple my name new of official on one or other our protocol provides server servers \
     service services so such that the their them these this to tool tools up use used user \
     users uses using via when with you your"
        .split(' ')
        .collect()
});

/// Returns the description, with at most half the length allowed for `inspect` on lazy endpoints.
pub(super) fn listing(servers: &Servers, settings: &FacadeSettings) -> ToolIndex {
    ToolIndex::without_instructions(description(servers, settings))
}

fn description(servers: &Servers, settings: &FacadeSettings) -> String {
    let limit = settings.listing_max_chars / 2;
    let said: Vec<(String, Vec<String>)> = servers.offering().map(said).collect();
    if said.is_empty() {
        return format!("{HEAD}\n  (none at the moment)");
    }
    for length in LENGTHS {
        if let Some(text) = render(&said, length, limit) {
            return text;
        }
    }
    let rest = |render: usize| format!("  ... and {} more", grouped(said.len() - render));
    let mut lines = match LineBuffer::new(HEAD, limit.saturating_sub(chars(&rest(0)) + 1)) {
        Some(lines) => lines,
        None => return HEAD.to_owned(),
    };
    let fitting = said
        .iter()
        .take_while(|(line, _)| lines.add(line).is_some());
    let count = fitting.count();
    format!("{}\n{}", lines.finish(), rest(count))
}

/// Returns the description of all servers with a limited number of characters for each.
fn render(said: &[(String, Vec<String>)], length: usize, limit: usize) -> Option<String> {
    let mut lines = LineBuffer::new(HEAD, limit)?;
    for (line, topics) in said {
        let mut line = line.clone();
        let mut room = length;
        for (at, topic) in topics.iter().enumerate() {
            // The first topic may be a sentence, and its beginning is better than nothing.
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

/// Returns a server's line without its topics, and the topics in order of relevance.
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
    // A few tool names show little of the purpose; the instructions and descriptions show more.
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

/// Returns the first sentence of a server's introduction, if it is short and informative.
fn introduction(server: &Server, text: &str) -> Option<String> {
    let own = own_words(server);
    let sentence = first_sentence(text);
    let mut tool_index = words(&sentence)
        .map(singular)
        .filter(|word| !own.contains(word) && !STOP.contains(&**word));
    let is_helpful = tool_index.next().is_some() && tool_index.next().is_some();
    drop(tool_index);
    Some(sentence).filter(|sentence| is_helpful && chars(sentence) <= SENTENCE)
}

fn first_sentence(text: &str) -> String {
    let text = folded(text, 3 * SENTENCE);
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// Returns the topics of a server's tool names, the most frequent first. Two words that usually
/// occur together form one topic.
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
        // Limited, because parts of an extremely long name are not words.
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
    /// The position at which the topic was first seen.
    first: usize,
    /// The number of tool names that contain the topic.
    count: usize,
}

/// Returns the words in a server's id and name.
fn own_words(server: &Server) -> HashSet<String> {
    let name = server.server_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text).unwrap_or_default();
    let all = words(server.id()).chain(words(&name)).map(singular);
    all.collect()
}

/// Returns the words of a text, or of an identifier in any naming style, in lower case.
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

/// Returns the singular of a word, well enough to count `issues` and `issue` as one.
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
