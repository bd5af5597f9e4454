//! Lines that are alike, and one that is not: what the digest shows of them.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/budget.rs"]
#[allow(dead_code)]
mod budget;
#[path = "../../crates/narrows-shape/tests/it/invariants/digest.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
