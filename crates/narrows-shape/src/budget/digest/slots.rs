//! The values that occur at one position of a template or in one field of rows, and how unusual
//! each of them is.
//!
//! Surprise is measured in bits beyond the usual at that position: a value that occurs once among
//! 4,096 others that are all equal has 12 bits; one among 4,096 different values has none.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// The maximum number of different values that are counted. With more values, a single one is not
/// significant.
const MOST_VALUES: usize = 256;
/// The same limit for numbers, which can also be compared by size.
const MOST_NUMBERS: usize = 64;
/// The minimum number of values from which the usual ones can be determined.
const FEWEST: u32 = 8;
const FEWEST_NUMBERS: u32 = 20;
/// The gap between an outlier and the other numbers, in quarters of an octave.
const GAP: u16 = 3;
/// An outlier is at least `FAR` times as far from the median as the usual numbers are. Outliers are
/// at most one in `TAIL` of the numbers.
const FAR: f64 = 4.0;
const TAIL: u32 = 25;

/// The values at one position.
#[derive(Default)]
pub(crate) struct Slot {
    count: u32,
    values: HashMap<u64, SlotTally, BuildHasherDefault<KeyHasher>>,
    has_many: bool,
    /// Counts of numbers by quarter octaves.
    octaves: Vec<(u16, u32)>,
    numbers: u32,
    least: f64,
    most: f64,
}

/// Hashes keys that are hashes already. A slot has few values, so collisions cost little.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

#[derive(Clone, Copy)]
struct SlotTally {
    count: u32,
    /// The position of the first occurrence in the text.
    start: u32,
    end: u32,
}

/// The statistics of a slot after all values have been added.
#[derive(Clone, Default)]
pub(crate) struct Usual {
    entropy: f32,
    /// The maximum number of bits of any value of the slot.
    most: f32,
    /// Numbers outside `low..high` are outliers.
    low: f64,
    high: f64,
    tail: f32,
}

impl Usual {
    /// Returns the maximum number of bits of any value of the slot.
    pub(crate) fn most(&self) -> f32 {
        self.most
    }
}

impl Slot {
    /// Adds `times` occurrences of a word whose first one is at `place` in the text.
    pub(crate) fn add(&mut self, hash: u64, place: &Range<usize>, times: u32) {
        self.count += times;
        self.tally(hash, place, times, MOST_VALUES);
    }

    /// Adds a number.
    pub(crate) fn add_number(&mut self, number: f64, place: &Range<usize>) {
        self.count += 1;
        if self.numbers == 0 {
            (self.least, self.most) = (number, number);
        }
        self.numbers += 1;
        self.least = self.least.min(number);
        self.most = self.most.max(number);
        let octave = octave(number);
        match self.octaves.iter_mut().find(|it| it.0 == octave) {
            Some((_, count)) => *count += 1,
            None => self.octaves.push((octave, 1)),
        }
        self.tally(number.to_bits(), place, 1, MOST_NUMBERS);
    }

    fn tally(&mut self, hash: u64, place: &Range<usize>, times: u32, most: usize) {
        if self.has_many {
            return;
        }
        let tally = self.values.entry(hash).or_insert(SlotTally {
            count: 0,
            start: place.start as u32,
            end: place.end as u32,
        });
        tally.count += times;
        if self.values.len() > most {
            self.has_many = true;
            self.values = HashMap::default();
        }
    }

