use proptest::prelude::*;

use super::*;

/// Bit by bit, as one would read it aloud.
fn escaping_one_by_one(backslashes: u64) -> u64 {
    let mut escaping = 0;
    let mut at = 0;
    while at < 64 {
        if backslashes >> at & 1 == 1 {
            escaping |= 1 << at;
            at += 1;
        }
        at += 1;
    }
    escaping
}

proptest! {
    #[test]
    fn every_other_backslash_of_a_run_escapes(
        some: u64, many in prop::collection::vec(any::<u64>(), 1..4)
    ) {
        // A backslash after one that escapes does not, whatever comes then.
        for backslashes in [some, many.iter().fold(0, |all, more| all | more), u64::MAX << (some % 64)] {
            prop_assert_eq!(escaping(backslashes), escaping_one_by_one(backslashes));
        }
    }

    #[test]
    fn bits_are_found_by_their_rank(bits: u64) {
        let places: Vec<usize> = (0..64).filter(|at| bits >> at & 1 == 1).collect();
        for (before, place) in places.iter().enumerate() {
            prop_assert_eq!(nth(bits, before), *place);
        }
        let lowest = places.first().copied().unwrap_or(64);
        prop_assert_eq!(below_lowest(bits).count_ones() as usize, lowest);
        prop_assert_eq!(below_lowest(bits).trailing_ones() as usize, lowest);
    }
}
