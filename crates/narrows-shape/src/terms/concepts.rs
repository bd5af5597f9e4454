//! Tables of concepts: words and phrases of five languages with the same or a similar meaning, and
//! the fillers of each language.
//!
//! Each line of a table is a concept: `name @tag: word, phrase of words, ~doubtful | fr: mot | de:
//! Wort`. Only the English words, which come first, are required; a line without a colon contains
//! nothing else. `!en:` begins a list of fillers, `?en:` a list of words that only phrase a
//! question, and `.en:` a list of words that count only in names. `#` begins a comment.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::Language;
use super::fold::fold;
use super::stem::stem;
use super::words::{Word, WordReader};
use phrases::Phrases;

mod phrases;

/// Groups of words with the same or a similar meaning.
#[derive(Default)]
pub(crate) struct ConceptTable {
    /// The word after the `@` of each concept that has one.
    tags: Vec<Option<Box<str>>>,
    english: Lexicon,
    french: Lexicon,
    german: Lexicon,
    spanish: Lexicon,
    chinese: Lexicon,
}

/// A concept that a word or phrase belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConceptMember {
    pub(crate) concept: u16,
    /// 1, or less for ambiguous words.
    pub(crate) weight: f32,
}

/// The weight of words that the table marks as doubtful.
const DOUBTFUL: f32 = 0.5;

/// Words and phrases of one language.
#[derive(Default)]
struct Lexicon {
    /// The concepts of words and phrases. The words of a phrase are joined by spaces.
    members: HashMap<String, Vec<ConceptMember>>,
    /// The words that begin a phrase.
    openers: HashMap<String, Opener>,
    /// The same phrases, for searching by words in any order.
    phrases: Phrases,
    fillers: HashSet<String>,
    /// Words that only phrase a question.
    framing: HashSet<String>,
    /// Words that count only in names.
    in_names: HashSet<String>,
    /// The length of the longest entry in characters.
    longest: usize,
}

/// The phrases that begin with a word.
#[derive(Default)]
struct Opener {
    seconds: HashSet<String>,
    /// The number of words in the longest phrase.
    longest: usize,
}

