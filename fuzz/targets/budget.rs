//! A text, a goal and a budget: what remains, and where the rest was.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/budget.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
