use super::{GoalTerms, MOST_TERMS};

/// Returns the summed weight of the goal's terms in a text.
fn found(goal: &str, text: &str) -> f32 {
    let terms = GoalTerms::of(goal);
    let mut sum = 0.0;
    terms.search(text, &mut String::new(), |term| {
        sum += terms.get(term).weight
    });
    sum
}

#[test]
fn word_forms_and_case_are_ignored() {
    assert_eq!(found("connections", "CONNECTED"), 1.0);
    assert_eq!(found("Ärger", "ärger"), 1.0);
    assert_eq!(found("日本", "本"), 1.0);
}

#[test]
fn synonyms_weigh_less() {
    assert_eq!(found("began", "start"), super::SYNONYM);
    assert_eq!(found("started", "begin"), super::SYNONYM);
    assert_eq!(found("zebra", "start"), 0.0);
}

#[test]
fn names_match_whole_and_by_their_words() {
    assert_eq!(
        found("parse_http", "parse_http"),
        super::NAME + 2.0 + super::PAIR
    );
    assert_eq!(found("parse_http", "parseHttp"), 2.0 + super::PAIR);
    assert_eq!(found("10.0.0.7", "7"), super::NUMBER_IN_NAME);
    assert_eq!(found("process 7", "7"), 1.0);
}

#[test]
fn stop_words_count_only_alone() {
    assert_eq!(found("what is the zebra", "what is the"), 0.0);
    assert!(found("what is the", "what is the") > 0.0);
    assert!(found("show events about zebra", "events") < 0.2);
}

#[test]
fn adjacent_words_weigh_more() {
    let goal = "memory limit";
    assert_eq!(
        found(goal, "memory limit"),
        found(goal, "limit of all the memory") + super::PAIR
    );
}

#[test]
fn goal_size_is_bounded() {
    let long: String = (0..100_000).map(|at| format!("w{at}x ")).collect();
    assert!(GoalTerms::of(&long).len() <= 2 * MOST_TERMS);
    assert_eq!(GoalTerms::of("").len(), 0);
    assert_eq!(found("é".repeat(20_000).as_str(), "a"), 0.0);
}
