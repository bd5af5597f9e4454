use expect_test::{Expect, expect};

use super::*;
use crate::prune::Lexical;

fn order(max_chars: usize, goal: Option<&str>) -> Order<'_> {
    Order {
        max_chars,
        goal,
        source: None,
        receipt: "prn_1",
        tool: "recover_text",
    }
}

fn fitted(text: &str, order: &Order<'_>) -> Fitted {
    fit(text, order, &Lexical, &Deadline::never()).expect("it fits")
}

/// A text and what was done to it. Where nothing but white space and words that
/// were given stand, `…` is for a run of one letter.
fn show(fitted: &Fitted) -> String {
    let mut shown = String::new();
    let mut run = 0;
    let mut last = None;
    for c in fitted.text.chars().chain(['\n']) {
        run = if last == Some(c) { run + 1 } else { 0 };
        last = Some(c);
        match run {
            ..10 => shown.push(c),
            10 => shown.push('…'),
            _ => {}
        }
    }
    let stages: Vec<&str> = fitted.stages.iter().map(|stage| stage.word()).collect();
    format!("{shown}{} {:?}\n", stages.join(" "), fitted.cuts)
}

#[track_caller]
fn check(text: &str, max_chars: usize, goal: Option<&str>, expected: Expect) {
    let fitted = fitted(text, &order(max_chars, goal));
    assert!(fitted.text.chars().count() <= max_chars);
    expected.assert_eq(&show(&fitted));
}

#[track_caller]
fn check_json(text: &str, max_chars: usize, goal: Option<&str>, expected: Expect) {
    let order = order(max_chars, goal);
    let fitted = fit_json(text, &order, &Lexical, &Deadline::never()).expect("it fits");
    assert!(fitted.text.chars().count() <= max_chars);
    expected.assert_eq(&show(&fitted));
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).map(|n| line(n) + "\n").collect()
}

fn rows(count: usize) -> String {
    let row = |n: usize| format!("{{\"id\": {n}, \"name\": \"row {n}\", \"done\": true}}");
    let rows: Vec<String> = (1..=count).map(row).collect();
    format!("[{}]", rows.join(", "))
}

#[test]
fn json_is_tightened_without_loss_or_left_alone() {
    let tight = |text: &str| tighten(text).map(|it| (it.text, it.stages, it.cuts.len()));
    assert_eq!(
        tight(" {\"a\": [1, 2.0]}\n"),
        Some(("{\"a\":[1,2.0]}".to_owned(), vec![Stage::Compact], 0))
    );
    assert_eq!(
        tight("[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]"),
        Some((
            "[2]{id,name}:\n  1,a\n  2,b".to_owned(),
            vec![Stage::Toon],
            0
        ))
    );
    for text in [
        "",
        " ",
        "[1,2]",
        "{}",
        "12 ",
        "\"a\" ",
        "{\"a\": 1",
        "[x]  ",
        "text",
    ] {
        assert_eq!(tight(text), None, "{text}");
    }
}

#[test]
fn what_fits_is_not_touched() {
    for text in ["", "a\r\n", "{ \"a\" : 1 }", "é".repeat(1_000).as_str()] {
        let fitted = fitted(text, &order(1_000, Some("a")));
        assert_eq!(
            (&*fitted.text, fitted.stages, fitted.cuts),
            (text, vec![], vec![])
        );
    }
}

#[test]
fn the_middle_of_a_text_goes_by_whole_lines() {
    let text = numbered(400, |n| format!("line {n} of a text"));
    check(&text, 1_000, None, expect![[]]);
}

#[test]
fn the_middle_of_long_lines_goes_by_characters() {
    let text = format!("{}\r\n{}", "a".repeat(3_000), "b".repeat(3_000));
    check(&text, 1_000, None, expect![[]]);
}

#[test]
fn signs_of_several_characters_stay_whole() {
    let family = "👩\u{200d}👩\u{200d}👧";
    let text = family.repeat(400);
    let fitted = fitted(&text, &order(1_000, None));
    let parts: Vec<&str> = fitted.text.split(['⟦', '⟧']).collect();
    let is_whole = |part: &str| part.replace(family, "").is_empty();
    assert!(is_whole(parts[0]) && is_whole(parts[2]), "{}", fitted.text);
    let accents = "e\u{301}\u{302}".repeat(500);
    let fitted = super::tests::fitted(&accents, &order(1_000, None));
    assert!(!fitted.text.contains("⟧\u{301}") && !fitted.text.contains("⟧\u{302}"));
}

#[test]
fn lines_that_serve_the_goal_stay() {
    let text = numbered(400, |n| match n {
        77 => "the parser lost its configuration here".to_owned(),
        300 => "configuration of the parser is read again".to_owned(),
        n => format!("2026-11-16 10:00:00 INFO request {n} is done"),
    });
    check(&text, 1_500, Some("parser configuration"), expect![[]]);
}

