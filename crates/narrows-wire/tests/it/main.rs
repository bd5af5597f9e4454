//! Replays the corpus of the fuzzers through their checks.

mod invariants;

use std::fs;
use std::path::Path;

#[track_caller]
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("a corpus beside the fuzz targets") {
        let path = entry.expect("a readable folder").path();
        let input = fs::read(&path).expect("a readable file");
        if std::panic::catch_unwind(|| check(&input)).is_err() {
            panic!("{} breaks what must hold", path.display());
        }
        count += 1;
    }
    assert!(count > 0, "no corpus in {}", folder.display());
}

#[test]
fn corpus_envelopes_match() {
    replay("envelope", invariants::envelope);
}

#[test]
fn corpus_frames_match() {
    replay("frame", invariants::frame);
}

#[test]
fn corpus_event_streams_match() {
    replay("sse", invariants::sse);
}
