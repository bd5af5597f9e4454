//! Counts the terms of a goal in the blocks of a text.

use super::blocks::{Matter, Outline};
use super::define::BlockKind;
use super::goal::{Goal, LONGEST, Mention, NameKey, TermMatch, Terms, each_term, is_name};
use crate::prune::{Deadline, Lines, OutOfTime};
use crate::terms::{fold_into, words};

/// The counts for a block, including its nested blocks.
#[derive(Clone, Default)]
pub(super) struct Counts {
    pub(super) name: TermMatch,
    pub(super) name_parts: u32,
    pub(super) exact_parts: u32,
    pub(super) akin_parts: u32,
    pub(super) near_parts: u32,
    /// The terms that the first part of the name matches.
    pub(super) first: TermMatch,
    pub(super) signature: TermMatch,
    /// Matches in all code, including the signature.
    pub(super) body: TermMatch,
    /// Terms in comments and doc strings.
    pub(super) prose: Terms,
    pub(super) words: u32,
    /// The occurrences of names that the goal writes as code.
    pub(super) mentions: u32,
}

impl Counts {
    /// Returns the terms that occur in the code in the same form as in the goal.
    pub(super) fn code(&self) -> Terms {
        self.name.exact | self.signature.exact | self.body.exact
    }

    fn name_part(&mut self, found: TermMatch) {
        if self.name_parts == 0 {
            self.first = found;
        }
        self.name_parts += 1;
        if found.exact != 0 {
            self.exact_parts += 1;
        } else if found.akin != 0 {
            self.akin_parts += 1;
        } else if found.near != 0 {
            self.near_parts += 1;
        }
        self.name.add(found);
    }
}

/// The counts of all blocks.
pub(super) struct BlockTally {
    pub(super) blocks: Vec<Counts>,
    /// The occurrences of each term in each block, block by block.
    exact: Vec<u8>,
    akin: Vec<u8>,
    terms: usize,
}

impl BlockTally {
    pub(super) fn of(
        lines: &Lines<'_>,
        outline: &Outline,
        goal: &Goal,
        deadline: &Deadline<'_>,
    ) -> Result<BlockTally, OutOfTime> {
        let (blocks, terms) = (outline.blocks.len(), goal.len());
        let mut tally = BlockTally {
            blocks: vec![Counts::default(); blocks],
            exact: vec![0; blocks * terms],
            akin: vec![0; blocks * terms],
            terms,
        };
        let mut reader = WordMatcher::new(goal, deadline);
        let mut heads = vec![None; lines.len()];
        for (at, block) in outline.blocks.iter().enumerate() {
            if block.kind != BlockKind::Piece {
                heads[block.head] = Some(at);
            }
        }
        for (at, line) in lines.iter().enumerate() {
            if at % 256 == 0 {
                deadline.check()?;
            }
            if outline.matter[at] != Matter::Blank {
                let owner = heads[at].unwrap_or(outline.owner[at] as usize);
                tally.read(&mut reader, outline, owner, at, line)?;
            }
        }
        tally.nest(outline, deadline)?;
        Ok(tally)
    }

    pub(super) fn exact(&self, block: usize) -> &[u8] {
        &self.exact[block * self.terms..(block + 1) * self.terms]
    }

    pub(super) fn akin(&self, block: usize) -> &[u8] {
        &self.akin[block * self.terms..(block + 1) * self.terms]
    }

