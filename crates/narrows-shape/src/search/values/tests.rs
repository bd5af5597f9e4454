use super::meaning;

#[track_caller]
fn check(chunk: &str, expected: &[&str]) {
    let bare = chunk.trim_start_matches(['#', '@', '$', '~', '/']);
    let mark = chunk.chars().next().filter(|_| bare != chunk);
    assert_eq!(meaning(bare, mark), expected, "{chunk}");
}

#[test]
fn values_are_classified_by_format() {
    check("D17", &["cell"]);
    check("A1:F1", &["cell"]);
    check("PROJ-12", &["issue"]);
    check("#240", &["issue"]);
    check("#general", &["channel"]);
    check("@anna", &["user"]);
    check("a1b2c3d", &["commit"]);
    check("1706.03762", &["paper"]);
    check("10.0.0.1", &["ip"]);
    check("14:30", &["time"]);
    check("3pm", &["time"]);
    check("2024-05-01", &["date"]);
    check("DATABASE_URL", &["variable"]);
    check("cart:5", &["key"]);
    check("~/notes/today", &["path"]);
    check("$50", &["amount"]);
    check("octo/zebra", &["repository"]);
}

#[test]
fn words_and_numbers_are_not_values() {
    for chunk in [
        "",
        "zebra",
        "Q3",
        "1.5",
        "42",
        "10.0.0.256",
        "deadbeef",
        "and/or",
        "well-known",
        "API",
        "12-30",
        "é:é",
        "#",
        "pm",
        "99:9",
    ] {
        check(chunk, &[]);
    }
}