    pub(crate) fn has_many(&self) -> bool {
        self.has_many
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of values that are numbers.
    pub(crate) fn numbers(&self) -> u32 {
        self.numbers
    }

    /// Computes the statistics of the slot.
    pub(crate) fn usual(&self) -> Usual {
        let counts = self.values.values().map(|tally| tally.count);
        let mut usual = Usual {
            entropy: entropy(counts, self.count),
            most: 0.0,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            tail: 0.0,
        };
        if self.numbers >= FEWEST_NUMBERS {
            self.bound(&mut usual);
        }
        let counts = self.values.values().map(|tally| tally.count);
        if let Some(least) = counts.min().filter(|_| self.count >= FEWEST) {
            usual.most = (surplus(self.count, least) - usual.entropy).max(0.0);
        }
        usual.most = usual.most.max(usual.tail);
        usual
    }

    /// Finds the bounds beyond which numbers are outliers.
    fn bound(&self, usual: &mut Usual) {
        let mut octaves = self.octaves.clone();
        octaves.sort_unstable();
        let quantile = |part: f64| {
            let rank = (f64::from(self.numbers) * part) as u32;
            let mut sum = 0;
            let found = octaves.iter().find(|(_, count)| {
                sum += count;
                sum > rank
            });
            found.or(octaves.last()).map_or(0, |it| it.0)
        };
        let middle = edge(quantile(0.5));
        let most_in_tail = (self.numbers / TAIL).max(1);
        let far_up = middle + FAR * (edge(quantile(0.9) + 1) - middle);
        let far_down = middle - FAR * (middle - edge(quantile(0.1)));
        let mut tail = 0;
        for two in octaves.windows(2).rev() {
            tail += two[1].1;
            if tail > most_in_tail {
                break;
            }
            if two[1].0 - two[0].0 > GAP && edge(two[1].0) > far_up {
                usual.high = edge(two[1].0);
                usual.tail = surplus(self.numbers, tail);
            }
        }
        tail = 0;
        for two in octaves.windows(2) {
            tail += two[0].1;
            if tail > most_in_tail {
                break;
            }
            if two[1].0 - two[0].0 > GAP && edge(two[0].0 + 1) < far_down {
                usual.low = edge(two[0].0 + 1);
                usual.tail = usual.tail.max(surplus(self.numbers, tail));
            }
        }
    }

    /// Returns the surprise of a word, in bits.
    pub(crate) fn surprise(&self, usual: &Usual, hash: u64) -> f32 {
        if self.has_many || self.count < FEWEST {
            return 0.0;
        }
        let count = self.values.get(&hash).map_or(1, |tally| tally.count);
        (surplus(self.count, count) - usual.entropy).max(0.0)
    }

    /// Returns the surprise of a number, in bits.
    pub(crate) fn surprise_of_number(&self, usual: &Usual, number: f64) -> f32 {
        let is_outlier = number >= usual.high || number < usual.low;
        let by_size = if is_outlier { usual.tail } else { 0.0 };
        by_size.max(self.surprise(usual, number.to_bits()))
    }

    /// Returns the least and the greatest number.
    pub(crate) fn span(&self) -> (f64, f64) {
        (self.least, self.most)
    }

    /// Returns the range of the numbers without outliers, or `None` if there are no outliers or too
    /// many different numbers.
    pub(crate) fn bulk(&self, usual: &Usual) -> Option<(f64, f64)> {
        let is_usual = |number: &f64| (usual.low..usual.high).contains(number);
        let numbers = self.values.keys().map(|&bits| f64::from_bits(bits));
        let (least, most) = numbers
            .filter(is_usual)
            .fold((f64::MAX, f64::MIN), |(least, most), number| {
                (least.min(number), most.max(number))
            });
        (least <= most && (least, most) != (self.least, self.most)).then_some((least, most))
    }

    /// Returns the most frequent values with their counts, as positions in the text, and the number
    /// of other values.
    pub(crate) fn frequent(&self, most: usize) -> (Vec<(Range<usize>, u32)>, usize) {
        let mut all: Vec<SlotTally> = self.values.values().copied().collect();
        all.sort_unstable_by_key(|tally| (std::cmp::Reverse(tally.count), tally.start));
        let others = all.len().saturating_sub(most);
        let places = all.iter().take(most);
        let places = places.map(|it| (it.start as usize..it.end as usize, it.count));
        (places.collect(), others)
    }
}

/// Returns the entropy of counts, in bits.
pub(crate) fn entropy(counts: impl Iterator<Item = u32>, total: u32) -> f32 {
    // The sum uses integers of a fixed scale, so that the iteration order of the map does not
    // change the last digit.
    let scaled = |count: u32| {
        let part = f64::from(count) / f64::from(total.max(1));
        (-part * part.log2() * 1e9) as u64
    };
    (counts.map(scaled).sum::<u64>() as f64 / 1e9) as f32
}

/// Returns the information content of a value that occurs `count` times among `total`, in bits.
pub(crate) fn surplus(total: u32, count: u32) -> f32 {
    (total as f32 / count.max(1) as f32).log2()
}

/// Returns the quarter octave of a number: its exponent and the first two bits of its fraction.
fn octave(number: f64) -> u16 {
    let bits = (number.abs() + 1.0).to_bits() >> 50;
    (bits as u16).saturating_sub(1_023 << 2)
}

/// Returns the least number of a quarter octave.
fn edge(octave: u16) -> f64 {
    f64::from_bits((u64::from(octave) + (1_023 << 2)) << 50) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(all: impl Iterator<Item = u32>) -> Slot {
        let mut slot = Slot::default();
        all.for_each(|number| slot.add_number(f64::from(number), &(0..1)));
        slot
    }

    #[test]
    fn outlier_number_is_surprising() {
        let slot = numbers((0..5_000).map(|at| 12 + at * 5 % 49).chain([98_123]));
        let usual = slot.usual();
        assert!(slot.surprise_of_number(&usual, 98_123.0) > 6.0);
        assert!(slot.surprise_of_number(&usual, 59.0) < 2.0);
        let slot = numbers((0..5_000).map(|at| 50_000 + at * 7 % 9_001).chain([3]));
        let usual = slot.usual();
        assert!(slot.surprise_of_number(&usual, 3.0) > 6.0);
        assert!(slot.surprise_of_number(&usual, 50_001.0) < 2.0);
    }

    #[test]
    fn counters_and_random_numbers_are_not_surprising() {
        for slot in [
            numbers(0..60_000),
            numbers((0..9_000).map(|at| at * 7_919 % 1_000)),
            numbers((0..9_000_u32).map(|at| at.wrapping_mul(2_654_435_761) >> 8)),
        ] {
            let usual = slot.usual();
            for number in [0.0, 1.0, 2.0, 500.0, 59_999.0] {
                assert_eq!(slot.surprise_of_number(&usual, number), 0.0, "{number}");
            }
        }
    }

    #[test]
    fn rare_word_is_surprising_only_among_few_values() {
        let mut slot = Slot::default();
        for at in 0..2_000 {
            slot.add(at % 5, &(0..1), 1);
        }
        slot.add(77, &(0..1), 1);
        let usual = slot.usual();
        assert!(slot.surprise(&usual, 77) > 8.0);
        assert!(slot.surprise(&usual, 3) < 0.1);
        let mut names = Slot::default();
        (0..200).for_each(|at| names.add(at, &(0..1), 1));
        assert!(names.surprise(&names.usual(), 7) < 0.1);
    }
}
