//! What people call the things that tools work with and do, and what servers
//! are for: the tables `concepts.txt` and `domains.txt`, read once, and looked up
//! by words and phrases in five languages.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::words::{self, Reader, Word};
use phrases::Phrases;

mod phrases;

/// What tools work with and do.
pub(super) static CONCEPTS: LazyLock<Concepts> =
    LazyLock::new(|| Concepts::parse(include_str!("concepts.txt")));

/// What servers are for, in the same form.
pub(super) static DOMAINS: LazyLock<Concepts> =
    LazyLock::new(|| Concepts::parse(include_str!("domains.txt")));

/// Groups of words that mean the same, or nearly.
#[derive(Default)]
pub(super) struct Concepts {
    /// The word behind the `@` of each concept that has one.
    tags: Vec<Option<Box<str>>>,
    english: Lexicon,
    french: Lexicon,
    german: Lexicon,
    spanish: Lexicon,
    chinese: Lexicon,
}

/// A language the table knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    French,
    German,
    Spanish,
    Chinese,
}

/// That a word or phrase stands for a concept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) concept: u16,
    /// 1, or less for words that often mean something else.
    pub(super) weight: f32,
}

/// How much a word counts that the table calls doubtful.
const DOUBTFUL: f32 = 0.5;
/// Words and phrases of one language.
#[derive(Default)]
struct Lexicon {
    /// Phrases are their words with a space between.
    members: HashMap<String, Vec<Member>>,
    /// Words that open a phrase.
    openers: HashMap<String, Opener>,
    /// The same phrases, to be found by their words in any order.
    phrases: Phrases,
    fillers: HashSet<String>,
    /// Words that open a question.
    askers: HashSet<String>,
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

impl Concepts {
    pub(super) fn len(&self) -> usize {
        self.tags.len()
    }

    /// The tag of each concept, in their order.
    pub(super) fn tags(&self) -> impl Iterator<Item = Option<&str>> {
        self.tags.iter().map(Option::as_deref)
    }

    /// The concepts of an English word, by its stem.
    pub(super) fn of_stem(&self, stem: &str) -> &[Member] {
        self.english.get(stem)
    }

    /// The concepts of a word of one language.
    pub(super) fn of_word(&self, language: Language, word: &Word) -> &[Member] {
        self.lexicon(language).get(key(language, word))
    }

    /// Whether an English phrase begins with a word, by its stem.
    pub(super) fn opens_phrase(&self, stem: &str) -> bool {
        self.english.openers.contains_key(stem)
    }

    /// The longest phrase of several words that begins here: its concepts, and
    /// how many words it takes.
    pub(super) fn of_phrase(
        &self,
        language: Language,
        words: &[Word],
    ) -> Option<(&[Member], usize)> {
        let lexicon = self.lexicon(language);
        let opener = lexicon.openers.get(key(language, words.first()?))?;
        // Most words open some phrase, and hardly any that is there.
        if !opener.seconds.contains(key(language, words.get(1)?)) {
            return None;
        }
        let mut phrase = String::new();
        let mut found = None;
        for (at, word) in words.iter().take(opener.longest).enumerate() {
            if at > 0 {
                phrase.push(' ');
            }
            phrase.push_str(key(language, word));
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
    pub(super) fn of_loose_phrases<'a>(
        &self,
        language: Language,
        words: impl Iterator<Item = (&'a Word, f32)>,
    ) -> Vec<Member> {
        let words = words.map(|(word, weight)| (key(language, word), weight));
        self.lexicon(language).phrases.find(words)
    }

    pub(super) fn is_filler(&self, language: Language, word: &Word) -> bool {
        let fillers = &self.lexicon(language).fillers;
        fillers.contains(&*word.plain)
    }

    /// Whether a line that opens with these words is a question.
    pub(super) fn is_question(&self, language: Language, words: &[Word]) -> bool {
        let askers = &self.lexicon(language).askers;
        words
            .first()
            .is_some_and(|word| askers.contains(&*word.plain))
    }

    /// The words of the table inside of a run of letters, longest first at each
    /// place: Chinese has no spaces, and German writes words as one.
    pub(super) fn inside(&self, language: Language, run: &str, least: usize) -> Vec<&[Member]> {
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

    /// Which language words are in, by the little words they have; English if
    /// nothing speaks against it.
    pub(super) fn language(&self, words: &[Word]) -> Language {
        let count = |language| {
            let words = words.iter().map(|word| match () {
                () if self.is_filler(language, word) => 2,
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

    /// Reads the table. It is part of the program, and a test holds it to its
    /// form; what has another form is left out here.
    fn parse(table: &str) -> Concepts {
        let mut concepts = Concepts::default();
        let mut reader = Reader::default();
        for line in table.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((head, rest)) = line.split_once(':') else {
                continue;
            };
            if let Some(language) = head.strip_prefix('!').and_then(Language::parse) {
                concepts.lexicon_mut(language).add_fillers(rest);
                continue;
            }
            if let Some(language) = head.strip_prefix('?').and_then(Language::parse) {
                let askers = rest.split(',').map(|word| words::fold(word.trim()));
                concepts.lexicon_mut(language).askers.extend(askers);
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
    fn get(&self, key: &str) -> &[Member] {
        self.members.get(key).map_or(&[], Vec::as_slice)
    }

    fn add_fillers(&mut self, list: &str) {
        for word in list.split(',') {
            let word = words::fold(word.trim());
            self.longest = self.longest.max(word.chars().count());
            self.fillers.insert(word);
        }
    }

    fn add(&mut self, reader: &mut Reader, language: Language, list: &str, concept: u16) {
        for entry in list.split(',') {
            let entry = entry.trim();
            let (entry, weight) = match entry.strip_prefix('~') {
                Some(entry) => (entry, DOUBTFUL),
                None => (entry, 1.0),
            };
            let words = reader.words(entry);
            let key = match language {
                Language::Chinese => words::fold(entry),
                _ => {
                    let keys: Vec<&str> = words.iter().map(|word| key(language, word)).collect();
                    if let [opener, second, ..] = keys[..] {
                        let opener = self.openers.entry(opener.to_owned()).or_default();
                        opener.longest = keys.len().max(opener.longest);
                        opener.seconds.insert(second.to_owned());
                        self.phrases.add(&keys, Member { concept, weight });
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
                None => members.push(Member { concept, weight }),
            }
        }
    }
}

impl Language {
    fn parse(text: &str) -> Option<Language> {
        match text {
            "en" => Some(Language::English),
            "fr" => Some(Language::French),
            "de" => Some(Language::German),
            "es" => Some(Language::Spanish),
            "zh" => Some(Language::Chinese),
            _ => None,
        }
    }
}

/// What a word is known by in the table.
fn key(language: Language, word: &Word) -> &str {
    match language {
        Language::English => &word.stem,
        _ => words::stem_abroad(&word.plain),
    }
}

#[cfg(test)]
mod tests;
