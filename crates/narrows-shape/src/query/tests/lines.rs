use std::cell::Cell;

use expect_test::expect;

use super::*;

const TEXT: &str = "one\ntwo\r\nthree Apples\nfour\nfive apples and pears\nsix\n";

#[test]
fn line_ranges_are_returned_in_the_requested_order() {
    let ranges = |ranges: &[(i64, i64)]| Request {
        ranges: Some(ranges.to_vec()),
        ..Request::default()
    };
    check(
        TEXT,
        ranges(&[(2, 3), (6, 99)]),
        expect![[r#"
            ⟦lines 2-3, 6 of 6⟧
            2│ two\r
            3│ three Apples
            6│ six"#]],
    );
    check(
        TEXT,
        ranges(&[(4, 5), (1, 1)]),
        expect![[r#"
            ⟦lines 4-5, 1 of 6⟧
            4│ four
            5│ five apples and pears
            1│ one"#]],
    );
    check(
        TEXT,
        ranges(&[]),
        expect![[r#"
        ⟦no lines of 6⟧
    "#]],
    );
    check(
        TEXT,
        ranges(&[(7, 8)]),
        expect![
            "invalid_range: Lines are numbered from 1 to 6, and a range must not end before it starts"
        ],
    );
    check(
        TEXT,
        ranges(&[(3, 2)]),
        expect![
            "invalid_range: Lines are numbered from 1 to 6, and a range must not end before it starts"
        ],
    );
    let numbered = Request {
        numbers: Some(true),
        ..ranges(&[(4, 5)])
    };
    check(
        TEXT,
        numbered,
        expect![[r#"
        ⟦lines 4-5 of 6⟧
        4│ four
        5│ five apples and pears"#]],
    );
}

#[test]
fn whole_text_ends_and_characters_can_be_selected() {
    check(
        TEXT,
        Request::default(),
        expect![[r#"
            ⟦lines 1-6 of 6⟧
            one
            two\r
            three Apples
            four
            five apples and pears
            six
        "#]],
    );
    check(
        "",
        Request::default(),
        expect![[r#"
        ⟦no lines of 0⟧
    "#]],
    );
    let ends = Request {
        head: Some(1),
        tail: Some(2),
        ..Request::default()
    };
    check(
        TEXT,
        ends,
        expect![[r#"
            ⟦lines 1, 5-6 of 6⟧
            1│ one
            5│ five apples and pears
            6│ six"#]],
    );
    let chars = Request {
        start_char: Some(2),
        end_char: Some(5),
        ..Request::default()
    };
    check(
        "aé\nb🦀c",
        chars.clone(),
        expect![[r#"
        ⟦chars 2-5 of 6⟧
        é
        b🦀"#]],
    );
    let far = Request {
        start_char: Some(9),
        end_char: None,
        ..chars.clone()
    };
    check(
        "aé\nb🦀c",
        far,
        expect![
            "invalid_range: Characters are numbered from 1 to 6, and a range must not end before it starts"
        ],
    );
    let searched = Request {
        query: Some("b".into()),
        ..chars
    };
    check(
        "aé\nb🦀c",
        searched,
        expect![
            "invalid: Argument 'start_char' and end_char cannot be combined with other arguments; use ranges to search part of the text"
        ],
    );
}

#[test]
fn query_finds_lines_with_all_words() {
    check(
        TEXT,
        query("APPLES"),
        expect![[r#"
        ⟦2 of 6 lines match⟧
        3│ three Apples
        5│ five apples and pears"#]],
    );
    check(
        TEXT,
        query("pears five"),
        expect![[r#"
        ⟦1 of 6 lines match⟧
        5│ five apples and pears"#]],
    );
    check(
        TEXT,
        query("\"apples and\""),
        expect![[r#"
        ⟦1 of 6 lines match⟧
        5│ five apples and pears"#]],
    );
    check(
        TEXT,
        query("\"and apples\""),
        expect![[r#"
        ⟦0 of 6 lines match⟧
    "#]],
    );
    check(
        TEXT,
        query("/^f\\w+$/"),
        expect![[r#"
        ⟦1 of 6 lines match⟧
        4│ four"#]],
    );
    check(
        TEXT,
        query("/Apples/"),
        expect![[r#"
        ⟦1 of 6 lines match⟧
        3│ three Apples"#]],
    );
    check(
        TEXT,
        query("/APPLES/i four"),
        expect![[r#"
        ⟦0 of 6 lines match⟧
    "#]],
    );
    check(
        TEXT,
        query("kiwi"),
        expect![[r#"
        ⟦0 of 6 lines match⟧
    "#]],
    );
    check(
        TEXT,
        query("four|six"),
        expect![[r#"
        ⟦2 of 6 lines match; query read as a regular expression⟧
        4│ four
        6│ six"#]],
    );
    check(
        TEXT,
        query("four OR pears"),
        expect![[r#"
        ⟦2 of 6 lines match⟧
        4│ four
        5│ five apples and pears"#]],
    );
    check(
        TEXT,
        query("/usr/lib/x"),
        expect![[r#"
        ⟦0 of 6 lines match⟧
    "#]],
    );
    check(
        TEXT,
        query("/(/"),
        expect![
            "invalid: Argument 'query' is not a valid regular expression (unclosed group); look-around and back-references are not supported"
        ],
    );
    check(
        TEXT,
        query("/(?=a)/"),
        expect![
            "invalid: Argument 'query' is not a valid regular expression (look-around, including look-ahead and look-behind, is not supported); look-around and back-references are not supported"
        ],
    );
    check(
        TEXT,
        query(" "),
        expect!["invalid: Argument 'query' must have 1 to 1000 characters"],
    );
}

#[test]
fn context_limit_count_and_range_are_applied() {
    let text: String = (1..=100)
        .map(|at| format!("line {at} {}\n", at % 7))
        .collect();
    let near = Request {
        context: 1,
        limit: Some(2),
        ..query("\" 0\"")
    };
    check(
        &text,
        near,
        expect![[r#"
            ⟦14 of 100 lines match; the first 2 shown⟧
            6: line 6 6
            7│ line 7 0
            8: line 8 1
            ⋯
            13: line 13 6
            14│ line 14 0
            15: line 15 1"#]],
    );
    let counted = Request {
        count_only: true,
        ..query("\" 0\"")
    };
    check(
        &text,
        counted.clone(),
        expect![[r#"
        ⟦14 of 100 lines match⟧
    "#]],
    );
    let in_tail = Request {
        tail: Some(10),
        ..query("\" 0\"")
    };
    check(
        &text,
        in_tail,
        expect![[r#"
        ⟦2 of 10 lines match in lines 91-100 of 100⟧
        91│ line 91 0
        98│ line 98 0"#]],
    );
    let counted_lines = Request {
        count_only: true,
        ..Request::default()
    };
    check(
        &text,
        counted_lines,
        expect![[r#"
        ⟦100 lines, 992 characters⟧
    "#]],
    );
}

#[test]
fn long_line_is_shown_around_its_match() {
    let line = format!("a\n{}needle{}", "é".repeat(5_000), "x".repeat(5_000));
    let found = answer(&line, query("Needle"));
    assert!(
        found.contains("⟦1 of 2 lines match⟧\n2│⟦chars 4903-5208⟧ éé"),
        "{found}"
    );
    assert!(found.contains("éneedlex"));
    let chars = Request {
        start_char: Some(4903),
        end_char: Some(5208),
        ..Request::default()
    };
    let chars = answer(&line, chars);
    let (_, body) = chars.split_once('\n').expect("a head");
    assert!(found.ends_with(body));
}

#[test]
fn late_match_in_a_long_line_is_found_once() {
    for before in [12_287, 16_378, 16_380, 16_384, 60_000, 131_000, 200_000] {
        let line = format!("{}needle{}", "x".repeat(before), "y".repeat(70_000));
        for sought in [
            "needle",
            "/^x+needley+$/",
            "/needle.*/",
            "/needle$/",
            "/^needle/",
        ] {
            let found = answer(&line, query(sought));
            let expected = match sought {
                "/needle$/" | "/^needle/" => "⟦0 of 1",
                _ => "⟦1 of 1",
            };
            // An expression that spans more than a window may be missed, but anchors must not match
            // at the boundaries of a window.
            if sought != "/^x+needley+$/" {
                assert!(
                    found.starts_with(expected),
                    "{before} {sought}: {}",
                    &found[..40]
                );
            }
            assert!(found.matches("needle").count() <= 1, "{before} {sought}");
        }
    }
}

/// Compares `new` with an earlier text.
fn diff(old: &str, new: &str, request: Request) -> String {
    let request = Request {
        diff: true,
        ..request
    };
    let query = request.check().expect("a query");
    let answer = query.apply(new, Some(old), &limits()).expect("an answer");
    format!("{}\n{}", answer.head(None), answer.body)
}

#[test]
fn two_texts_are_compared_by_lines() {
    let old: String = (1..=1_000).map(|at| format!("line {at}\n")).collect();
    let new = old
        .replace("line 500\n", "line five hundred\nmore\n")
        .replace("line 9\n", "");
    let near = Request {
        context: 1,
        ..Request::default()
    };
    expect![[r#"
        ⟦2 lines only in diff_with (-), 2 only here (+)⟧
        -9│ line 9
        -500│ line 500
        +499│ line five hundred
        +500│ more"#]]
    .assert_eq(&diff(&old, &new, Request::default()));
    expect![[r#"
        ⟦2 lines only in diff_with (-), 2 only here (+)⟧
         8│ line 8
        -9│ line 9
         9│ line 10
        ⋯
         498│ line 499
        -500│ line 500
        +499│ line five hundred
        +500│ more
         501│ line 501"#]]
    .assert_eq(&diff(&old, &new, near));
    expect![[r#"
        ⟦0 lines only in diff_with (-), 1 only here (+)⟧
        +500│ more"#]]
    .assert_eq(&diff(&old, &new, query("more")));
    expect![[r#"
        ⟦0 lines only in diff_with (-), 0 only here (+)⟧
    "#]]
    .assert_eq(&diff(&old, &old, Request::default()));
    expect![[r#"
        ⟦0 lines only in diff_with (-), 0 only here (+); the final newline differs⟧
    "#]]
    .assert_eq(&diff("a\n", "a", Request::default()));
    let long = format!("{}a{}", "x".repeat(10_000), "y".repeat(10_000));
    let found = diff(&long, &long.replace('a', "é"), Request::default());
    assert!(
        found.contains("-1│ ⟦from its char 9901 to 10101⟧ xx"),
        "{found}"
    );
    assert!(found.contains("xéy") && found.len() < 600);
}

#[test]
fn incomplete_comparison_is_reported() {
    let lines = |seed: usize| -> String {
        (0..3_000)
            .map(|at| format!("{}\n", at * seed % 4_001))
            .collect()
    };
    let request = Request {
        diff: true,
        ..Request::default()
    };
    let limits = QueryLimits {
        diff_until: Some(Instant::now()),
        ..limits()
    };
    let query = request.check().expect("a query");
    let (old, new) = (lines(7), lines(13));
    let answer = query.apply(&new, Some(&old), &limits).expect("an answer");
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note.contains("took too long")),
        "{:?}",
        answer.notes
    );
}

#[test]
fn slow_query_is_rejected() {
    let passed = || true;
    let deadline = Deadline::new(&passed);
    let limits = QueryLimits {
        deadline: &deadline,
        diff_until: None,
    };
    let text = "some line\n".repeat(10_000);
    let query = query("other").check().expect("a query");
    assert_eq!(query.apply(&text, None, &limits), Err(Refused::OutOfTime));
    let long = "x".repeat(200_000);
    assert_eq!(query.apply(&long, None, &limits), Err(Refused::OutOfTime));
}

#[test]
fn multi_line_expression_is_reported_as_unmatchable() {
    check(
        TEXT,
        query("/one\\ntwo/"),
        expect![[r#"
            ⟦0 of 6 lines match; a /regex/ matches within one line; \n never matches⟧
        "#]],
    );
    check(
        TEXT,
        query("one\\ntwo"),
        expect![[r#"
            ⟦0 of 6 lines match; a /regex/ matches within one line; \n never matches⟧
        "#]],
    );
    check(
        TEXT,
        query("\"one\ntwo\""),
        expect![[r#"
            ⟦0 of 6 lines match; a phrase matches within one line⟧
        "#]],
    );
    for matching in ["/six\\n?/", "/[^\\n]ix/", "/four|[\\r\\n]/", "/\\\\new/"] {
        let found = answer(TEXT, query(matching));
        assert!(!found.contains("never matches"), "{found}");
    }
    let path = answer("in C:\\new\n", query("C:\\new"));
    assert_eq!(path, "⟦1 of 1 lines match⟧\n1│ in C:\\new");
}

#[test]
fn table_lines_include_the_column_names() {
    let csv: String = (1..=50)
        .map(|at| format!("p{at},\"{at}, north\",{}\n", at * 3))
        .collect();
    let csv = format!("parcel,place,shelf\n{csv}");
    check(
        &csv,
        query("p17"),
        expect![[r#"
        ⟦1 of 51 lines match⟧
        1│ parcel,place,shelf
        18│ p17,"17, north",51"#]],
    );
    check(
        &csv,
        query("/parcel|p17/"),
        expect![[r#"
        ⟦2 of 51 lines match⟧
        1│ parcel,place,shelf
        18│ p17,"17, north",51"#]],
    );
    let near = Request {
        context: 1,
        ..query("/p(2|17|18|40),/")
    };
    check(
        &csv,
        near,
        expect![[r#"
        ⟦4 of 51 lines match⟧
        1: parcel,place,shelf
        2: p1,"1, north",3
        3│ p2,"2, north",6
        4: p3,"3, north",9
        ⋯
        17: p16,"16, north",48
        18│ p17,"17, north",51
        19│ p18,"18, north",54
        20: p19,"19, north",57
        ⋯
        40: p39,"39, north",117
        41│ p40,"40, north",120
        42: p41,"41, north",123"#]],
    );
    let tail = Request {
        tail: Some(3),
        numbers: Some(false),
        ..query("p49")
    };
    check(
        &csv,
        tail,
        expect![[r#"
        ⟦1 of 3 lines match in lines 49-51 of 51⟧
        parcel,place,shelf
        p49,"49, north",147"#]],
    );
    let counted = Request {
        count_only: true,
        ..query("p49")
    };
    check(
        &csv,
        counted,
        expect![[r#"
        ⟦1 of 51 lines match⟧
    "#]],
    );
    check(
        &csv,
        query("kiwi"),
        expect![[r#"
        ⟦0 of 51 lines match⟧
    "#]],
    );
    check(
        &csv.replace("\"", "").replace(", ", " ").replace(',', "\t"),
        query("p17"),
        expect![[r#"
            ⟦1 of 51 lines match⟧
            1│ parcel	place	shelf
            18│ p17	17 north	51"#]],
    );
    let markdown = "# Ports\n\n| port | use |\n|---|:-:|\n| 80 | web |\n| 81 | web 2 |\n\n\
        | name | web |\n| - | - |\n| a | 1 |\n| web | 2 |\n\nweb\n";
    check(
        markdown,
        query("web"),
        expect![[r#"
        ⟦5 of 13 lines match⟧
        3│ | port | use |
        5│ | 80 | web |
        6│ | 81 | web 2 |
        8│ | name | web |
        11│ | web | 2 |
        13│ web"#]],
    );
}

#[test]
fn non_table_lines_have_no_column_names() {
    let log: String = (1..=50)
        .map(|at| format!("2026-01-02 03:04:05,{at:03} INFO line {at}\n"))
        .collect();
    let prose = "Hello, you.\nThis is a text, which has lines.\nThe end\n";
    let code = "use a::{b, c};\nuse d::{e, f};\nuse g::{h, i};\n";
    let one = "a,b\n1,2\n";
    let broken = "| a | b |\n| 1 | 2 |\n";
    for (text, sought) in [
        (&log[..], "\"line 17\""),
        (prose, "end"),
        (code, "g::"),
        (one, "1"),
        (broken, "2"),
    ] {
        let found = answer(text, query(sought));
        assert_eq!(found.lines().count(), 2, "{found}");
    }
}

#[test]
fn words_that_never_share_a_line_are_counted_separately() {
    let text = "north gate open\nsouth gate shut\nnorth door shut\n";
    check(
        text,
        query("north gate shut"),
        expect![[r#"
            ⟦0 of 3 lines match; each word alone: north 2, gate 2, shut 2⟧
        "#]],
    );
    check(
        text,
        query("\"south door\" kiwi; shut"),
        expect![[r#"
            ⟦0 of 3 lines match; each word alone: south door 0, kiwi; 0, shut 2⟧
        "#]],
    );
    // The summary already covers a single word, alternatives and expressions.
    for one in ["kiwi", "kiwi OR plum", "north /k.wi/"] {
        let found = answer(text, query(one));
        assert_eq!(found, "⟦0 of 3 lines match⟧\n");
    }
    let long = format!("north {}", "kiwi".repeat(20));
    check(
        text,
        query(&long),
        expect![[r#"
            ⟦0 of 3 lines match; each word alone: north 2, kiwikiwikiwikiwikiwikiwikiwiki… 0⟧
        "#]],
    );
    let many: Vec<String> = (0..20).map(|at| format!("w{at}")).collect();
    assert_eq!(
        answer(text, query(&many.join(" "))),
        "⟦0 of 3 lines match⟧\n"
    );
}

#[test]
fn slow_regex_on_one_long_line_stops_at_the_deadline() {
    // Every match causes a search for the Q up to the end of a window.
    let text = "1".repeat(300_000);
    let checks = Cell::new(0);
    let passed = || {
        checks.set(checks.get() + 1);
        checks.get() > 200
    };
    let deadline = Deadline::new(&passed);
    let limits = QueryLimits {
        deadline: &deadline,
        diff_until: None,
    };
    let query = query("/[^Q]*Q|1/").check().expect("a query");
    let refused = query
        .apply(&text, None, &limits)
        .expect_err("no time is left");
    assert_eq!(refused.code(), Refused::OutOfTime.code());
    assert!(checks.get() < 300, "{} checks", checks.get());
}
