use super::{LogSeverity, is_asked_for, severity};

#[test]
fn errors_are_detected_in_any_case_and_within_words() {
    for line in [
        "ERROR x",
        "NullPointerException",
        "traceBack",
        "kernel panic",
        "a fatal b",
        "terrors",
        "error",
    ] {
        assert_eq!(severity(line), LogSeverity::Error, "{line}");
    }
}

#[test]
fn warnings_weigh_less_than_errors() {
    for line in [
        "WARN x",
        "it failed",
        "timed out",
        "Unable to",
        "permission denied",
    ] {
        assert_eq!(severity(line), LogSeverity::Warning, "{line}");
    }
    assert_eq!(severity("failed with error"), LogSeverity::Error);
    assert_eq!(severity("warning, then a panic"), LogSeverity::Error);
}

#[test]
fn other_lines_are_not_failures() {
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
        assert_eq!(severity(line), LogSeverity::None, "{line}");
    }
}

#[test]
fn goals_about_problems_are_recognised() {
    assert!(is_asked_for("Why did it stop?"));
    assert!(is_asked_for("investigate the incident"));
    assert!(is_asked_for("connection failures"));
    assert!(!is_asked_for("show the logins"));
    assert!(!is_asked_for(""));
}
