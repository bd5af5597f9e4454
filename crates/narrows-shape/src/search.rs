//! Finds the tools for a task among many, by the words of the task.
//!
//! Word matching alone is weak, since people do not ask in the words of a
//! catalogue. So words are compared without their endings (`terms`), and by
//! what they stand for: a table of concepts with their words and phrases in five
//! languages (`concepts`). Values say by their form what they are (`values`). What
//! a line of a query asks for (`query`) is looked up in two corpora (`corpus`), one
//! of tools and one of servers, since a task mostly names the domain before the
//! tool (`domains`); and a tool that does something else to the right object goes
//! behind the one that does what was asked (`actions`).
//!
//! Pure and deterministic: an [`Index`] is made of texts and answers with places
//! in them. Nothing in a text or a query is obeyed.

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
use domains::Profile;
use query::Line;

/// A server as the search sees it.
#[derive(Clone, Copy, Debug)]
pub struct ServerText<'a> {
    pub name: &'a str,
    pub instructions: &'a str,
}

/// A tool as the search sees it.
#[derive(Clone, Copy, Debug)]
pub struct ToolText<'a> {
    /// Which of the servers offers it, by its place among them.
    pub server: usize,
    pub name: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    /// The name and description of each.
    pub parameters: &'a [(Cow<'a, str>, Cow<'a, str>)],
}

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Which one, by its place among the tools the index was made of.
    pub tool: usize,
    /// Comparable within one answer only.
    pub score: f32,
}

/// Tools, ready to be searched.
pub struct Index {
    vocabulary: Vocabulary,
    tools: Corpus,
    servers: Corpus,
    /// What each server is for.
    profiles: Vec<Profile>,
    /// What else is known of each tool.
    facts: Vec<Facts>,
}

struct Facts {
    server: usize,
    actions: Actions,
    /// A factor that falls with the words of the name.
    brevity: f32,
    /// The words of the name that tell it from its neighbours, with their shares.
    name: Vec<(u32, f32)>,
}

// How much of a text is read, in bytes, and how much its words count. Long
// fields are divided by their length, where about so many words are usual.
const NAME: Field = Field::new(200, 3.0, 3.0, 1.0);
const TITLE: Field = Field::new(200, 1.0, 4.0, 1.0);
const FIRST_SENTENCE: Field = Field::new(300, 1.5, 12.0, 1.0);
/// Examples and remarks speak of much that the tool does not do.
const DESCRIPTION: Field = Field::new(4000, 0.4, 60.0, 0.5);
const PARAMETERS: Field = Field::new(100, 0.3, 6.0, 1.0);
const ABOUT_PARAMETERS: Field = Field::new(300, 0.25, 60.0, 1.0);
const MOST_PARAMETERS: usize = 64;

const SERVER_NAME: f32 = 2.0;
const INSTRUCTIONS: f32 = 0.1;
const INSTRUCTION_BYTES: usize = 2000;
/// Each tool's part in its server's text falls with their number, but slower: a
/// server with many tools is about more.
const CROWDING: f32 = -0.7;
/// The first sentence, against the name.
const SENTENCE_OF_TOOL: f32 = 0.3;
/// All tools together, against the server's name, in what it is for.
const TOOLS_IN_PROFILE: f32 = 3.0;

/// What a fitting server adds to a fitting tool.
const SERVER: f32 = 0.4;
const DOMAIN: f32 = 0.15;
/// What a tool loses whose name says more than was asked for.
const UNCOVERED: f32 = 0.15;
/// Tools with long names are for special cases of what others do.
const BREVITY: f32 = -0.1;
/// What a server that fits gives to those of its tools that have nothing of what
/// is asked, against the others: behind them, but found.
const SERVER_ALONE: f32 = 0.3;
/// A server fits if it does so half as well as the best one.
const FITS: f32 = 0.5;

impl Index {
    /// Reads servers and tools. Of very long texts only the beginning counts. A
    /// tool of no server is found by its own words.
    pub fn new(servers: &[ServerText<'_>], tools: &[ToolText<'_>]) -> Index {
        let mut vocabulary = Vocabulary::default();
        let mut reader = WordReader::default();
        let mut profiles = vec![Profile::new(); servers.len()];
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
        profiles.iter_mut().for_each(Profile::finish);
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

    /// Best first, at most `limit`, and only tools that have anything of what is
    /// asked, or whose server has. `server` restricts the answer to the tools of one. Several lines
    /// are several ways to ask for the same; of very long queries only the
    /// beginning counts.
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

    /// Adds what each tool is worth for a line.
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

/// How a field of a tool is read.
struct Field {
    bytes: usize,
    weight: f32,
    /// How many words are usual.
    usual: f32,
    /// What concepts count, against words.
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

/// Leaves of each name the words that tell it from the others of its server, and
/// gives each its share: what half of the names have is a prefix.
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
