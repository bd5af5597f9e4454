//! Fuzzes queries applied to arbitrary texts.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/query.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
