use super::{file_ending, read};

/// Checks the words of a line with their weights.
#[track_caller]
fn check(text: &str, expected: &str) {
    let words = read(text);
    let words: Vec<String> = words
        .iter()
        .map(|read| format!("{}:{}", read.word.plain, read.weight))
        .collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn quoted_values_weigh_less() {
    check(
        "rename \"old draft\" now",
        "rename:1 old:0.25 draft:0.25 now:1",
    );
    check(
        "call it 'x y', please",
        "call:1 it:1 x:0.25 y:0.25 please:1",
    );
    check("what 'worry", "what:1 worry:1");
    check("read https://example.org/a?b=c", "read:1 url:0.6");
    check("write to a.b@example.org", "write:1 to:1 email:0.6");
    check("open report.docx", "open:1 file:0.6 docx:1 report:0.35");
    check("key user:12", "key:1 key:0.6 user:0.35 12:0.35");
}

#[test]
fn hosts_are_not_files() {
    assert_eq!(file_ending("notes.txt"), Some("txt"));
    assert_eq!(file_ending("example.org"), None);
    assert_eq!(file_ending("1.5"), None);
    assert_eq!(file_ending(".env"), None);
}
