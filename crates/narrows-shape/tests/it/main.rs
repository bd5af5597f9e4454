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
fn texts_of_the_corpus_within_a_budget() {
    replay("budget", invariants::budget::check);
}

#[test]
fn digests_of_the_corpus() {
    replay("digest", invariants::digest::check);
}

#[test]
fn masks_of_the_corpus() {
    replay("mask", invariants::mask::check);
}

#[test]
fn texts_of_the_corpus_pruned() {
    replay("prune", invariants::prune::check);
}

#[test]
fn texts_of_the_corpus_queried() {
    replay("query", invariants::query::check);
}

#[test]
fn catalogues_of_the_corpus_searched() {
    replay("search", invariants::search::check);
}

#[test]
fn texts_of_the_corpus_as_toon() {
    replay("toon", invariants::toon::check);
}

#[test]
fn schemas_of_the_corpus() {
    replay("typescript", invariants::typescript::check);
}
