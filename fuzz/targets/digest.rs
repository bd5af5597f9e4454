//! Fuzzes digests of similar lines with one exception.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/budget.rs"]
#[allow(dead_code)]
mod budget;
#[path = "../../crates/narrows-shape/tests/it/invariants/digest.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
