//! Replays the corpus of the fuzzers through their checks, and runs the same checks on generated
//! texts.

mod budget;
mod invariants;
mod mask;
mod prune;
mod query;
mod search;

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
fn corpus_texts_fit_a_budget() {
    replay("budget", invariants::budget::check);
}

#[test]
fn corpus_digests_match() {
    replay("digest", invariants::digest::check);
}

#[test]
fn corpus_masks_match() {
    replay("mask", invariants::mask::check);
}

#[test]
fn corpus_texts_are_pruned() {
    replay("prune", invariants::prune::check);
}

#[test]
fn corpus_texts_are_queried() {
    replay("query", invariants::query::check);
}

#[test]
fn corpus_catalogues_are_searched() {
    replay("search", invariants::search::check);
}

#[test]
fn corpus_texts_are_encoded_as_toon() {
    replay("toon", invariants::toon::check);
}

#[test]
fn corpus_schemas_become_typescript() {
    replay("typescript", invariants::typescript::check);
}
