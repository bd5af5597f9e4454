use super::{Sign, is_asked_for, sign};

#[test]
fn errors_are_seen_in_any_case_and_within_words() {
    for line in [
        "ERROR x",
        "NullPointerException",
        "traceBack",
        "kernel panic",
        "a fatal b",
        "terrors",
        "error",
    ] {
        assert_eq!(sign(line), Sign::Error, "{line}");
    }
}

#[test]
fn warnings_are_less_than_errors() {
    for line in [
        "WARN x",
        "it failed",
        "timed out",
        "Unable to",
        "permission denied",
    ] {
        assert_eq!(sign(line), Sign::Warning, "{line}");
    }
    assert_eq!(sign("failed with error"), Sign::Error);
    assert_eq!(sign("warning, then a panic"), Sign::Error);
}

#[test]
fn other_lines_say_nothing() {
    for line in [
        "",
        "e",
        "er",
        "erro",
        "terra",
        "all is well",
        "é[rror",
        "Fehler",
    ] {
        assert_eq!(sign(line), Sign::None, "{line}");
    }
}

#[test]
fn a_goal_may_ask_for_trouble_in_many_words() {
    assert!(is_asked_for("Why did it stop?"));
    assert!(is_asked_for("investigate the incident"));
    assert!(is_asked_for("connection failures"));
    assert!(!is_asked_for("show the logins"));
    assert!(!is_asked_for(""));
}
