//! Finds the tools for a task by the words of the task.
//!
//! Matching words alone is weak, because people do not use the words of a catalogue. Words are
//! therefore compared by their stems (`terms`) and by their meaning: a table of concepts lists
//! words and phrases in five languages (`concepts`). Values are recognised by their form
//! (`values`). The terms of a query line (`query`) are looked up in two corpora (`corpus`), one of
//! tools and one of servers, because a task usually names the domain before the tool (`domains`). A
//! tool that performs a different action on the right object ranks below the one that performs the
//! requested action (`actions`).
//!
//! Pure and deterministic: an [`Index`] is built from texts and returns indices of tools.
//! Instructions in texts and queries are never followed.

mod actions;
mod concepts;
mod corpus;
mod domains;
mod query;
mod query_words;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::terms::{Word, WordReader};
use actions::Actions;
use corpus::{Corpus, Text, Vocabulary, Wanted};
use domains::DomainProfile;
use query::Line;

/// The texts of a server that are searched.
#[derive(Clone, Copy, Debug)]
pub struct ServerText<'a> {
    pub name: &'a str,
    pub instructions: &'a str,
}

/// The texts of a tool that are searched.
#[derive(Clone, Copy, Debug)]
pub struct ToolText<'a> {
    /// The index of the tool's server.
    pub server: usize,
    pub name: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    /// The name and description of each parameter.
    pub parameters: &'a [(Cow<'a, str>, Cow<'a, str>)],
}

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The index of the tool in the list that the index was built from.
    pub tool: usize,
    /// The score, comparable only within one answer.
    pub score: f32,
}

/// A search index of tools.
pub struct Index {
    vocabulary: Vocabulary,
    tools: Corpus,
    servers: Corpus,
    /// The domain profile of each server.
    profiles: Vec<DomainProfile>,
    /// Further properties of each tool.
    facts: Vec<Facts>,
}

struct Facts {
    server: usize,
    actions: Actions,
    /// A factor that decreases with the number of words in the name.
    brevity: f32,
    /// The words that distinguish the name from others of the server, with their shares.
    name: Vec<(u32, f32)>,
}

// For each field: the bytes read, the weight of its words, the usual number of words, and the
// weight of its concepts. Words count less in longer fields.
const NAME: Field = Field::new(200, 3.0, 3.0, 1.0);
const TITLE: Field = Field::new(200, 1.0, 4.0, 1.0);
const FIRST_SENTENCE: Field = Field::new(300, 1.5, 12.0, 1.0);
/// Examples and remarks often mention things that the tool does not do.
const DESCRIPTION: Field = Field::new(4000, 0.4, 60.0, 0.5);
const PARAMETERS: Field = Field::new(100, 0.3, 6.0, 1.0);
const ABOUT_PARAMETERS: Field = Field::new(300, 0.25, 60.0, 1.0);
const MOST_PARAMETERS: usize = 64;

const SERVER_NAME: f32 = 2.0;
const INSTRUCTIONS: f32 = 0.1;
const INSTRUCTION_BYTES: usize = 2000;
/// The exponent by which the weight of each tool in its server's text falls with the number of
/// tools. It is above -1, because a server with many tools covers more topics.
const CROWDING: f32 = -0.7;
/// The weight of the first sentence relative to the tool's name.
const SENTENCE_OF_TOOL: f32 = 0.3;
/// The weight of all tools together in the server's profile, relative to its name.
const TOOLS_IN_PROFILE: f32 = 3.0;

/// The weight of a matching server in the score of a matching tool.
const SERVER: f32 = 0.4;
const DOMAIN: f32 = 0.15;
/// The largest reduction for a tool whose name contains more than the query asks for.
const UNCOVERED: f32 = 0.15;
/// The exponent that ranks long names lower. They usually belong to special cases.
const BREVITY: f32 = -0.1;
/// The weight of a matching server for those of its tools that do not match themselves. They rank
/// below the matching ones, but are found.
const SERVER_ALONE: f32 = 0.3;
/// The lowest score of a matching server, relative to the best one.
const FITS: f32 = 0.5;

