use super::{MOST_ASKS, MOST_LINES, lines};

#[test]
fn questions_imply_read_and_verbs_imply_actions() {
    use super::super::actions::Actions;
    let actions = |text: &str| lines(text)[0].actions;
    assert_eq!(actions("who deleted the branch?"), Actions::READ);
    assert_ne!(actions("delete the branch"), Actions::READ);
    assert_eq!(actions("¿cuántas ramas hay?"), Actions::READ);
    assert!(actions("zebra").is_empty());
}

#[test]
fn stop_words_are_searched_only_alone() {
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
fn phrase_matches_with_words_between() {
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
fn query_size_is_bounded() {
    assert!(lines("").is_empty());
    assert!(lines(" \n\t\n… !\n").is_empty());
    let many = "zebra \n".repeat(1000);
    assert_eq!(lines(&many).len(), MOST_LINES);
    let long = "zebra ".repeat(1000);
    assert!(lines(&long)[0].asks.len() <= MOST_ASKS);
    let signs = "删除".repeat(10_000);
    assert!(lines(&signs)[0].asks.len() <= MOST_ASKS);
}
