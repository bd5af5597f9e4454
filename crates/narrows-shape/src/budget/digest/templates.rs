//! Mines the templates of a log in one pass.
//!
//! Lines of one template have the same words at most of the same positions; numbers and identifiers
//! are masked. A line is compared with the templates that have the same pattern of words, numbers
//! and identifiers (as Drain does with lines of the same length). A position at which words differ
//! becomes a slot.

use std::collections::HashMap;
use std::ops::Range;

use super::chunks::{self, Chunk, ChunkKind};
use super::slots::{self, Slot, Usual};
use crate::prune::{Deadline, Lines, OutOfTime};

/// The maximum number of templates of one pattern that a new line is compared with. Later templates
/// match only lines with the same words.
const MOST_COMPARED: usize = 32;
/// The share of words, as 1/n, that must be equal for a line to match a template.
const EQUAL: usize = 2;
/// Limits for words that may be identifiers: the minimum number of letters, all of them from `a` to
/// `f`, and the number of leading chunks that are tried.
const SHORTEST_ID: usize = 4;
const MOST_TRIED: usize = 24;
/// The minimum number of bits of a value that is reported.
const LEAST_BITS: f32 = 1.0;
/// The interval between deadline checks, in lines.
const LINES_PER_CHECK: usize = 1_024;

/// The templates of a text.
pub(crate) struct Templates {
    pub(crate) all: Vec<Template>,
    /// The template of each line; blank lines have none.
    pub(crate) of_line: Vec<u32>,
    /// The number of lines that have a template.
    pub(crate) lines: u32,
}

/// Marks lines without a template.
pub(crate) const NONE: u32 = u32::MAX;

/// A group of similar lines.
pub(crate) struct Template {
    pub(crate) count: u32,
    /// The first line of the template.
    pub(crate) first: usize,
    places: Vec<ChunkPosition>,
}

/// One chunk position of a template.
struct ChunkPosition {
    kind: PlaceKind,
    /// The position of the first occurrence in the text.
    first: Range<usize>,
    /// The values, if they differ. Most positions never need a slot.
    slot: Option<Box<Slot>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    /// The same word in all lines.
    Constant(u64),
    Words,
    Numbers,
    Ids,
}

