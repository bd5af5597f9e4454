use super::{MOST_ASKS, MOST_LINES, file_ending, lines, said};

/// The words of a line with their weights.
#[track_caller]
fn check(text: &str, expected: &str) {
    let said = said(text);
    let words: Vec<String> = said
        .iter()
        .map(|said| format!("{}:{}", said.word.plain, said.weight))
        .collect();
    assert_eq!(words.join(" "), expected);
}

#[test]
fn values_count_less_than_what_to_do_with_them() {
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
fn hosts_are_no_files() {
    assert_eq!(file_ending("notes.txt"), Some("txt"));
    assert_eq!(file_ending("example.org"), None);
    assert_eq!(file_ending("1.5"), None);
    assert_eq!(file_ending(".env"), None);
}

#[test]
fn questions_read_and_verbs_act() {
    use super::super::actions::Actions;
    let actions = |text: &str| lines(text)[0].actions;
    assert_eq!(actions("who deleted the branch?"), Actions::READ);
    assert_ne!(actions("delete the branch"), Actions::READ);
    assert_eq!(actions("¿cuántas ramas hay?"), Actions::READ);
    assert!(actions("zebra").is_empty());
}

#[test]
fn little_words_are_asked_for_only_alone() {
    assert_eq!(
        lines("what is the zebra")[0].asks.len(),
        1 + phrases("what is the zebra")
    );
    assert!(!lines("of")[0].asks.is_empty());
}

fn phrases(text: &str) -> usize {
    let asks = &lines(text)[0].asks;
    asks.iter().filter(|ask| ask.word.is_none()).count()
}

#[test]
fn a_phrase_is_found_with_words_between() {
    let meant = |text: &str| -> Vec<u16> {
        let line = lines(text).remove(0);
        let phrases = line.asks.into_iter().filter(|ask| ask.word.is_none());
        let members = phrases.flat_map(|ask| ask.members);
        members.map(|member| member.concept).collect()
    };
    let outright = meant("money back")[0];
    assert!(meant("back came all of the money").contains(&outright));
    assert!(!meant("money").contains(&outright));
    let again = meant("money back").into_iter();
    assert_eq!(again.filter(|&concept| concept == outright).count(), 1);
}

#[test]
fn queries_of_any_size_are_bounded() {
    assert!(lines("").is_empty());
    assert!(lines(" \n\t\n… !\n").is_empty());
    let many = "zebra \n".repeat(1000);
    assert_eq!(lines(&many).len(), MOST_LINES);
    let long = "zebra ".repeat(1000);
    assert!(lines(&long)[0].asks.len() <= MOST_ASKS);
    let signs = "删除".repeat(10_000);
    assert!(lines(&signs)[0].asks.len() <= MOST_ASKS);
}
