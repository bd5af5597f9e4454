//! Fuzzes one frame: JSON, the JSON-RPC envelope and edits.
#![no_main]

// Shared with the tests, which replay the corpus; each target uses a part.
#[allow(dead_code)]
#[path = "../../crates/narrows-wire/tests/it/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::envelope(data));
