//! Scores documents by the terms of a goal: BM25 over lines, paragraphs or sections. Each concept
//! counts once, with the best of its terms.

use super::goal_terms::GoalTerms;
use super::{Deadline, OutOfTime};
use crate::rank::{Bm25, frequency, rarity};

/// The usual constants of BM25.
const BM25: Bm25 = Bm25 {
    saturation: 1.2,
    length: 0.75,
};
/// The usual form of BM25 has this factor. Differences of scores are compared with constants
/// (`docs::SHARPNESS`) that were measured with it.
const SCALE: f32 = BM25.saturation + 1.0;

/// The number of bytes that are searched between two deadline checks.
const STRIDE: usize = 64 << 10;

/// The occurrences of a goal's terms in a sequence of documents.
pub(super) struct Hits {
    /// The hits of all documents, one document after the other.
    hits: Vec<(u16, f32)>,
    documents: Vec<Document>,
}

#[derive(Clone, Copy, Default)]
struct Document {
    /// The end of this document's hits.
    end: usize,
    /// The length in words.
    length: f32,
}

impl Hits {
    /// Returns the hits of one document.
    fn of(&self, document: usize) -> &[(u16, f32)] {
        let begin = match document {
            0 => 0,
            _ => self.documents[document - 1].end,
        };
        &self.hits[begin..self.documents[document].end]
    }

    /// Searches a sequence of texts, each of which is one document.
    pub(super) fn search<'a>(
        terms: &GoalTerms,
        texts: impl Iterator<Item = &'a str>,
        deadline: &Deadline<'_>,
    ) -> Result<Hits, OutOfTime> {
        let mut found = Hits {
            hits: Vec::new(),
            documents: Vec::with_capacity(texts.size_hint().0),
        };
        let mut tally = DocumentTally::new(terms.len());
        let mut scratch = String::new();
        let mut searched = 0;
        for text in texts {
            let mut length = 0;
            let mut rest = text;
            while !rest.is_empty() {
                let piece = &rest[..rest.floor_char_boundary(STRIDE)];
                rest = &rest[piece.len()..];
                length += terms.search(piece, &mut scratch, |term| tally.add(term, 1.0));
                searched += piece.len();
                if searched >= STRIDE {
                    deadline.check()?;
                    searched = 0;
                }
            }
            // Empty lines take time, too.
            searched += 16;
            found.hits.extend(tally.drain());
            found.documents.push(Document {
                end: found.hits.len(),
                length: length as f32,
            });
        }
        Ok(found)
    }

    /// Combines documents into larger ones.
    pub(super) fn group(&self, terms: &GoalTerms, groups: &DocumentGroups) -> Hits {
        let mut together = Hits {
            hits: Vec::new(),
            documents: Vec::with_capacity(groups.ends.len()),
        };
        let mut tally = DocumentTally::new(terms.len());
        let mut begin = 0;
        for &end in &groups.ends {
            let mut length = 0.0;
            for &(document, weight) in &groups.members[begin..end] {
                for &(term, times) in self.of(document) {
                    tally.add(term, times * weight);
                }
                length += self.documents[document].length * weight;
            }
            begin = end;
            together.hits.extend(tally.drain());
            together.documents.push(Document {
                end: together.hits.len(),
                length,
            });
        }
        together
    }

    /// Returns the score of each document; 0 if it contains no term.
    pub(super) fn scores(&self, terms: &GoalTerms) -> Vec<f32> {
        let count = self.documents.len() as f32;
        let total: f64 = self.documents.iter().map(|it| f64::from(it.length)).sum();
        let average = (total as f32 / count.max(1.0)).max(1.0);
        let mut spread = vec![0.0f32; terms.len()];
        for &(term, _) in &self.hits {
            spread[term as usize] += 1.0;
        }
        let rarity = spread.iter().map(|&spread| rarity(count, spread));
        let rarity: Vec<f32> = rarity.collect();
        let mut best = DocumentTally::new(terms.len());
        let mut score = |document: usize| {
            let length = self.documents[document].length;
            let half = BM25.half(length, average);
            for &(index, times) in self.of(document) {
                let term = terms.get(index);
                let rarity = rarity[index as usize];
                let part = SCALE * term.weight * rarity * frequency(times, half);
                best.raise(term.concept, part);
            }
            best.drain().map(|(_, part)| part).sum()
        };
        (0..self.documents.len()).map(&mut score).collect()
    }
}

/// Groups of documents to combine, one group after the other.
#[derive(Default)]
pub(super) struct DocumentGroups {
    members: Vec<(usize, f32)>,
    ends: Vec<usize>,
}

impl DocumentGroups {
    /// Adds a document to the open group with a weight.
    pub(super) fn add(&mut self, document: usize, weight: f32) {
        self.members.push((document, weight));
    }

    pub(super) fn close(&mut self) {
        self.ends.push(self.members.len());
    }
}

/// The values of the terms or concepts of the current document.
struct DocumentTally {
    values: Vec<f32>,
    seen: Vec<u16>,
}

impl DocumentTally {
    fn new(terms: usize) -> DocumentTally {
        DocumentTally {
            values: vec![0.0; terms],
            seen: Vec::new(),
        }
    }

    fn add(&mut self, which: u16, value: f32) {
        let known = self.values[which as usize];
        self.raise(which, known + value);
    }

    fn raise(&mut self, which: u16, value: f32) {
        let known = &mut self.values[which as usize];
        if *known == 0.0 && value > 0.0 {
            self.seen.push(which);
        }
        *known = known.max(value);
    }

    fn drain(&mut self) -> impl Iterator<Item = (u16, f32)> {
        let values = &mut self.values;
        let take = |which: u16| (which, std::mem::take(&mut values[which as usize]));
        self.seen.drain(..).map(take)
    }
}

#[cfg(test)]
mod tests;