impl Index {
    /// Builds an index of servers and tools. Only the beginning of very long texts counts. A tool
    /// without a server is found by its own words.
    pub fn new(servers: &[ServerText<'_>], tools: &[ToolText<'_>]) -> Index {
        let mut vocabulary = Vocabulary::default();
        let mut reader = WordReader::default();
        let mut profiles = vec![DomainProfile::new(); servers.len()];
        let mut server_texts = Vec::new();
        for (server, profile) in servers.iter().zip(&mut profiles) {
            let name = reader.words(cut(server.name, NAME.bytes));
            let instructions = reader.words(cut(server.instructions, INSTRUCTION_BYTES));
            let mut text = Text::new();
            text.add(&mut vocabulary, &name, SERVER_NAME, 1.0);
            text.add(&mut vocabulary, &instructions, INSTRUCTIONS, 1.0);
            server_texts.push(text);
            profile.add(&name, 1.0);
        }
        let mut counts = vec![0_u32; servers.len()];
        for tool in tools {
            if let Some(count) = counts.get_mut(tool.server) {
                *count += 1;
            }
        }
        let mut tool_texts = Vec::new();
        let mut facts = Vec::new();
        for tool in tools {
            let words = ToolWords::read(&mut reader, tool);
            tool_texts.push(words.text(&mut vocabulary));
            if let Some(server) = server_texts.get_mut(tool.server) {
                let count = counts[tool.server] as f32;
                let part = count.powf(CROWDING);
                server.add(&mut vocabulary, &words.name, part, 1.0);
                server.add(
                    &mut vocabulary,
                    &words.sentence,
                    part * SENTENCE_OF_TOOL,
                    1.0,
                );
                let part = TOOLS_IN_PROFILE / count;
                profiles[tool.server].add(&words.name, part);
                profiles[tool.server].add(&words.sentence, part * SENTENCE_OF_TOOL);
            }
            let name = words
                .name
                .iter()
                .map(|word| (vocabulary.number(&word.stem), 0.0));
            facts.push(Facts {
                server: tool.server,
                actions: Actions::of_tool(&words.name, &words.sentence),
                brevity: (1.0 + words.name.len() as f32).powf(BREVITY),
                name: name.collect(),
            });
        }
        profiles.iter_mut().for_each(DomainProfile::finish);
        let tools = Corpus::of(tool_texts);
        weigh_names(&mut facts, &counts, &tools);
        Index {
            vocabulary,
            tools,
            servers: Corpus::of(server_texts),
            profiles,
            facts,
        }
    }

    /// Returns at most `limit` tools, the best first. A tool is included if it matches the query or
    /// if its server does. `server` restricts the result to the tools of one server. The lines of a
    /// query are different wordings of the same request. Only the beginning of a very long query
    /// counts.
    pub fn search(&self, query: &str, server: Option<usize>, limit: usize) -> Vec<Hit> {
        let mut scores = vec![0.0; self.facts.len()];
        for line in query::lines(query) {
            self.score(&line, &mut scores);
        }
        let hits = scores.into_iter().enumerate();
        let hits = hits.map(|(tool, score)| Hit { tool, score });
        let mut hits: Vec<Hit> = hits
            .filter(|hit| hit.score > 0.0)
            .filter(|hit| server.is_none_or(|server| self.facts[hit.tool].server == server))
            .collect();
        let order = |a: &Hit, b: &Hit| b.score.total_cmp(&a.score).then(a.tool.cmp(&b.tool));
        if (1..hits.len()).contains(&limit) {
            hits.select_nth_unstable_by(limit, order);
        }
        hits.truncate(limit);
        hits.sort_unstable_by(order);
        hits
    }

    /// Adds the score of each tool for a line.
    fn score(&self, line: &Line, scores: &mut [f32]) {
        let found = self.tools.score(&self.vocabulary, &line.asks);
        let lifts = self.servers.score(&self.vocabulary, &line.asks);
        let lifts = lifts.into_iter().zip(&self.profiles);
        let lifts =
            lifts.map(|(score, profile)| SERVER * score + DOMAIN * profile.likeness(&line.about));
        let lifts: Vec<f32> = lifts.collect();
        let fits = FITS * lifts.iter().copied().fold(0.0, f32::max);
        let wanted = Wanted::new(&self.vocabulary, &line.asks);
        for ((score, facts), found) in scores.iter_mut().zip(&self.facts).zip(found) {
            let lift = lifts.get(facts.server).copied().unwrap_or_default();
            let action = facts.actions.fit(line.actions);
            if found > 0.0 {
                let covered = wanted.covers(&self.vocabulary, &facts.name);
                let name = facts.brevity * (1.0 - UNCOVERED * (1.0 - covered));
                *score += (found + lift) * action * name;
            } else if lift >= fits {
                *score += SERVER_ALONE * lift * action * facts.brevity;
            }
        }
    }
}