impl ConceptTable {
    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }

    /// Returns the tags of the concepts, in order.
    pub(crate) fn tags(&self) -> impl Iterator<Item = Option<&str>> {
        self.tags.iter().map(Option::as_deref)
    }

    /// Returns the concepts of an English word, given its stem.
    pub(crate) fn of_stem(&self, stem: &str) -> &[ConceptMember] {
        self.english.get(stem)
    }

    /// Returns the concepts of a word in a language.
    pub(crate) fn of_word(&self, language: Language, word: &Word) -> &[ConceptMember] {
        self.lexicon(language).get(&key(language, word))
    }

    /// Returns `true` if an English phrase begins with a word, given its stem.
    pub(crate) fn opens_phrase(&self, stem: &str) -> bool {
        self.english.openers.contains_key(stem)
    }

    /// Returns the concepts and the number of words of the longest phrase at the beginning of
    /// `words`.
    pub(crate) fn of_phrase(
        &self,
        language: Language,
        words: &[Word],
    ) -> Option<(&[ConceptMember], usize)> {
        let lexicon = self.lexicon(language);
        let opener = lexicon.openers.get(&*key(language, words.first()?))?;
        // Most words begin some phrase, but hardly any of these phrases is present.
        if !opener.seconds.contains(&*key(language, words.get(1)?)) {
            return None;
        }
        let mut phrase = String::new();
        let mut found = None;
        for (at, word) in words.iter().take(opener.longest).enumerate() {
            if at > 0 {
                phrase.push(' ');
            }
            phrase.push_str(&key(language, word));
            if at > 0
                && let Some(members) = lexicon.members.get(&phrase)
            {
                found = Some((members.as_slice(), at + 1));
            }
        }
        found
    }

    /// Returns the concepts of phrases most of whose words are present, in any order and with other
    /// words in between, the best first. `words` contains the words with their weights.
    pub(crate) fn of_loose_phrases<'a>(
        &self,
        language: Language,
        words: impl Iterator<Item = (&'a Word, f32)>,
    ) -> Vec<ConceptMember> {
        let words = words.map(|(word, weight)| (key(language, word), weight));
        self.lexicon(language).phrases.find(words)
    }

    /// Returns `true` if a folded word is a filler without meaning.
    pub(crate) fn is_filler(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).fillers.contains(word)
    }

    /// Returns `true` if a folded word only phrases a question.
    pub(crate) fn is_framing(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).framing.contains(word)
    }

    /// Returns `true` if a folded word counts only in names.
    pub(crate) fn counts_in_names(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).in_names.contains(word)
    }

    /// Returns the stems of the English words in the table, without phrases, each with its
    /// concepts. The order is arbitrary.
    pub(crate) fn stems(&self) -> impl Iterator<Item = (&str, &[ConceptMember])> {
        let members = self.english.members.iter();
        let members = members.map(|(stem, members)| (stem.as_str(), members.as_slice()));
        members.filter(|(stem, _)| !stem.contains(' '))
    }

    /// Returns the words of the table inside a run of letters, preferring the longest at each
    /// position. Chinese has no spaces, and German has compounds.
    pub(crate) fn inside(
        &self,
        language: Language,
        run: &str,
        least: usize,
    ) -> Vec<&[ConceptMember]> {
        let lexicon = self.lexicon(language);
        let places: Vec<usize> = run
            .char_indices()
            .map(|(at, _)| at)
            .chain([run.len()])
            .collect();
        let mut found = Vec::new();
        let mut from = 0;
        while from + least < places.len() {
            let most = lexicon.longest.min(places.len() - 1 - from);
            let mut lengths = (least..=most).rev();
            let hit = lengths.find_map(|length| {
                let piece = &run[places[from]..places[from + length]];
                if lexicon.fillers.contains(piece) {
                    return Some((None, length));
                }
                let members = lexicon.members.get(piece)?;
                Some((Some(members.as_slice()), length))
            });
            match hit {
                Some((members, length)) => {
                    found.extend(members);
                    from += length;
                }
                None => from += 1,
            }
        }
        found
    }

    /// Returns the language of the words, mainly by the fillers among them. The default is English.
    pub(crate) fn language(&self, words: &[Word]) -> Language {
        let count = |language| {
            let words = words.iter().map(|word| match () {
                () if self.is_filler(language, &word.plain) => 2,
                () if word.plain.len() >= 4 && !self.of_word(language, word).is_empty() => 1,
                () => 0,
            });
            words.sum::<u32>()
        };
        let mut best = (Language::English, count(Language::English));
        for language in [Language::French, Language::German, Language::Spanish] {
            let fillers = count(language);
            if fillers > best.1 {
                best = (language, fillers);
            }
        }
        best.0
    }

    fn lexicon(&self, language: Language) -> &Lexicon {
        match language {
            Language::English => &self.english,
            Language::French => &self.french,
            Language::German => &self.german,
            Language::Spanish => &self.spanish,
            Language::Chinese => &self.chinese,
        }
    }

    /// Parses a table. Tables are part of the program, and a test checks their syntax; invalid
    /// lines are ignored here.
    pub(crate) fn parse(table: &str) -> ConceptTable {
        let mut concepts = ConceptTable::default();
        let mut reader = WordReader::default();
        for line in table.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // A line without a name contains only English words.
            let (head, rest) = line.split_once(':').unwrap_or(("", line));
            if let Some((sign, language)) = list(head) {
                let words = rest.split(',').map(|word| fold(word.trim()));
                let lexicon = concepts.lexicon_mut(language);
                match sign {
                    '!' => words.for_each(|word| lexicon.add_filler(word)),
                    '?' => lexicon.framing.extend(words),
                    _ => lexicon.in_names.extend(words),
                }
                continue;
            }
            let tag = head.split_once('@').map(|(_, tag)| tag.trim().into());
            let concept = concepts.tags.len() as u16;
            concepts.tags.push(tag);
            for (at, part) in rest.split('|').enumerate() {
                let (language, words) = match part.split_once(':') {
                    _ if at == 0 => (Some(Language::English), part),
                    Some((language, words)) => (Language::parse(language.trim()), words),
                    None => (None, part),
                };
                if let Some(language) = language {
                    let lexicon = concepts.lexicon_mut(language);
                    lexicon.add(&mut reader, language, words, concept);
                }
            }
        }
        for language in [
            Language::English,
            Language::French,
            Language::German,
            Language::Spanish,
        ] {
            concepts.lexicon_mut(language).phrases.weigh();
        }
        concepts
    }

    fn lexicon_mut(&mut self, language: Language) -> &mut Lexicon {
        match language {
            Language::English => &mut self.english,
            Language::French => &mut self.french,
            Language::German => &mut self.german,
            Language::Spanish => &mut self.spanish,
            Language::Chinese => &mut self.chinese,
        }
    }
}

impl Lexicon {
    fn get(&self, key: &str) -> &[ConceptMember] {
        self.members.get(key).map_or(&[], Vec::as_slice)
    }

    fn add_filler(&mut self, word: String) {
        self.longest = self.longest.max(word.chars().count());
        self.fillers.insert(word);
    }

    fn add(&mut self, reader: &mut WordReader, language: Language, list: &str, concept: u16) {
        for entry in list.split(',') {
            let entry = entry.trim();
            let (entry, weight) = match entry.strip_prefix('~') {
                Some(entry) => (entry, DOUBTFUL),
                None => (entry, 1.0),
            };
            let words = reader.words(entry);
            let key = match language {
                Language::Chinese => fold(entry),
                _ => {
                    let keys: Vec<Cow<'_, str>> =
                        words.iter().map(|word| key(language, word)).collect();
                    if let [opener, second, ..] = &keys[..] {
                        let opener = self.openers.entry(opener.to_string()).or_default();
                        opener.longest = keys.len().max(opener.longest);
                        opener.seconds.insert(second.to_string());
                        self.phrases.add(&keys, ConceptMember { concept, weight });
                    }
                    keys.join(" ")
                }
            };
            if key.is_empty() {
                continue;
            }
            self.longest = self.longest.max(key.chars().count());
            let members = self.members.entry(key).or_default();
            match members.iter_mut().find(|member| member.concept == concept) {
                Some(known) => known.weight = known.weight.max(weight),
                None => members.push(ConceptMember { concept, weight }),
            }
        }
    }
}

/// Parses the head of a list of words without a concept: `!en`, `?de`, `.fr`.
fn list(head: &str) -> Option<(char, Language)> {
    let sign = head.chars().next().filter(|sign| "!?.".contains(*sign))?;
    Some((sign, Language::parse(&head[1..])?))
}

/// Returns the key of a word in the table.
fn key(language: Language, word: &Word) -> Cow<'_, str> {
    match language {
        Language::English => Cow::Borrowed(&*word.stem),
        _ => stem(&word.plain, language),
    }
}

#[cfg(test)]
mod tests;
