use super::{DocumentGroups, Hits};
use crate::prune::Deadline;
use crate::prune::engine::goal_terms::GoalTerms;

fn scores(goal: &str, texts: &[&str]) -> Vec<f32> {
    let terms = GoalTerms::of(goal);
    let hits = Hits::search(&terms, texts.iter().copied(), &Deadline::never());
    hits.expect("no deadline").scores(&terms)
}

#[test]
fn rare_words_weigh_more() {
    let scores = scores(
        "zebra horse",
        &["zebra x", "horse x", "horse y", "horse z", "cow"],
    );
    assert!(scores[0] > scores[1]);
    assert_eq!(scores[1], scores[2]);
    assert_eq!(scores[4], 0.0);
}

#[test]
fn short_texts_score_higher() {
    let scores = scores(
        "zebra",
        &["zebra", "zebra among many other animals", "cow", "cow"],
    );
    assert!(scores[0] > scores[1]);
}

#[test]
fn concept_counts_once() {
    let scores = scores(
        "start",
        &["start x", "start begin", "begin x", "cow", "cow", "cow"],
    );
    assert!(scores[1] <= scores[0]);
    assert!(scores[2] < scores[0] && scores[2] > 0.0);
}

#[test]
fn groups_are_scored_as_one_text() {
    let terms = GoalTerms::of("zebra horse");
    let texts = ["zebra", "horse", "cow", "zebra cow"];
    let hits = Hits::search(&terms, texts.into_iter(), &Deadline::never()).expect("no deadline");
    let mut groups = DocumentGroups::default();
    groups.add(0, 1.0);
    groups.add(1, 1.0);
    groups.close();
    groups.add(2, 1.0);
    groups.close();
    groups.add(3, 1.0);
    groups.close();
    let scores = hits.group(&terms, &groups).scores(&terms);
    assert!(scores[0] > scores[2] && scores[2] > scores[1]);
    assert_eq!(scores[1], 0.0);
}

#[test]
fn deadline_stops_ranking_of_a_long_text() {
    let text = "zebra ".repeat(100_000);
    let looks = std::cell::Cell::new(0);
    let passed = || {
        looks.set(looks.get() + 1);
        looks.get() > 2
    };
    let deadline = Deadline::new(&passed);
    let found = Hits::search(
        &GoalTerms::of("zebra"),
        [text.as_str()].into_iter(),
        &deadline,
    );
    assert!(found.is_err());
}
