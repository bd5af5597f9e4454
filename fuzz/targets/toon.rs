//! Fuzzes TOON: JSON to TOON and back, and arbitrary text read as TOON.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/toon.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
