//! Fuzzes the conversion of JSON schemas to TypeScript.
#![no_main]

// Shared with the tests, which replay the corpus.
#[path = "../../crates/narrows-shape/tests/it/invariants/typescript.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::check(data));