/// The parameters for reading a field of a tool.
struct Field {
    bytes: usize,
    weight: f32,
    /// The usual number of words.
    usual: f32,
    /// The weight of concepts relative to words.
    concepts: f32,
}

impl Field {
    const fn new(bytes: usize, weight: f32, usual: f32, concepts: f32) -> Field {
        Field {
            bytes,
            weight,
            usual,
            concepts,
        }
    }

    fn read(&self, reader: &mut WordReader, text: &str) -> Vec<Word> {
        reader.words(cut(text, self.bytes))
    }

    fn add(&self, text: &mut Text, vocabulary: &mut Vocabulary, words: &[Word]) {
        let length = 0.5 + 0.5 * words.len() as f32 / self.usual;
        text.add(vocabulary, words, self.weight / length, self.concepts);
    }
}

/// The words of a tool's fields.
struct ToolWords {
    name: Vec<Word>,
    title: Vec<Word>,
    sentence: Vec<Word>,
    description: Vec<Word>,
    parameters: Vec<Word>,
    about_parameters: Vec<Word>,
}

impl ToolWords {
    fn read(reader: &mut WordReader, tool: &ToolText<'_>) -> ToolWords {
        let (sentence, rest) = first_sentence(tool.description);
        let mut words = ToolWords {
            name: NAME.read(reader, tool.name),
            title: TITLE.read(reader, tool.title),
            sentence: FIRST_SENTENCE.read(reader, sentence),
            description: DESCRIPTION.read(reader, rest),
            parameters: Vec::new(),
            about_parameters: Vec::new(),
        };
        for (name, description) in tool.parameters.iter().take(MOST_PARAMETERS) {
            words.parameters.extend(PARAMETERS.read(reader, name));
            words
                .about_parameters
                .extend(ABOUT_PARAMETERS.read(reader, description));
        }
        words
    }

    fn text(&self, vocabulary: &mut Vocabulary) -> Text {
        let mut text = Text::new();
        let fields = [
            (NAME, &self.name),
            (TITLE, &self.title),
            (FIRST_SENTENCE, &self.sentence),
            (DESCRIPTION, &self.description),
            (PARAMETERS, &self.parameters),
            (ABOUT_PARAMETERS, &self.about_parameters),
        ];
        for (field, words) in fields {
            field.add(&mut text, vocabulary, words);
        }
        text
    }
}

/// Keeps the words of each name that distinguish it from others of its server, and computes their
/// shares. A word in more than half of the names is a prefix.
fn weigh_names(facts: &mut [Facts], counts: &[u32], tools: &Corpus) {
    let mut with: HashMap<(usize, u32), u32> = HashMap::new();
    for tool in &*facts {
        for &(word, _) in &tool.name {
            *with.entry((tool.server, word)).or_default() += 1;
        }
    }
    for tool in facts {
        let count = counts.get(tool.server).copied().unwrap_or_default();
        let with = |word| with.get(&(tool.server, word)).copied().unwrap_or_default();
        tool.name
            .retain(|&(word, _)| count < 4 || with(word) * 2 <= count);
        for (word, share) in &mut tool.name {
            *share = tools.rarity(*word);
        }
        let sum: f32 = tool.name.iter().map(|word| word.1).sum();
        if sum > 0.0 {
            tool.name.iter_mut().for_each(|word| word.1 /= sum);
        }
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn first_sentence(text: &str) -> (&str, &str) {
    let text = cut(text.trim_start(), FIRST_SENTENCE.bytes + DESCRIPTION.bytes);
    let line = text.find('\n').unwrap_or(text.len());
    let end = text[..line].find(". ").map_or(line, |at| at + 1);
    text.split_at(text.floor_char_boundary(end.min(FIRST_SENTENCE.bytes)))
}

#[cfg(test)]
mod tests;