impl Templates {
    /// Finds the templates of the lines of a text.
    pub(crate) fn mine(lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<Templates, OutOfTime> {
        let mut miner = Miner::default();
        let mut of_line = Vec::with_capacity(lines.len());
        let mut chunks = Vec::new();
        let mut start = 0;
        for (at, line) in lines.iter().enumerate() {
            if at % LINES_PER_CHECK == 0 {
                deadline.check()?;
            }
            chunks::read(line, &mut chunks);
            of_line.push(match line.trim_ascii().is_empty() {
                true => NONE,
                false => miner.add(at, start, &chunks),
            });
            start += line.len() + 1;
        }
        let lines = of_line.iter().filter(|&&template| template != NONE).count();
        Ok(Templates {
            all: miner.templates,
            of_line,
            lines: lines as u32,
        })
    }

    /// Returns the surprise of every line: that of its template and that of its values.
    pub(crate) fn surprises(
        &self,
        lines: &Lines<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<Surprise>, OutOfTime> {
        let counts = self.all.iter().map(|template| template.count);
        let entropy = slots::entropy(counts, self.lines);
        let usual: Vec<Vec<Usual>> = self.all.iter().map(Template::usual).collect();
        let mut chunks = Vec::new();
        let mut surprises = Vec::with_capacity(lines.len());
        for (at, (line, &of)) in lines.iter().zip(&self.of_line).enumerate() {
            if at % LINES_PER_CHECK == 0 {
                deadline.check()?;
            }
            let Some(template) = self.all.get(of as usize) else {
                surprises.push(Surprise::default());
                continue;
            };
            let by_template = slots::surplus(self.lines, template.count) - entropy;
            let mut surprise = Surprise {
                template: by_template.max(0.0),
                ..Surprise::default()
            };
            if usual[of as usize]
                .iter()
                .any(|usual| usual.most() >= LEAST_BITS)
            {
                chunks::read(line, &mut chunks);
                template.values(&usual[of as usize], &chunks, &mut surprise);
            }
            surprises.push(surprise);
        }
        Ok(surprises)
    }
}

/// The surprise of a line, in bits.
#[derive(Clone, Default)]
pub(crate) struct Surprise {
    pub(crate) template: f32,
    pub(crate) value: f32,
    /// The position of the most unusual value in the line.
    chunk: (u16, u16),
}

impl Surprise {
    /// Returns the position of the most unusual value in the line.
    pub(crate) fn chunk(&self) -> Range<usize> {
        usize::from(self.chunk.0)..usize::from(self.chunk.1)
    }
}

#[derive(Default)]
struct Miner {
    templates: Vec<Template>,
    /// Templates by all words and masked chunks.
    exact: HashMap<u64, u32>,
    /// Templates by pattern only.
    similar: HashMap<u64, Vec<u32>>,
}

impl Miner {
    /// Adds a line that begins at `start` in the text.
    fn add(&mut self, line: usize, start: usize, chunks: &[Chunk]) -> u32 {
        let (exact, pattern) = keys(chunks);
        let known = self.exact.get(&exact).copied();
        let id = known.unwrap_or_else(|| {
            let found = self.find_by_id(chunks);
            let found = found.or_else(|| self.find(pattern, chunks));
            let id = found.unwrap_or_else(|| self.create(line, start, pattern, chunks));
            self.exact.insert(exact, id);
            id
        });
        if let Some(template) = self.templates.get_mut(id as usize) {
            template.add(start, chunks);
        }
        id
    }

    /// Finds the template that differs only in one word, where the template has identifiers. Some
    /// hexadecimal identifiers happen to contain no digit.
    fn find_by_id(&self, chunks: &[Chunk]) -> Option<u32> {
        let may_be_id =
            |chunk: &Chunk| chunk.kind == ChunkKind::Word && chunk.span.len() >= SHORTEST_ID;
        let words = chunks.iter().enumerate().take(MOST_TRIED);
        for (at, word) in words.filter(|(_, chunk)| chunk.has_hex_only && may_be_id(chunk)) {
            let masked = chunks
                .iter()
                .enumerate()
                .map(|(nth, chunk)| match nth == at {
                    true => None,
                    false => Some(chunk),
                });
            let found = self.exact.get(&keys_of(masked).0).copied();
            let template = |id: &u32| self.templates.get(*id as usize);
            let is_id = |id: &u32| {
                let place = template(id).and_then(|template| template.places.get(at));
                place.is_some_and(|place| {
                    place.kind == PlaceKind::Ids && place.first.len() == word.span.len()
                })
            };
            if let Some(id) = found.filter(is_id) {
                return Some(id);
            }
        }
        None
    }

    fn find(&self, pattern: u64, chunks: &[Chunk]) -> Option<u32> {
        let words = chunks
            .iter()
            .filter(|it| it.kind == ChunkKind::Word)
            .count();
        let candidates = self.similar.get(&pattern)?;
        let equal = |&id: &u32| (self.templates[id as usize].equal_words(chunks), id);
        let best = candidates
            .iter()
            .map(equal)
            .max_by_key(|(equal, id)| (*equal, u32::MAX - id));
        let (equal, id) = best?;
        (equal * EQUAL >= words && (equal > 0 || words == 0)).then_some(id)
    }

    fn create(&mut self, line: usize, start: usize, pattern: u64, chunks: &[Chunk]) -> u32 {
        let id = self.templates.len() as u32;
        let place = |chunk: &Chunk| ChunkPosition {
            kind: match chunk.kind {
                ChunkKind::Word => PlaceKind::Constant(chunk.hash),
                ChunkKind::Number(_) => PlaceKind::Numbers,
                ChunkKind::Id => PlaceKind::Ids,
            },
            first: start + chunk.span.start..start + chunk.span.end,
            slot: None,
        };
        self.templates.push(Template {
            count: 0,
            first: line,
            places: chunks.iter().map(place).collect(),
        });
        let similar = self.similar.entry(pattern).or_default();
        if similar.len() < MOST_COMPARED {
            similar.push(id);
        }
        id
    }
}

/// Returns the hash of the masked chunks and the hash of their pattern. An identifier may happen to
/// consist of digits only, so numbers and identifiers are masked alike.
fn keys(chunks: &[Chunk]) -> (u64, u64) {
    keys_of(chunks.iter().map(Some))
}

/// Returns the same hashes; `None` stands for a masked chunk of any kind.
fn keys_of<'a>(chunks: impl Iterator<Item = Option<&'a Chunk>>) -> (u64, u64) {
    let mix =
        |hash: u64, value: u64| (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    let add = |(exact, pattern), chunk: Option<&Chunk>| match chunk {
        Some(chunk) if chunk.kind == ChunkKind::Word => (mix(exact, chunk.hash), mix(pattern, 1)),
        _ => (mix(exact, 2), mix(pattern, 2)),
    };
    chunks.fold((0, 0), add)
}

impl Template {
    fn equal_words(&self, chunks: &[Chunk]) -> usize {
        let is_equal = |(place, chunk): &(&ChunkPosition, &Chunk)| {
            place.kind == PlaceKind::Constant(chunk.hash)
        };
        self.places.iter().zip(chunks).filter(is_equal).count()
    }

    fn add(&mut self, start: usize, chunks: &[Chunk]) {
        for (place, chunk) in self.places.iter_mut().zip(chunks) {
            if place.kind == PlaceKind::Constant(chunk.hash) {
                continue;
            }
            let span = start + chunk.span.start..start + chunk.span.end;
            let slot = place.slot.get_or_insert_default();
            match (place.kind, chunk.kind) {
                (PlaceKind::Constant(word), _) => {
                    place.kind = PlaceKind::Words;
                    slot.add(word, &place.first, self.count);
                    slot.add(chunk.hash, &span, 1);
                }
                (PlaceKind::Numbers, ChunkKind::Number(number)) => {
                    slot.add_number(number, &span);
                }
                (PlaceKind::Numbers, _) => {
                    place.kind = PlaceKind::Ids;
                    slot.add(chunk.hash, &span, 1);
                }
                _ => slot.add(chunk.hash, &span, 1),
            }
        }
        self.count += 1;
    }

    fn usual(&self) -> Vec<Usual> {
        let usual = |place: &ChunkPosition| {
            let slot = place.slot.as_ref();
            slot.map_or_else(Usual::default, |slot| slot.usual())
        };
        self.places.iter().map(usual).collect()
    }

    /// Records the most surprising value of a line.
    fn values(&self, usual: &[Usual], chunks: &[Chunk], surprise: &mut Surprise) {
        for ((place, usual), chunk) in self.places.iter().zip(usual).zip(chunks) {
            if usual.most() < LEAST_BITS {
                continue;
            }
            let Some(slot) = &place.slot else {
                continue;
            };
            let value = match (place.kind, chunk.kind) {
                (PlaceKind::Numbers, ChunkKind::Number(number)) => {
                    slot.surprise_of_number(usual, number)
                }
                _ => slot.surprise(usual, chunk.hash),
            };
            if value > surprise.value {
                surprise.value = value;
                // The offsets fit into 16 bits, because only the first 2 KiB of a line are read.
                surprise.chunk = (chunk.span.start as u16, chunk.span.end as u16);
            }
        }
    }

    /// Returns the template as text: its first line with slots in braces.
    pub(crate) fn pattern(&self, lines: &Lines<'_>) -> String {
        let line = lines.line(self.first);
        let mut chunks = Vec::new();
        chunks::read(line, &mut chunks);
        let mut pattern = String::new();
        let mut next = 0;
        for (place, chunk) in self.places.iter().zip(&chunks) {
            pattern.push_str(&line[next..chunk.span.start]);
            next = chunk.span.end;
            let own = &line[chunk.span.clone()];
            let slot = place.slot.as_deref();
            let Some(slot) = slot.filter(|slot| slot.len() > 1 || slot.has_many()) else {
                pattern.push_str(own);
                continue;
            };
            match place.kind {
                PlaceKind::Constant(_) => pattern.push_str(own),
                PlaceKind::Numbers => pattern.push_str(&slot.range_text()),
                PlaceKind::Words => pattern.push_str(&slot.words_text(lines.text())),
                PlaceKind::Ids if own.contains(':') => pattern.push_str("{time}"),
                PlaceKind::Ids => pattern.push_str("{id}"),
            }
        }
        pattern.push_str(&line[next..]);
        pattern
    }
}

impl Slot {
    /// Writes the numbers as `{12..60}`, or as `{12..60, at most 98123}` if there are outliers.
    fn range_text(&self) -> String {
        let (least, most) = self.span();
        let range = |low: f64, high: f64| match low == high {
            true => format!("{low}"),
            false => format!("{low}..{high}"),
        };
        match self.bulk(&self.usual()) {
            Some((low, high)) if high < most => {
                format!("{{{}, at most {most}}}", range(low, high))
            }
            Some((low, high)) => format!("{{{}, at least {least}}}", range(low, high)),
            None => format!("{{{}}}", range(least, most)),
        }
    }

    /// Writes the words as `{GET|POST|…}`.
    fn words_text(&self, text: &str) -> String {
        const SHOWN: usize = 3;
        if self.has_many() {
            return "{…}".to_owned();
        }
        let (frequent, others) = self.frequent(SHOWN);
        let mut words: Vec<&str> = frequent
            .into_iter()
            .filter_map(|(place, _)| text.get(place))
            .collect();
        if others > 0 {
            words.push("…");
        }
        format!("{{{}}}", words.join("|"))
    }
}
