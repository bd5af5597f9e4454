use proptest::prelude::*;

use super::Lines;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let lines = Lines::new(text);
    assert_eq!(lines.iter().collect::<Vec<_>>(), expected, "{text:?}");
    assert_eq!(lines.len(), expected.len());
    assert_eq!(lines.is_empty(), expected.is_empty());
}

#[test]
fn final_newline_starts_no_line() {
    check("", &[]);
    check("\n", &[""]);
    check("a", &["a"]);
    check("a\n", &["a"]);
    check("a\nb", &["a", "b"]);
    check("a\n\n", &["a", ""]);
    check("\n\na", &["", "", "a"]);
}

#[test]
fn only_line_feeds_end_lines() {
    check("a\r\nb\r\n", &["a\r", "b\r"]);
    check(
        "a\rb\u{0c}c\u{2028}d\u{85}e\0f\n",
        &["a\rb\u{0c}c\u{2028}d\u{85}e\0f"],
    );
}

#[test]
fn span_excludes_the_last_newline() {
    let lines = Lines::new("a\nb\n\nc");
    assert_eq!(lines.span(&(0..2)), "a\nb");
    assert_eq!(lines.span(&(1..3)), "b\n");
    assert_eq!(lines.span(&(0..4)), "a\nb\n\nc");
    assert_eq!(lines.line(3), "c");
}

proptest! {
    #[test]
    fn lines_and_newlines_rebuild_the_text(text in "[ab\r\n\u{2028}é]{0,40}") {
        let lines = Lines::new(&text);
        let mut joined = lines.iter().collect::<Vec<_>>().join("\n");
        if lines.ends_with_newline() {
            joined.push('\n');
        }
        prop_assert_eq!(joined, text);
    }
}
