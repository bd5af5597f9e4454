//! Tables of concepts: words and phrases of five languages that mean the same, or
//! nearly, and the words of each language that say nothing.
//!
//! A line of a table is a concept: `name @tag: word, phrase of words, ~doubtful |
//! fr: mot | de: Wort`. Only the words of English, which come first, are needed: a
//! line without a colon has nothing else. `!en:` begins a list of words that say
//! nothing, `?en:` one of words that belong to the way of asking, `.en:` one of
//! words that count in names alone. `#` begins a comment.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::Language;
use super::fold::fold;
use super::stem::stem;
use super::words::{Word, WordReader};
use phrases::Phrases;

mod phrases;

/// Groups of words that mean the same, or nearly.
#[derive(Default)]
pub(crate) struct ConceptTable {
    /// The word behind the `@` of each concept that has one.
    tags: Vec<Option<Box<str>>>,
    english: Lexicon,
    french: Lexicon,
    german: Lexicon,
    spanish: Lexicon,
    chinese: Lexicon,
}

/// A concept that a word or phrase stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConceptMember {
    pub(crate) concept: u16,
    /// 1, or less for words that often mean something else.
    pub(crate) weight: f32,
}

/// How much a word counts that the table calls doubtful.
const DOUBTFUL: f32 = 0.5;

/// Words and phrases of one language.
#[derive(Default)]
struct Lexicon {
    /// Phrases are their words with a space between.
    members: HashMap<String, Vec<ConceptMember>>,
    /// Words that open a phrase.
    openers: HashMap<String, Opener>,
    /// The same phrases, to be found by their words in any order.
    phrases: Phrases,
    fillers: HashSet<String>,
    /// Words of the way of asking.
    framing: HashSet<String>,
    /// Words that count in names alone.
    in_names: HashSet<String>,
    /// The letters of the longest entry.
    longest: usize,
}

/// What may follow a word that opens a phrase.
#[derive(Default)]
struct Opener {
    seconds: HashSet<String>,
    /// The words of the longest phrase.
    longest: usize,
}

impl ConceptTable {
    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }

    /// The tag of each concept, in their order.
    pub(crate) fn tags(&self) -> impl Iterator<Item = Option<&str>> {
        self.tags.iter().map(Option::as_deref)
    }

    /// The concepts of an English word, by its stem.
    pub(crate) fn of_stem(&self, stem: &str) -> &[ConceptMember] {
        self.english.get(stem)
    }

    /// The concepts of a word of one language.
    pub(crate) fn of_word(&self, language: Language, word: &Word) -> &[ConceptMember] {
        self.lexicon(language).get(&key(language, word))
    }

    /// Whether an English phrase begins with a word, by its stem.
    pub(crate) fn opens_phrase(&self, stem: &str) -> bool {
        self.english.openers.contains_key(stem)
    }

    /// The longest phrase of several words that begins here: its concepts, and
    /// how many words it takes.
    pub(crate) fn of_phrase(
        &self,
        language: Language,
        words: &[Word],
    ) -> Option<(&[ConceptMember], usize)> {
        let lexicon = self.lexicon(language);
        let opener = lexicon.openers.get(&*key(language, words.first()?))?;
        // Most words open some phrase, and hardly any that is there.
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

    /// The concepts of phrases most of whose words are there, in whatever order and
    /// with whatever between, best first. The words come with their weights.
    pub(crate) fn of_loose_phrases<'a>(
        &self,
        language: Language,
        words: impl Iterator<Item = (&'a Word, f32)>,
    ) -> Vec<ConceptMember> {
        let words = words.map(|(word, weight)| (key(language, word), weight));
        self.lexicon(language).phrases.find(words)
    }

    /// Returns true if a folded word says nothing.
    pub(crate) fn is_filler(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).fillers.contains(word)
    }

    /// Returns true if a folded word belongs to the way of asking.
    pub(crate) fn is_framing(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).framing.contains(word)
    }

    /// Returns true if a folded word counts in names alone.
    pub(crate) fn counts_in_names(&self, language: Language, word: &str) -> bool {
        self.lexicon(language).in_names.contains(word)
    }

    /// The English words that stand for a concept, by their stems, each with its
    /// concepts; no phrases. In no order.
    pub(crate) fn stems(&self) -> impl Iterator<Item = (&str, &[ConceptMember])> {
        let members = self.english.members.iter();
        let members = members.map(|(stem, members)| (stem.as_str(), members.as_slice()));
        members.filter(|(stem, _)| !stem.contains(' '))
    }

    /// The words of the table inside of a run of letters, longest first at each
    /// place: Chinese has no spaces, and German writes words as one.
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

    /// Returns the language of words, by the little words among them; English if
    /// nothing speaks against it.
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

    /// Reads a table. Tables are part of the program, and a test holds them to
    /// their form; lines of another form are left out here.
    pub(crate) fn parse(table: &str) -> ConceptTable {
        let mut concepts = ConceptTable::default();
        let mut reader = WordReader::default();
        for line in table.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // A concept without a name is English alone.
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

/// The head of a list of words that stand for no concept: `!en`, `?de`, `.fr`.
fn list(head: &str) -> Option<(char, Language)> {
    let sign = head.chars().next().filter(|sign| "!?.".contains(*sign))?;
    Some((sign, Language::parse(&head[1..])?))
}

/// What a word is known by in the table.
fn key(language: Language, word: &Word) -> Cow<'_, str> {
    match language {
        Language::English => Cow::Borrowed(&*word.stem),
        _ => stem(&word.plain, language),
    }
}

#[cfg(test)]
mod tests;