#[test]
fn a_goal_that_nothing_serves_more_than_the_rest_leaves_both_ends() {
    let text = "the same line again\n".repeat(200);
    let fitted = fitted(&text, &order(1_000, Some("nothing of that")));
    assert!(fitted.stages == [Stage::Masked] || fitted.stages == [Stage::Pruned]);
}

#[test]
fn a_fenced_block_stays_whole_or_goes() {
    let filler = numbered(40, |n| {
        format!("Some words of paragraph {n}, of no interest.")
    });
    let fence = "```sh\ncargo install narrows\nnarrows serve --port 8080\n```\n";
    let text = format!("# Title\n\n{filler}\n## Install\n\n{fence}\n{filler}");
    let order = Order {
        source: Some(SourceType::Docs),
        ..order(1_000, Some("how to install narrows"))
    };
    let fitted = fitted(&text, &order);
    assert!(fitted.text.contains(fence), "{}", fitted.text);
    assert_eq!(fitted.stages, [Stage::Pruned]);
}

#[test]
fn a_long_line_that_is_worth_keeping_is_cut_itself() {
    let long = format!("panic in module parser {}", "x".repeat(9_000));
    let text = numbered(60, |n| match n {
        30 => long.clone(),
        n => format!("2026-11-16 10:00:00 INFO request {n} is done"),
    });
    check(&text, 1_500, Some("panic in parser"), expect![[]]);
}

#[test]
fn base64_gives_way_to_a_note() {
    let blob = "iVBORw0KGgoAAAANSUhEUgAAAAUA9aZ".repeat(60);
    let text = format!("Before <img src=\"data:image/png;base64,{blob}==\"> after\n");
    check(&text, 1_000, None, expect![[]]);
    let json = format!("{{\"name\": \"logo\", \"data\": \"{blob}\", \"size\": 12}}");
    check(&json, 1_000, None, expect![[]]);
    check_json(&json, 1_000, None, expect![[]]);
}

#[test]
fn a_table_loses_rows_and_stays_a_table() {
    check(
        &format!("{{\"items\": {}, \"total\": 400}}", rows(400)),
        1_000,
        None,
        expect![[]],
    );
}

#[test]
fn in_json_the_marker_is_a_row() {
    check_json(&rows(100), 1_000, None, expect![[]]);
}

#[test]
fn rows_that_serve_the_goal_stay() {
    check_json(&rows(100), 1_000, Some("row 57"), expect![[]]);
}

#[test]
fn the_largest_arrays_lose_rows_and_strings_stay_whole() {
    let text = "t".repeat(400);
    let json = format!(
        "{{\"text\":\"{text}\",\"a\":{},\"b\":{},\"c\":[1,2]}}",
        rows(50),
        rows(40)
    );
    check_json(&json, 1_500, None, expect![[]]);
}

#[test]
fn a_string_that_is_too_long_by_itself_loses_its_middle() {
    let json = format!(
        "[{{\"type\": \"text\", \"text\": \"{}\\n{}\"}}]",
        "a".repeat(2_000),
        "b".repeat(2_000)
    );
    check_json(&json, 1_000, None, expect![[]]);
    let string = format!("\"{}\"", "\\u00e9".repeat(600));
    check_json(&string, 1_000, None, expect![[]]);
}

#[test]
fn an_object_of_many_members_loses_members() {
    let members: Vec<String> = (1..=90)
        .map(|n| format!("\"package {n}\": \"1.{n}.0\""))
        .collect();
    let json = format!("{{\"deps\":{{{}}}}}", members.join(", "));
    check_json(&json, 1_000, None, expect![[]]);
    check(&json, 1_000, Some("package 71"), expect![[]]);
}

#[test]
fn what_cannot_fit_is_refused() {
    let fit_within = |text: &str, max| fit(text, &order(max, None), &Lexical, &Deadline::never());
    assert_eq!(fit_within(&rows(90), 20), Err(Fallback::ConstraintsUnmet));
    assert_eq!(
        fit_within(&"a".repeat(90), 20),
        Err(Fallback::ConstraintsUnmet)
    );
    let number = "1".repeat(2_000);
    for json in [&*number, "[1, 2", "text"] {
        let order = order(3, None);
        let refused = fit_json(json, &order, &Lexical, &Deadline::never());
        assert_eq!(refused, Err(Fallback::ConstraintsUnmet));
    }
    let passed = Deadline::new(&|| true);
    for text in [rows(90), "a\n".repeat(2_000)] {
        let late = fit(&text, &order(1_000, Some("a")), &Lexical, &passed);
        assert_eq!(late, Err(Fallback::Timeout));
    }
}
