use super::*;

#[track_caller]
fn check(goal: &str, word: &str, expected: &str) {
    let found = Goal::new(goal).matching(word);
    let how = match found {
        TermMatch {
            exact: 0,
            akin: 0,
            near: 0,
        } => "none",
        TermMatch {
            exact: 0, akin: 0, ..
        } => "near",
        TermMatch { exact: 0, .. } => "akin",
        _ => "exact",
    };
    assert_eq!(how, expected, "{word} for {goal}");
}

#[test]
fn words_match_by_stem_abbreviation_and_synonym() {
    check("Where do we parse the covariance?", "parser", "exact");
    check("Where do we parse the covariance?", "cov", "akin");
    check("Where do we parse the covariance?", "decode", "near");
    check("Where do we parse the covariance?", "socket", "none");
    check("the account name", "username", "akin");
}

#[test]
fn question_openings_are_ignored() {
    for goal in [
        "Where do we rotate keys?",
        "I need to modify the code used to rotate keys",
        "Find where it rotates keys",
        "Show me the implementation of x, I need to change how it works: rotate keys",
    ] {
        check(goal, "rotate", "exact");
        for word in [
            "modify",
            "code",
            "show",
            "implementation",
            "change",
            "where",
        ] {
            check(goal, word, "none");
        }
    }
    check("Where do we find the key?", "find", "none");
    check("Where do we rotate and find the key?", "find", "exact");
}

#[test]
fn names_in_the_goal_match_in_any_style() {
    let mention = |goal: &str, name: &str| Goal::new(goal).mentions(name_key(name));
    assert_eq!(mention("Fix read_all", "readAll"), Some(Mention::Code));
    assert_eq!(mention("Fix `sample` now", "sample"), Some(Mention::Code));
    assert_eq!(
        mention("Why does sample() fail", "sample"),
        Some(Mention::Code)
    );
    assert_eq!(mention("Fix IOLoop.current", "ioloop"), Some(Mention::Code));
    assert_eq!(mention("Fix sample", "sample"), Some(Mention::Word));
    assert_eq!(mention("Fix the HTTP thing", "http"), Some(Mention::Word));
    assert_eq!(mention("Fix sample", "samples"), None);
}

#[test]
fn name_matches_a_goal_with_the_same_letters() {
    let goal = Goal::new("compute a simple cross tabulation");
    assert_eq!(goal.likeness("crosstab"), 1.0);
    assert_eq!(goal.likeness("zip_with"), 0.0);
    assert_eq!(goal.likeness(""), 0.0);
}

#[test]
fn any_goal_is_accepted() {
    for goal in [
        "",
        "?",
        "🦀🦀",
        "a",
        "…—",
        &"x ".repeat(100_000),
        &"näme_Ünder ".repeat(500),
    ] {
        let goal = Goal::new(goal);
        assert!(goal.len() <= 64);
        goal.matching("x");
    }
}
