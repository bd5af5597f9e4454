//! Finds phrases by their words, in any order and with other words in between: "take them back out"
//! matches "take out". People vary phrases more than words, so most of the words are enough,
//! weighted by how distinctive they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ConceptMember;

/// The share of a phrase that must be present.
const LEAST_SHARE: f32 = 0.5;
/// The minimum number of words of a phrase that must be present. A single word is not enough.
const LEAST_WORDS: u32 = 2;

/// Phrases of one language.
#[derive(Default)]
pub(crate) struct Phrases {
    phrases: Vec<Phrase>,
    /// The phrases that contain each word. Sorted, because the order of additions affects rounding.
    with: BTreeMap<String, Vec<u32>>,
}

struct Phrase {
    member: ConceptMember,
    /// The summed weight of the words.
    informativeness: f32,
}

impl Phrases {
    pub(crate) fn add(&mut self, words: &[Cow<'_, str>], member: ConceptMember) {
        let number = self.phrases.len() as u32;
        self.phrases.push(Phrase {
            member,
            informativeness: 0.0,
        });
        for word in words {
            let with = self.with.entry(word.to_string()).or_default();
            if with.last() != Some(&number) {
                with.push(number);
            }
        }
    }

    /// Computes the weights of the words, which depend on all phrases. Must be called after the
    /// last phrase.
    pub(crate) fn weigh(&mut self) {
        for with in self.with.values() {
            let informativeness = informativeness(self.phrases.len(), with.len());
            for &phrase in with {
                self.phrases[phrase as usize].informativeness += informativeness;
            }
        }
    }

    /// Returns the concepts of phrases that are mostly present, the best first, weighted by the
    /// square of the share that is present. `words` contains the words with their weights.
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
            let informativeness = weight * informativeness(self.phrases.len(), with.len());
            for &phrase in with {
                let (sum, count) = &mut found[phrase as usize];
                *sum += informativeness;
                *count += 1;
                if *count == LEAST_WORDS {
                    touched.push(phrase as usize);
                }
            }
        }
        let mut best: Vec<ConceptMember> = Vec::new();
        for at in touched {
            let Phrase {
                member,
                informativeness,
            } = self.phrases[at];
            let share = found[at].0 / informativeness;
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

/// Returns the weight of a word that `with` of all phrases contain. Common words count slightly
/// more here than in [`rarity`](crate::rank::rarity), which gives slightly worse search results.
fn informativeness(phrases: usize, with: usize) -> f32 {
    (1.0 + phrases as f32 / (1.0 + with as f32)).ln()
}

#[cfg(test)]
mod tests;
