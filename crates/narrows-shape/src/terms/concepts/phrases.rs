//! Phrases found by their words, in whatever order and with whatever between:
//! who writes "take them back out" means "take out". People vary a phrase more
//! than a word, so most of its words are enough, the telling ones above all.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ConceptMember;

/// How much of a phrase must be there.
const LEAST_SHARE: f32 = 0.5;
/// One word of a phrase says nothing of it.
const LEAST_WORDS: u32 = 2;

/// Phrases of one language.
#[derive(Default)]
pub(crate) struct Phrases {
    phrases: Vec<Phrase>,
    /// Which phrases have a word. In order, since what is added up in another order
    /// comes out a little different.
    with: BTreeMap<String, Vec<u32>>,
}

struct Phrase {
    member: ConceptMember,
    /// How telling its words are together.
    telling: f32,
}

impl Phrases {
    pub(crate) fn add(&mut self, words: &[Cow<'_, str>], member: ConceptMember) {
        let number = self.phrases.len() as u32;
        self.phrases.push(Phrase {
            member,
            telling: 0.0,
        });
        for word in words {
            let with = self.with.entry(word.to_string()).or_default();
            if with.last() != Some(&number) {
                with.push(number);
            }
        }
    }

    /// To be called after the last phrase: how telling a word is depends on all.
    pub(crate) fn weigh(&mut self) {
        for with in self.with.values() {
            let telling = telling(self.phrases.len(), with.len());
            for &phrase in with {
                self.phrases[phrase as usize].telling += telling;
            }
        }
    }

    /// The concepts of phrases that are there for the most part, best first, with
    /// the square of that part. Words come with their weights.
    pub(crate) fn find<'a>(
        &self,
        words: impl Iterator<Item = (Cow<'a, str>, f32)>,
    ) -> Vec<ConceptMember> {
        let mut found = vec![(0.0_f32, 0_u32); self.phrases.len()];
        let mut touched = Vec::new();
        let mut seen = Vec::new();
        for (word, weight) in words {
            let Some(with) = self.with.get(&*word).filter(|_| !seen.contains(&word)) else {
                continue;
            };
            seen.push(word);
            let telling = weight * telling(self.phrases.len(), with.len());
            for &phrase in with {
                let (sum, count) = &mut found[phrase as usize];
                *sum += telling;
                *count += 1;
                if *count == LEAST_WORDS {
                    touched.push(phrase as usize);
                }
            }
        }
        let mut best: Vec<ConceptMember> = Vec::new();
        for at in touched {
            let Phrase { member, telling } = self.phrases[at];
            let share = found[at].0 / telling;
            if share >= LEAST_SHARE {
                best.push(ConceptMember {
                    weight: member.weight * share * share,
                    ..member
                });
            }
        }
        best.sort_unstable_by(|a, b| {
            let by_weight = b.weight.total_cmp(&a.weight);
            by_weight.then(a.concept.cmp(&b.concept))
        });
        let mut concepts = Vec::new();
        best.retain(|member| {
            let is_new = !concepts.contains(&member.concept);
            if is_new {
                concepts.push(member.concept);
            }
            is_new
        });
        best
    }
}

/// How much a word tells that so many of all phrases have. Common words of a phrase
/// count a little more here than by [`rarity`](crate::rank::rarity), which finds
/// slightly less.
fn telling(phrases: usize, with: usize) -> f32 {
    (1.0 + phrases as f32 / (1.0 + with as f32)).ln()
}

#[cfg(test)]
mod tests;