    /// Counts the matches of a line for its block.
    fn read(
        &mut self,
        reader: &mut WordMatcher<'_>,
        outline: &Outline,
        owner: usize,
        at: usize,
        line: &str,
    ) -> Result<(), OutOfTime> {
        let block = &outline.blocks[owner];
        let defined = block.kind != BlockKind::Piece;
        let in_signature = defined && (block.head..block.body).contains(&at);
        let in_prose = outline.matter[at] == Matter::Prose;
        let mut from = 0;
        while let Some(skipped) = line[from..].find(is_name) {
            let start = from + skipped;
            let length = line[start..].find(|c| !is_name(c));
            from = length.map_or(line.len(), |length| start + length);
            let in_name = defined && at == block.head && block.name.contains(&start);
            let mut key = NameKey::default();
            for part in words(&line[start..from]) {
                part.chars().for_each(|c| key.push(c));
                let found = reader.matching(part)?;
                let counts = &mut self.blocks[owner];
                counts.words = counts.words.saturating_add(1);
                if in_name {
                    counts.name_part(found);
                } else if in_prose {
                    counts.prose |= found.exact;
                } else if found != TermMatch::default() {
                    counts.body.add(found);
                    if in_signature {
                        counts.signature.add(found);
                    }
                    let row = owner * self.terms;
                    each_term(found.exact, |term| bump(&mut self.exact[row + term], 1));
                    each_term(found.akin, |term| bump(&mut self.akin[row + term], 1));
                }
            }
            if !in_name && !in_prose && reader.goal.mentions(key.finish()) == Some(Mention::Code) {
                self.blocks[owner].mentions += 1;
            }
        }
        Ok(())
    }

    /// Adds the counts of nested blocks to their parents. Names of nested blocks count as words
    /// there.
    fn nest(&mut self, outline: &Outline, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        for at in (0..self.blocks.len()).rev() {
            if at % 1024 == 0 {
                deadline.check()?;
            }
            let Some(parent) = outline.blocks[at].parent else {
                continue;
            };
            let inner = self.blocks[at].clone();
            let outer = &mut self.blocks[parent];
            outer.body.add(inner.body);
            outer.body.add(inner.name);
            outer.prose |= inner.prose;
            outer.words = outer.words.saturating_add(inner.words);
            outer.mentions += inner.mentions;
            let (inside, outside) = (at * self.terms, parent * self.terms);
            for term in 0..self.terms {
                let named = u8::from(inner.name.exact & (1 << term) != 0);
                let times = self.exact[inside + term].saturating_add(named);
                bump(&mut self.exact[outside + term], times);
                let times = self.akin[inside + term];
                bump(&mut self.akin[outside + term], times);
            }
        }
        Ok(())
    }
}

fn bump(count: &mut u8, times: u8) {
    *count = count.saturating_add(times);
}

/// Compares words with the goal and caches recent results, because most words of a text recur soon.
/// The cache has a fixed size.
struct WordMatcher<'a> {
    goal: &'a Goal,
    known: Vec<(u64, TermMatch)>,
    /// The folded form of the current word.
    folded: String,
    deadline: &'a Deadline<'a>,
    words: usize,
}

/// The size of the cache in words; a power of two.
const KNOWN: usize = 4096;

impl<'a> WordMatcher<'a> {
    fn new(goal: &'a Goal, deadline: &'a Deadline<'a>) -> WordMatcher<'a> {
        WordMatcher {
            goal,
            known: vec![(0, TermMatch::default()); KNOWN],
            folded: String::new(),
            deadline,
            words: 0,
        }
    }

    fn matching(&mut self, word: &str) -> Result<TermMatch, OutOfTime> {
        self.words += 1;
        if self.words.is_multiple_of(1024) {
            self.deadline.check()?;
        }
        if word.len() > LONGEST {
            return Ok(TermMatch::default());
        }
        self.folded.clear();
        fold_into(word, &mut self.folded);
        let word = &self.folded;
        // Two words with the same key would be confused. This is rare and affects only one word of
        // the ranking.
        let key = word_key(word);
        let place = &mut self.known[(key >> 52) as usize % KNOWN];
        if place.0 != key {
            *place = (key, self.goal.matching(word));
        }
        Ok(place.1)
    }
}

/// Returns the FNV-1a hash with its upper bits mixed. The result is never 0, which marks an empty
/// place.
fn word_key(word: &str) -> u64 {
    let mix = |key: u64, byte: u8| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let key = word.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}
