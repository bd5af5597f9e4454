//! Fuzzes a stream of server-sent events.
#![no_main]

// Shared with the tests, which replay the corpus; each target uses a part.
#[allow(dead_code)]
#[path = "../../crates/narrows-wire/tests/it/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::sse(data));
