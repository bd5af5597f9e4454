use expect_test::{Expect, expect};

use super::*;
use crate::prune::{Lexical, Ranking};

fn order(max_chars: usize, goal: Option<&str>) -> Order<'_> {
    Order {
        max_chars,
        goal,
        source: None,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_1",
            form: RecoveryForm::Direct,
        },
    }
}

fn fitted(text: &str, order: &Order<'_>) -> Fitted {
    fit(text, order, &Lexical, &Deadline::never()).expect("it fits")
}

/// Returns the text, the stages and the cuts. In a run of equal characters, `…` replaces those
/// after the tenth.
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
    let stages: Vec<&str> = fitted.stages.iter().map(|stage| stage.as_str()).collect();
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
fn json_is_compacted_without_loss_or_unchanged() {
    let tight = |text: &str| tighten(text).map(|it| (it.text, it.stages, it.cuts.len()));
    assert_eq!(
        tight(" {\"a\": [1, 2.0], \"a\" : 1e400}\n"),
        Some((
            "{\"a\":[1,2.0],\"a\":1e400}".to_owned(),
            vec![Stage::Compact],
            0
        ))
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
fn fitting_text_is_unchanged() {
    for text in ["", "a\r\n", "{ \"a\" : 1 }", "é".repeat(1_000).as_str()] {
        let fitted = fitted(text, &order(1_000, Some("a")));
        assert_eq!(
            (&*fitted.text, fitted.stages, fitted.cuts),
            (text, vec![], vec![])
        );
    }
}

#[test]
fn middle_of_a_text_is_cut_by_whole_lines() {
    let text = numbered(400, |n| format!("line {n} of a text"));
    check(
        &text,
        1_000,
        None,
        expect![[r#"
            ⟦narrows: digest, 16 of 400 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦400× line {1..400} of a text⟧
            line 1 of a text
            line 2 of a text
            line 3 of a text
            line 4 of a text
            line 5 of a text
            line 6 of a text
            line 7 of a text
            line 8 of a text
            ⟦cut 9-392⟧
            line 393 of a text
            line 394 of a text
            line 395 of a text
            line 396 of a text
            line 397 of a text
            line 398 of a text
            line 399 of a text
            line 400 of a text

            digest [Lines { first: 9, last: 392 }]
        "#]],
    );
}

#[test]
fn middle_of_long_lines_is_cut_by_characters() {
    let text = format!("{}\r\n{}", "a".repeat(3_000), "b".repeat(3_000));
    check(
        &text,
        1_000,
        None,
        expect![[r#"
            ⟦narrows: digest, 836 of 6002 chars shown; absence here proves nothing; recover_text prune_id=prn_1 start_char=419 end_char=5584⟧
            aaaaaaaaaa…⟦cut chars 419-5584⟧bbbbbbbbbb…
            masked [Chars { first: 419, last: 5584 }]
        "#]],
    );
}

#[test]
fn grapheme_clusters_are_not_split() {
    let family = "👩\u{200d}👩\u{200d}👧";
    let text = family.repeat(400);
    let fitted = fitted(&text, &order(1_000, None));
    let parts: Vec<&str> = fitted.text.split(['⟦', '⟧']).collect();
    let is_whole = |part: &str| part.replace(family, "").is_empty();
    // After the header, and after the marker.
    assert!(
        is_whole(parts[2].trim_start()) && is_whole(parts[4]),
        "{}",
        fitted.text
    );
    let accents = "e\u{301}\u{302}".repeat(500);
    let fitted = super::tests::fitted(&accents, &order(1_000, None));
    assert!(!fitted.text.contains("⟧\u{301}") && !fitted.text.contains("⟧\u{302}"));
}

#[test]
fn lines_that_match_the_goal_are_kept() {
    let text = numbered(400, |n| match n {
        77 => "the parser lost its configuration here".to_owned(),
        300 => "configuration of the parser is read again".to_owned(),
        n => format!("2026-11-16 10:00:00 INFO request {n} is done"),
    });
    check(
        &text,
        1_500,
        Some("parser configuration"),
        expect![[r#"
            ⟦narrows: digest, 20 of 400 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            2026-11-16 10:00:00 INFO request 1 is done
            2026-11-16 10:00:00 INFO request 2 is done
            2026-11-16 10:00:00 INFO request 3 is done
            ⟦cut 4-73⟧
            2026-11-16 10:00:00 INFO request 74 is done
            2026-11-16 10:00:00 INFO request 75 is done
            2026-11-16 10:00:00 INFO request 76 is done
            the parser lost its configuration here
            2026-11-16 10:00:00 INFO request 78 is done
            2026-11-16 10:00:00 INFO request 79 is done
            2026-11-16 10:00:00 INFO request 80 is done
            ⟦cut 81-296⟧
            2026-11-16 10:00:00 INFO request 297 is done
            2026-11-16 10:00:00 INFO request 298 is done
            2026-11-16 10:00:00 INFO request 299 is done
            configuration of the parser is read again
            2026-11-16 10:00:00 INFO request 301 is done
            2026-11-16 10:00:00 INFO request 302 is done
            2026-11-16 10:00:00 INFO request 303 is done
            ⟦cut 304-397⟧
            2026-11-16 10:00:00 INFO request 398 is done
            2026-11-16 10:00:00 INFO request 399 is done
            2026-11-16 10:00:00 INFO request 400 is done

            pruned [Lines { first: 4, last: 73 }, Lines { first: 81, last: 296 }, Lines { first: 304, last: 397 }]
        "#]],
    );
}

/// An engine that returns fixed values.
struct Fixed(fn(usize) -> Vec<f32>);

impl Engine for Fixed {
    fn rank(
        &self,
        lines: &crate::prune::Lines<'_>,
        _: &str,
        _: SourceType,
        _: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        Ok(Ranking::by_worth((self.0)(lines.len())))
    }
}

#[test]
fn goal_matching_all_lines_keeps_both_ends() {
    let text = numbered(400, |n| format!("line {n} of a text"));
    let order = order(1_000, Some("goal"));
    let flat = fit(
        &text,
        &order,
        &Fixed(|lines| vec![0.5; lines]),
        &Deadline::never(),
    );
    let without = fitted(
        &text,
        &Order {
            goal: None,
            ..order
        },
    );
    assert_eq!(flat.as_ref(), Ok(&without));
    let blank = fitted(
        &text,
        &Order {
            goal: Some(" "),
            ..order
        },
    );
    assert_eq!(blank, without);
}

/// Returns prose in paragraphs of one line, with occasional headings.
fn prose(count: usize) -> String {
    numbered(count, |n| match n % 40 {
        1 => format!("\n## Day {n}\n"),
        _ => format!(
            "On day {n} the crew sailed {} miles and saw {} birds above the water.\n",
            n * 7 % 50,
            n * 13 % 90
        ),
    })
}

fn service_log(count: usize) -> String {
    numbered(count, |n| {
        let level = ["INFO", "DEBUG", "INFO", "WARN"][n * 7 % 4];
        let what = ["accepted", "queued", "served", "retried", "closed"][n * 3 % 5];
        format!(
            "2026-11-16 10:00:{:02} {level} server: {what} request {n}",
            n % 60
        )
    })
}

fn module(count: usize) -> String {
    numbered(count, |n| {
        format!(
            "def step_{n}(state):\n    value = state.read({n})\n    if value > {n}:\n        state.write({n}, value)\n    return value\n"
        )
    })
}

/// Counts the characters of a text that belong to markers.
fn in_markers(fitted: &Fitted) -> usize {
    let markers = fitted.text.split('⟦').skip(1);
    markers
        .map(|rest| rest.chars().take_while(|&c| c != '⟧').count() + 2)
        .sum()
}

#[test]
fn goal_matching_nothing_is_ignored() {
    for (source, text) in [
        (SourceType::Docs, prose(900)),
        (SourceType::Logs, service_log(1_500)),
        (SourceType::Code, module(800)),
    ] {
        // No word of the text, the names of files, and words that occur in nearly every line.
        for goal in ["zqxjv", "notes", "birds server state"] {
            let order = Order {
                source: Some(source),
                ..order(33_000, Some(goal))
            };
            let without = Order {
                goal: None,
                ..order
            };
            let fitted = fitted(&text, &order);
            assert_eq!(fitted, super::tests::fitted(&text, &without));
            let markers = in_markers(&fitted);
            assert!(
                markers < 4_000,
                "{source}, {goal}: {markers} characters of markers"
            );
            let last = text.trim_end().lines().last().expect("there are lines");
            assert!(fitted.text.trim_end().ends_with(last), "{source}, {goal}");
        }
    }
}

#[test]
fn goal_matching_many_log_lines_keeps_rare_lines() {
    let line = |at: usize| {
        let took = match at {
            4_321 => 45_257,
            _ => 10 + at * 7_919 % 83,
        };
        format!(
            "2026-03-04T00:00:{:02} INFO http: id={at:06} 200 in {took} ms\n",
            at % 60
        )
    };
    let log: String = (0..6_000).map(line).collect();
    let goal = "Nearly all took less than 100 ms. Which id took more than 40 seconds?";
    let order = Order {
        source: Some(SourceType::Logs),
        ..order(4_000, Some(goal))
    };
    let fitted = fitted(&log, &order);
    assert!(
        fitted.stages.contains(&Stage::Pruned),
        "{:?}",
        fitted.stages
    );
    assert!(fitted.text.contains("in 40 ms"), "{}", fitted.text);
    assert!(fitted.text.contains("in 45257 ms"), "{}", fitted.text);
}

#[test]
fn goal_matching_many_rows_uses_the_whole_budget() {
    let row = |at: usize| {
        let shop = if at.is_multiple_of(40) {
            "Arven"
        } else {
            "Borlo"
        };
        let total = if at == 4_321 { 99_999 } else { at % 97 };
        format!("{{\"id\":{at},\"shop\":\"{shop}\",\"total\":{total}}}\n")
    };
    let rows: String = (0..6_000).map(row).collect();
    let order = Order {
        source: Some(SourceType::Logs),
        ..order(4_000, Some("total of the shop Arven"))
    };
    let fitted = fitted(&rows, &order);
    assert!(
        fitted.stages.contains(&Stage::Pruned),
        "{:?}",
        fitted.stages
    );
    assert!(fitted.text.contains("Arven"), "{}", fitted.text);
    // A rare line that does not answer the goal.
    assert!(!fitted.text.contains("99999"), "{}", fitted.text);
}

#[test]
fn budget_unused_by_the_goal_goes_to_both_ends() {
    for (source, mut text) in [
        (SourceType::Docs, prose(900)),
        (SourceType::Logs, service_log(1_500)),
        (SourceType::Code, module(800)),
    ] {
        let middle = text[..text.len() / 2].rfind('\n').expect("there are lines") + 1;
        text.insert_str(middle, "the kraken rises\n");
        let order = Order {
            source: Some(source),
            ..order(33_000, Some("kraken"))
        };
        let fitted = fitted(&text, &order);
        assert!(fitted.text.contains("the kraken rises\n"), "{source}");
        let last = text.trim_end().lines().last().expect("there are lines");
        assert!(fitted.text.trim_end().ends_with(last), "{source}");
        // Headings and definitions are kept as well, with markers between them.
        let most = if source == SourceType::Logs { 2 } else { 40 };
        assert!(fitted.cuts.len() <= most, "{source}: {}", fitted.cuts.len());
    }
}

#[test]
fn rows_at_both_ends_are_kept_without_a_goal_match() {
    let text = rows(600);
    let with = fitted(&text, &order(4_000, Some("zqxjv")));
    let without = fitted(&text, &order(4_000, None));
    assert_eq!(with, without);
}

#[test]
fn wrong_score_count_from_an_engine_is_an_error() {
    let short = Fixed(|lines| vec![0.5; lines - 1]);
    for text in [rows(100), numbered(400, |n| format!("line {n}"))] {
        let wrong = fit(
            &text,
            &order(1_000, Some("goal")),
            &short,
            &Deadline::never(),
        );
        assert_eq!(wrong, Err(Fallback::InternalError));
    }
}

#[test]
fn protected_lines_win_ties_and_goal_keeps_its_half() {
    let text = numbered(300, |n| match n % 3 {
        0 => format!("ERROR number {n}"),
        _ => format!("some words in line {n}"),
    });
    // Only the last line answers the goal.
    let engine = Fixed(|lines| (0..lines).map(|at| f32::from(at + 1 == lines)).collect());
    let order = Order {
        source: Some(SourceType::Logs),
        ..order(1_000, Some("goal"))
    };
    let fitted = fit(&text, &order, &engine, &Deadline::never()).expect("it fits");
    assert!(fitted.text.contains("ERROR number 3\n"));
    assert!(
        fitted.text.ends_with("ERROR number 300\n"),
        "{}",
        fitted.text
    );
}

#[test]
fn fenced_block_is_kept_whole_or_removed() {
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
fn long_relevant_line_is_cut_itself() {
    let long = format!("panic in module parser {}", "x".repeat(9_000));
    let text = numbered(60, |n| match n {
        30 => long.clone(),
        n => format!("2026-11-16 10:00:00 INFO request {n} is done"),
    });
    check(
        &text,
        1_500,
        Some("panic in parser"),
        expect![[r#"
            ⟦narrows: digest, 13 of 60 lines shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            2026-11-16 10:00:00 INFO request 1 is done
            2026-11-16 10:00:00 INFO request 2 is done
            2026-11-16 10:00:00 INFO request 3 is done
            ⟦cut 4-26⟧
            2026-11-16 10:00:00 INFO request 27 is done
            2026-11-16 10:00:00 INFO request 28 is done
            2026-11-16 10:00:00 INFO request 29 is done
            panic in module parser xxxxxxxxxx…⟦cut chars 1658-9900⟧xxxxxxxxxx…
            2026-11-16 10:00:00 INFO request 31 is done
            2026-11-16 10:00:00 INFO request 32 is done
            2026-11-16 10:00:00 INFO request 33 is done
            ⟦cut 34-57⟧
            2026-11-16 10:00:00 INFO request 58 is done
            2026-11-16 10:00:00 INFO request 59 is done
            2026-11-16 10:00:00 INFO request 60 is done

            pruned masked [Lines { first: 4, last: 26 }, Chars { first: 1658, last: 9900 }, Lines { first: 34, last: 57 }]
        "#]],
    );
}

#[test]
fn base64_is_replaced_by_a_note() {
    let blob = "iVBORw0KGgoAAAANSUhEUgAAAAUA9aZ".repeat(60);
    let text = format!("Before <img src=\"data:image/png;base64,{blob}==\"> after\n");
    check(
        &text,
        1_000,
        None,
        expect![[r#"
            Before <img src="⟦narrows: base64 image/png, 1 kB, cut; recover_text prune_id=prn_1 start_char=18 end_char=1901⟧"> after

            base64 [Chars { first: 18, last: 1901 }]
        "#]],
    );
    let json = format!("{{\"name\": \"logo\", \"data\": \"{blob}\", \"size\": 12}}");
    check(
        &json,
        1_000,
        None,
        expect![[r#"
            name: logo
            data: "⟦narrows: base64 image/png, 1 kB, cut; recover_text prune_id=prn_1 start_char=27 end_char=1886⟧"
            size: 12
            toon base64 [Chars { first: 27, last: 1886 }]
        "#]],
    );
    check_json(
        &json,
        1_000,
        None,
        expect![[r#"
            {"name":"logo","data":"⟦narrows: base64 image/png, 1 kB, cut; recover_text prune_id=prn_1 start_char=27 end_char=1886⟧","size":12}
            compact base64 [Chars { first: 27, last: 1886 }]
        "#]],
    );
}

#[test]
fn table_loses_rows_and_stays_valid() {
    check(
        &format!("{{\"items\": {}, \"total\": 400}}", rows(400)),
        1_000,
        None,
        expect![[r#"
            ⟦narrows: digest, 42 of 400 rows shown; absence here proves nothing; recover_text prune_id=prn_1 query="words"⟧
            ⟦400 rows of $.items; id 1..400; name many values; done true 400⟧
            items[400]{id,name,done}:
              1,row 1,true
              2,row 2,true
              3,row 3,true
              4,row 4,true
              5,row 5,true
              6,row 6,true
              7,row 7,true
              8,row 8,true
              9,row 9,true
              10,row 10,true
              11,row 11,true
              12,row 12,true
              13,row 13,true
              14,row 14,true
              15,row 15,true
              16,row 16,true
              17,row 17,true
              18,row 18,true
              19,row 19,true
              20,row 20,true
              21,row 21,true
              22,row 22,true
              23,row 23,true
              24,row 24,true
              25,row 25,true
              26,row 26,true
              27,row 27,true
              28,row 28,true
              29,row 29,true
              30,row 30,true
              31,row 31,true
              32,row 32,true
              33,row 33,true
              34,row 34,true
              35,row 35,true
              36,row 36,true
              37,row 37,true
              38,row 38,true
              39,row 39,true
              ⟦cut rows 40-397⟧
              398,row 398,true
              399,row 399,true
              400,row 400,true
            total: 400
            toon rows [Chars { first: 1710, last: 18055 }]
        "#]],
    );
}

#[test]
fn json_marker_is_a_row() {
    check_json(
        &rows(100),
        1_000,
        None,
        expect![[r#"
            [{"id":1,"name":"row 1","done":true},{"id":2,"name":"row 2","done":true},{"id":3,"name":"row 3","done":true},{"id":4,"name":"row 4","done":true},{"id":5,"name":"row 5","done":true},{"id":6,"name":"row 6","done":true},{"id":7,"name":"row 7","done":true},{"id":8,"name":"row 8","done":true},{"id":9,"name":"row 9","done":true},{"id":10,"name":"row 10","done":true},{"id":11,"name":"row 11","done":true},{"id":12,"name":"row 12","done":true},{"id":13,"name":"row 13","done":true},{"id":14,"name":"row 14","done":true},{"id":15,"name":"row 15","done":true},{"id":16,"name":"row 16","done":true},{"id":17,"name":"row 17","done":true},{"id":18,"name":"row 18","done":true},{"id":19,"name":"row 19","done":true},{"id":20,"name":"row 20","done":true},"⟦narrows: rows 21-97 of 100 cut (~1.5k tokens); recover_text prune_id=prn_1 start_char=864 end_char=4249⟧",{"id":98,"name":"row 98","done":true},{"id":99,"name":"row 99","done":true},{"id":100,"name":"row 100","done":true}]
            compact rows [Chars { first: 864, last: 4249 }]
        "#]],
    );
}

#[test]
fn row_cuts_align_with_rows_in_any_layout() {
    let row = |n: usize| format!("  {{\n    \"id\" : {n} , \"é\": \"row {n}\"\n  }} \n");
    let rows: Vec<String> = (1..=100).map(row).collect();
    let json = format!(" [\n{} , 7 ]\n", rows.join(" ,\n"));
    let chars: Vec<char> = json.chars().collect();
    for goal in [None, Some("row 57")] {
        let fitted = fitted(&json, &order(1_000, goal));
        assert_eq!(fitted.stages.last(), Some(&Stage::Rows));
        for cut in fitted.cuts {
            let CutRange::Chars { first, last } = cut else {
                panic!("rows are cut by characters");
            };
            let part: String = chars[first - 1..last].iter().collect();
            assert!(
                part.starts_with('{') && part.ends_with(['}', '7']),
                "{part}"
            );
        }
    }
}

#[test]
fn rows_that_match_the_goal_are_kept() {
    check_json(
        &rows(100),
        1_000,
        Some("row 57"),
        expect![[r#"
            [{"id":1,"name":"row 1","done":true},{"id":2,"name":"row 2","done":true},{"id":3,"name":"row 3","done":true},{"id":4,"name":"row 4","done":true},{"id":5,"name":"row 5","done":true},{"id":6,"name":"row 6","done":true},{"id":7,"name":"row 7","done":true},{"id":8,"name":"row 8","done":true},{"id":9,"name":"row 9","done":true},{"id":10,"name":"row 10","done":true},{"id":11,"name":"row 11","done":true},{"id":12,"name":"row 12","done":true},{"id":13,"name":"row 13","done":true},"⟦narrows: rows 14-53 of 100 cut (~775 tokens); recover_text prune_id=prn_1 start_char=556 end_char=2313⟧",{"id":54,"name":"row 54","done":true},{"id":55,"name":"row 55","done":true},{"id":56,"name":"row 56","done":true},{"id":57,"name":"row 57","done":true},{"id":58,"name":"row 58","done":true},{"id":59,"name":"row 59","done":true},{"id":60,"name":"row 60","done":true},"⟦cut rows 61-97⟧",{"id":98,"name":"row 98","done":true},{"id":99,"name":"row 99","done":true},{"id":100,"name":"row 100","done":true}]
            compact rows [Chars { first: 556, last: 2313 }, Chars { first: 2624, last: 4249 }]
        "#]],
    );
}

#[test]
fn largest_arrays_lose_rows_before_strings_are_cut() {
    let text = "t".repeat(400);
    let json = format!(
        "{{\"text\":\"{text}\",\"a\":{},\"b\":{},\"c\":[1,2]}}",
        rows(50),
        rows(40)
    );
    check_json(
        &json,
        1_500,
        None,
        expect![[r#"
            {"text":"tttttttttt…","a":[{"id":1,"name":"row 1","done":true},{"id":2,"name":"row 2","done":true},{"id":3,"name":"row 3","done":true},{"id":4,"name":"row 4","done":true},{"id":5,"name":"row 5","done":true},{"id":6,"name":"row 6","done":true},{"id":7,"name":"row 7","done":true},{"id":8,"name":"row 8","done":true},{"id":9,"name":"row 9","done":true},{"id":10,"name":"row 10","done":true},"⟦narrows: rows 11-47 of 50 cut (~717 tokens); recover_text prune_id=prn_1 start_char=839 end_char=2464⟧",{"id":48,"name":"row 48","done":true},{"id":49,"name":"row 49","done":true},{"id":50,"name":"row 50","done":true}],"b":[{"id":1,"name":"row 1","done":true},{"id":2,"name":"row 2","done":true},{"id":3,"name":"row 3","done":true},{"id":4,"name":"row 4","done":true},{"id":5,"name":"row 5","done":true},{"id":6,"name":"row 6","done":true},{"id":7,"name":"row 7","done":true},{"id":8,"name":"row 8","done":true},{"id":9,"name":"row 9","done":true},"⟦cut rows 10-37⟧",{"id":38,"name":"row 38","done":true},{"id":39,"name":"row 39","done":true},{"id":40,"name":"row 40","done":true}],"c":[1,2]}
            compact rows [Chars { first: 839, last: 2464 }, Chars { first: 2982, last: 4211 }]
        "#]],
    );
}

#[test]
fn oversized_string_loses_its_middle() {
    let json = format!(
        "[{{\"type\": \"text\", \"text\": \"{}\\n{}\"}}]",
        "a".repeat(2_000),
        "b".repeat(2_000)
    );
    check_json(
        &json,
        1_000,
        None,
        expect![[r#"
            [{"type":"text","text":"aaaaaaaaaa…⟦narrows: chars 459-3599 of 4032 cut (~481 tokens); recover_text prune_id=prn_1 start_char=459 end_char=3599⟧bbbbbbbbbb…"}]
            compact masked [Chars { first: 459, last: 3599 }]
        "#]],
    );
    let string = format!("\"{}\"", "\\u00e9".repeat(600));
    check_json(
        &string,
        1_000,
        None,
        expect![[r#"
            "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9⟦narrows: chars 440-3163 of 3602 cut (~2.2k tokens); recover_text prune_id=prn_1 start_char=440 end_char=3163⟧\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
            masked [Chars { first: 440, last: 3163 }]
        "#]],
    );
}

#[test]
fn large_object_loses_members() {
    let members: Vec<String> = (1..=90)
        .map(|n| format!("\"package {n}\": \"1.{n}.0\""))
        .collect();
    let json = format!("{{\"deps\":{{{}}}}}", members.join(", "));
    check_json(
        &json,
        1_000,
        None,
        expect![[r#"
            {"deps":{"package 1":"1.1.0","package 2":"1.2.0","package 3":"1.3.0","package 4":"1.4.0","package 5":"1.5.0","package 6":"1.6.0","package 7":"1.7.0","package 8":"1.8.0","package 9":"1.9.0","package 10":"1.10.0","package 11":"1.11.0","package 12":"1.12.0","package 13":"1.13.0","package 14":"1.14.0","package 15":"1.15.0","package 16":"1.16.0","package 17":"1.17.0","package 18":"1.18.0","package 19":"1.19.0","package 20":"1.20.0","package 21":"1.21.0","package 22":"1.22.0","package 23":"1.23.0","package 24":"1.24.0","package 25":"1.25.0","package 26":"1.26.0","package 27":"1.27.0","package 28":"1.28.0","package 29":"1.29.0","package 30":"1.30.0","package 31":"1.31.0","package 32":"1.32.0","package 33":"1.33.0","package 34":"1.34.0","package 35":"1.35.0","package 36":"1.36.0","package 37":"1.37.0","⟦narrows: keys 38-87 of 90 cut (~623 tokens); recover_text prune_id=prn_1 start_char=880 end_char=2077⟧":null,"package 88":"1.88.0","package 89":"1.89.0","package 90":"1.90.0"}}
            compact rows [Chars { first: 880, last: 2077 }]
        "#]],
    );
    check(
        &json,
        1_000,
        Some("package 71"),
        expect![[r#"
            ⟦narrows: digest, 883 of 2151 chars shown; absence here proves nothing; recover_text prune_id=prn_1 start_char=640 end_char=1597⟧
            {"deps":{"package 1":"1.1.0","package 2":"1.2.0","package 3":"1.3.0","package 4":"1.4.0","package 5":"1.5.0","package 6":"1.6.0","package 7":"1.7.0","package 8":"1.8.0","package 9":"1.9.0","package 10":"1.10.0","package 11":"1.11.0","package 12":"1.12.0","package 13":"1.13.0","package 14":"1.14.0","package 15":"1.15.0","package 16":"1.16.0","package 17":"1.17.0","package 18":"1.18.0","package 19":"1.19.0","package 20":"1.20.0","package 21":"1.21.0","package 22":"1.22.0","package 23":"1.23.0","package 24":"1.24.0","package 25":"1.25.0","package 26":"1.26.0","package 27":"1.27.0","⟦cut keys 28-67⟧":null,"package 68":"1.68.0","package 69":"1.69.0","package 70":"1.70.0","package 71":"1.71.0","package 72":"1.72.0","package 73":"1.73.0","package 74":"1.74.0","⟦cut keys 75-87⟧":null,"package 88":"1.88.0","package 89":"1.89.0","package 90":"1.90.0"}}
            compact rows [Chars { first: 640, last: 1597 }, Chars { first: 1768, last: 2077 }]
        "#]],
    );
}

#[test]
fn unachievable_budget_is_rejected() {
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
}

#[test]
fn expired_deadline_keeps_first_and_last_lines() {
    let passed = Deadline::new(&|| true);
    for goal in [None, Some("a")] {
        let text = numbered(2_000, |n| format!("line {n}"));
        let late = fit(&text, &order(1_000, goal), &Lexical, &passed).expect("it fits");
        assert_eq!((late.cuts.len(), late.stages), (1, vec![Stage::Masked]));
        assert!(late.text.contains("\nline 1\n") && late.text.ends_with("\nline 2000\n"));
        let late = fit(&rows(90), &order(1_000, goal), &Lexical, &passed).expect("it fits");
        assert!(late.text.contains("\n[{\"id\": 1,") && late.text.ends_with("}]"));
    }
    let late = fit_json(&rows(90), &order(1_000, None), &Lexical, &passed);
    assert_eq!(late, Err(Fallback::Timeout));
}

#[test]
fn cut_is_worthwhile_if_it_saves_a_third() {
    for (chars, expected) in [
        (16_000, false),
        (16_001, false),
        (24_000, false),
        (24_001, true),
    ] {
        assert_eq!(pays(chars, 16_000), expected, "{chars}");
    }
}

#[test]
fn nested_rows_are_removed_whole() {
    let row = |n: usize| {
        let (quay, free) = (n % 31, n.is_multiple_of(2));
        format!(
            r#"{{"id":{n},"note":"passes for the {n}th time","berth":{{"quay":{quay},"free":{free}}}}}"#
        )
    };
    let rows: Vec<String> = (0..2_000).map(row).collect();
    let text = format!(r#"{{"total":2000,"rows":[{}]}}"#, rows.join(","));
    for max_chars in [2_000, 4_000, 8_000, 16_000] {
        let fitted = fitted(&text, &order(max_chars, None));
        assert!(fitted.text.chars().count() <= max_chars);
        let shown = &fitted.text;
        assert!(shown.contains("⟦cut rows "), "{max_chars}: {shown:.400}");
        assert!(!shown.contains("⟦cut chars "), "{max_chars}: {shown:.400}");
    }
}
