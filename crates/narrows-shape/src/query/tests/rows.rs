use expect_test::expect;

use super::*;

const ORDERS: &str = r#"{"page": 1, "orders": [
  {"id": 1, "status": "open", "total": 10.10, "customer": {"name": "Ann"}, "tags": ["a", "b"]},
  {"id": 2, "status": "paid", "total": 20.20, "customer": {"name": "Bob"}, "tags": []},
  {"id": 3, "status": "open", "total": "n/a", "customer": {"name": "Cid"}},
  {"id": 4, "status": null, "total": 0.70, "customer": {"name": "Ann O'Hara"}, "note": "caf\u00e9"}
], "other": [{"x": 1}]}"#;

#[test]
fn conditions_select_rows() {
    check(
        ORDERS,
        condition("status = 'open'"),
        expect![[r#"
            ⟦2 of 4 rows match; array: orders; different types compared in 1 row (first: status is null)⟧
            1│ {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}
            3│ {"id":3,"status":"open","total":"n/a","customer":{"name":"Cid"}}"#]],
    );
    check(
        ORDERS,
        condition("total > 10 and not status == \"paid\""),
        expect![[r#"
            ⟦1 of 4 rows match; array: orders; different types compared in 1 row (first: total is string)⟧
            1│ {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}"#]],
    );
    check(
        ORDERS,
        condition("customer.name contains 'Ann' or id in (2, 9)"),
        expect![[r#"
            ⟦3 of 4 rows match; array: orders⟧
            1│ {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}
            2│ {"id":2,"status":"paid","total":20.20,"customer":{"name":"Bob"},"tags":[]}
            4│ {"id":4,"status":null,"total":0.70,"customer":{"name":"Ann O'Hara"},"note":"caf\u00e9"}"#]],
    );
    check(
        ORDERS,
        condition("status is null"),
        expect![[r#"
        ⟦1 of 4 rows match; array: orders⟧
        4│ {"id":4,"status":null,"total":0.70,"customer":{"name":"Ann O'Hara"},"note":"caf\u00e9"}"#]],
    );
    check(
        ORDERS,
        condition("note is not null && tags[0] != 'a'"),
        expect![[r#"
            ⟦0 of 4 rows match; array: orders; different types compared in 1 row (first: tags[0] is null)⟧
        "#]],
    );
    check(
        ORDERS,
        condition("tags contains 'b' || customer.name matches '^A.* O'"),
        expect![[r#"
            ⟦2 of 4 rows match; array: orders; different types compared in 2 rows (first: tags is null)⟧
            1│ {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}
            4│ {"id":4,"status":null,"total":0.70,"customer":{"name":"Ann O'Hara"},"note":"caf\u00e9"}"#]],
    );
    check(
        ORDERS,
        condition("id >= 9"),
        expect![[r#"
        ⟦0 of 4 rows match; array: orders⟧
    "#]],
    );
}

#[test]
fn comparisons_select_the_expected_rows() {
    let text = "{\"v\":1,\"t\":\"a\"}\n{\"v\":2.0,\"t\":\"b\"}\n{\"v\":3,\"t\":\"c\"}";
    for (sign, expected) in [
        ("=", "2"),
        ("!=", "13"),
        ("<", "1"),
        ("<=", "12"),
        (">", "3"),
        (">=", "23"),
    ] {
        for literal in ["v {} 2", "t {} 'b'"] {
            let query = condition(&literal.replace("{}", sign))
                .check()
                .expect("a query");
            let answer = query.apply(text, None, &limits()).expect("an answer");
            let numbers: String = answer.body.lines().map(|line| &line[..1]).collect();
            assert_eq!(numbers, expected, "{literal} {sign}");
        }
    }
}

#[test]
fn unknown_field_error_suggests_the_nearest() {
    check(
        ORDERS,
        condition("statsu = 'open'"),
        expect![[r#"
            ⟦0 of 4 rows match; array: orders; no row has 'statsu' (where); did you mean status?⟧
        "#]],
    );
    check(
        ORDERS,
        Request {
            select: Some("id, custmer.name, zzz".into()),
            limit: Some(1),
            ..Request::default()
        },
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders; no row has 'custmer.name' (select); did you mean customer.name, customer?; no row has 'zzz' (select); fields: id, status, total, customer, customer.name, tags, note; the first 1 shown⟧
            1│ {"id":1,"custmer.name":null,"zzz":null}"#]],
    );
}

#[test]
fn invalid_condition_error_has_position_and_reason() {
    for (text, expected) in [
        (
            "status = open",
            expect![
                "invalid: Argument 'where' at character 10: expected a value: a number, true, false, null or 'text' in quotes, found 'open'; write status = 'open'"
            ],
        ),
        (
            "status",
            expect![
                "invalid: Argument 'where' at character 7: expected =, !=, <, <=, >, >=, contains, matches, in or is, found the end"
            ],
        ),
        (
            "status = 'open",
            expect!["invalid: Argument 'where' at character 10: the closing ' is missing"],
        ),
        (
            "status is open",
            expect![
                "invalid: Argument 'where' at character 11: expected null or not null, found 'open'"
            ],
        ),
        (
            "(a = 1",
            expect![
                "invalid: Argument 'where' at character 7: expected and, or, or ')', found the end"
            ],
        ),
        (
            "a = 1 b = 2",
            expect![
                "invalid: Argument 'where' at character 7: expected and, or, or the end, found 'b = 2'"
            ],
        ),
        (
            "a like '%x'",
            expect![
                "invalid: Argument 'where' at character 3: expected =, !=, <, <=, >, >=, contains, matches, in or is, found 'like '%x''"
            ],
        ),
        (
            "a in 1",
            expect![
                "invalid: Argument 'where' at character 6: expected values in parentheses, found '1'"
            ],
        ),
        (
            "a matches '('",
            expect![
                "invalid: Argument 'where' at character 11: '(' is not a valid regular expression (unclosed group); look-around and back-references are not supported"
            ],
        ),
        (
            "= 1",
            expect!["invalid: Argument 'where' at character 1: expected a field name, found '= 1'"],
        ),
        (
            "a = é",
            expect![
                "invalid: Argument 'where' at character 5: expected a value: a number, true, false, null or 'text' in quotes, found 'é'; write a = 'é'"
            ],
        ),
        (
            &"(".repeat(33),
            expect![
                "invalid: Argument 'where' at character 33: more than 32 levels of parentheses and not"
            ],
        ),
        (
            &format!("a = '{}'", "x".repeat(1_000)),
            expect!["invalid: Argument 'where' has more than 1000 characters"],
        ),
    ] {
        expected.assert_eq(&answer(ORDERS, condition(text)));
    }
}

#[test]
fn rows_are_sorted_limited_selected_and_aggregated() {
    let rows = |select: &str, sort: &str, aggregate: &str, group_by: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Request {
            select: some(select),
            sort: some(sort),
            aggregate: some(aggregate),
            group_by: some(group_by),
            ..Request::default()
        }
    };
    check(
        ORDERS,
        rows("id, customer.name", "-customer.name", "", ""),
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders⟧
            3│ {"id":3,"customer.name":"Cid"}
            2│ {"id":2,"customer.name":"Bob"}
            4│ {"id":4,"customer.name":"Ann O'Hara"}
            1│ {"id":1,"customer.name":"Ann"}"#]],
    );
    check(
        ORDERS,
        rows("total", "total desc", "", ""),
        expect![[r#"
        ⟦rows 1-4 of 4; array: orders⟧
        3│ {"total":"n/a"}
        2│ {"total":20.20}
        1│ {"total":10.10}
        4│ {"total":0.70}"#]],
    );
    check(
        ORDERS,
        rows(
            "",
            "",
            "count, sum(total), avg(total), min(id), max(customer.name), count_distinct(status)",
            "",
        ),
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders; values of other types left out of sum(total): 1; values of other types left out of avg(total): 1⟧
            {"count":4,"sum(total)":31.00,"avg(total)":10.33333333,"min(id)":1,"max(customer.name)":"Cid","count_distinct(status)":2}
            ⟦min(id): row 1: {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}⟧
            ⟦max(customer.name): row 3: {"id":3,"status":"open","total":"n/a","customer":{"name":"Cid"}}⟧"#]],
    );
    check(
        ORDERS,
        rows("", "-count", "count, sum(total)", "status"),
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders; 3 groups; values of other types left out of sum(total): 1⟧
            {"status":"open","count":2,"sum(total)":10.10}
            {"status":"paid","count":1,"sum(total)":20.20}
            {"status":null,"count":1,"sum(total)":0.70}"#]],
    );
    check(
        ORDERS,
        rows("count", "sum(total)", "sum(total), count", "status"),
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders; 3 groups; values of other types left out of sum(total): 1⟧
            {"count":1}
            {"count":2}
            {"count":1}"#]],
    );
    check(
        ORDERS,
        rows("", "", "", "status"),
        expect![[r#"
        ⟦rows 1-4 of 4; array: orders; 3 groups⟧
        {"status":"open","count":2}
        {"status":"paid","count":1}
        {"status":null,"count":1}"#]],
    );
    check(
        ORDERS,
        rows("", "", "median(total)", ""),
        expect![
            "invalid: Argument 'aggregate' at character 1: expected count, sum(field), avg(field), min(field), max(field) or count_distinct(field), found 'median(total)'"
        ],
    );
    check(
        ORDERS,
        rows("", "", "sum", ""),
        expect![
            "invalid: Argument 'aggregate' at character 4: expected a field, as in sum(field), found the end"
        ],
    );
    check(
        ORDERS,
        rows("sum(total)", "", "", ""),
        expect![[
            r#"invalid: Argument 'select' names sum(total); to compute it, write "aggregate": "sum(total)""#
        ]],
    );
}

#[test]
fn sums_are_exact() {
    let text: String = (0..1_000).map(|_| "{\"v\": 0.1}\n").collect();
    let sum = Request {
        aggregate: Some("sum(v), avg(v)".into()),
        ..Request::default()
    };
    check(
        &text,
        sum.clone(),
        expect![[r#"
        ⟦rows 1-1000 of 1000⟧
        {"sum(v)":100.0,"avg(v)":0.1}"#]],
    );
    check(
        "{\"v\": 1e300}\n{\"v\": 1}",
        sum.clone(),
        expect![[r#"
        ⟦rows 1-2 of 2; sum(v) is rounded: more than 38 digits; avg(v) is rounded: more than 38 digits⟧
        {"sum(v)":1e+300,"avg(v)":5e+299}"#]],
    );
    check(
        "{\"v\": 12345678901234567890.123}\n{\"v\": -0.0001}",
        sum,
        expect![[r#"
            ⟦rows 1-2 of 2⟧
            {"sum(v)":12345678901234567890.1229,"avg(v)":6172839450617283945.06145}"#]],
    );
}

#[test]
fn rows_are_found_in_every_format() {
    let all = Request {
        rows: Some(String::new()),
        ..Request::default()
    };
    check(
        "[1, {\"a\": 2}]",
        all.clone(),
        expect![[r#"
        ⟦rows 1-2 of 2⟧
        1│ 1
        2│ {"a":2}"#]],
    );
    check(
        "{\"a\": 1}\n\n{\"a\" : 2}\nnot json\n",
        all.clone(),
        expect![[r#"
            ⟦rows 1-2 of 2; lines that are not JSON: 1⟧
            1│ {"a":1}
            3│ {"a":2}"#]],
    );
    check(
        "{\"a\": 1}",
        all.clone(),
        expect![[r#"
            ⟦row 1 of 1⟧
            1│ {"a":1}"#]],
    );
    check(
        "plain text",
        all.clone(),
        expect![
            "no_rows: The text has no rows: it is neither JSON (not JSON: expected value at line 1, column 1 (byte 0)) nor JSON Lines. Use query, ranges, head or tail, which select lines"
        ],
    );
    check(
        "\"text\"",
        all,
        expect![
            "no_rows: The text has no rows: it contains no array of objects. Use query, ranges, head or tail, which select lines"
        ],
    );
    let other = |path: &str| Request {
        rows: Some(path.to_owned()),
        ..Request::default()
    };
    check(
        ORDERS,
        other("other"),
        expect![[r#"
            ⟦row 1 of 1; array: other⟧
            1│ {"x":1}"#]],
    );
    check(
        ORDERS,
        other("$.orders[0].tags"),
        expect![[r#"
        ⟦rows 1-2 of 2; array: orders[0].tags⟧
        1│ "a"
        2│ "b""#]],
    );
    check(
        ORDERS,
        other("nothing.here"),
        expect![
            "no_rows: The text has no rows: there is no array at 'nothing.here'; its largest array of objects is at 'orders'. Use query, ranges, head or tail, which select lines"
        ],
    );
}

#[test]
fn parts_and_queries_of_rows_can_be_combined() {
    let part = Request {
        rows: Some(".".into()),
        ranges: Some(vec![(4, 4), (1, 1)]),
        select: Some("id".into()),
        ..Request::default()
    };
    check(
        ORDERS,
        part,
        expect![[r#"
        ⟦rows 4, 1 of 4; array: orders⟧
        4│ {"id":4}
        1│ {"id":1}"#]],
    );
    let tail = Request {
        rows: Some(".".into()),
        tail: Some(2),
        select: Some("id".into()),
        ..query("ann")
    };
    check(
        ORDERS,
        tail,
        expect![[r#"
        ⟦1 of 2 rows match in rows 3-4 of 4; array: orders⟧
        4│ {"id":4}"#]],
    );
    let decoded = Request {
        rows: Some(".".into()),
        select: Some("id".into()),
        ..query("café")
    };
    check(
        ORDERS,
        decoded,
        expect![[r#"
        ⟦1 of 4 rows match; array: orders⟧
        4│ {"id":4}"#]],
    );
}

#[test]
fn single_line_json_is_searched_by_rows() {
    let rows: Vec<String> = (1..=500)
        .map(|at| format!("{{\"id\":{at},\"name\":\"n{at}\"}}"))
        .collect();
    let text = format!("{{\"total\":\"outside\",\"items\":[{}]}}", rows.join(","));
    check(
        &text,
        query("n321"),
        expect![[r#"
        ⟦1 of 500 rows match; array: items⟧
        321│ {"id":321,"name":"n321"}"#]],
    );
    let tail = Request {
        tail: Some(2),
        ..Request::default()
    };
    check(
        &text,
        tail,
        expect![[r#"
        ⟦rows 499-500 of 500; array: items⟧
        499│ {"id":499,"name":"n499"}
        500│ {"id":500,"name":"n500"}"#]],
    );
    let outside = answer(&text, query("outside"));
    assert!(
        outside.starts_with("⟦1 of 1 lines match⟧\n1│⟦chars 1-"),
        "{outside}"
    );
}

/// Returns an indented document with two nested arrays of objects.
fn indented() -> String {
    let devices: Vec<serde_json::Value> = (1..=40)
        .map(|at| {
            serde_json::json!({"name": format!("dev{at}"), "mac": format!("b8:{at:02}"), "up": true})
        })
        .collect();
    let sites = serde_json::json!([
        {"site": "north", "racks": [{"rack": "n1"}, {"rack": "n2"}]},
        {"site": "south", "racks": [{"rack": "s1"}]},
    ]);
    let document = serde_json::json!({"owner": "dev7 team", "devices": devices, "sites": sites});
    serde_json::to_string_pretty(&document).expect("JSON")
}

#[test]
fn word_in_an_indented_document_selects_its_row() {
    let text = indented();
    check(
        &text,
        query("b8:17"),
        expect![[r#"
        ⟦1 of 40 rows match; array: devices⟧
        17│ {"name":"dev17","mac":"b8:17","up":true}"#]],
    );
    check(
        &text,
        query("dev17 b8"),
        expect![[r#"
        ⟦1 of 40 rows match; array: devices⟧
        17│ {"name":"dev17","mac":"b8:17","up":true}"#]],
    );
    check(
        &text,
        query("n2"),
        expect![[r#"
        ⟦1 of 2 rows match; array: sites⟧
        1│ {"site":"north","racks":[{"rack":"n1"},{"rack":"n2"}]}"#]],
    );
    check(
        &text,
        query("south"),
        expect![[r#"
        ⟦1 of 2 rows match; array: sites⟧
        2│ {"site":"south","racks":[{"rack":"s1"}]}"#]],
    );
    check(
        &text,
        query("dev7"),
        expect![[r#"
        ⟦1 of 40 rows match; array: devices; line 2 outside the array matches too⟧
        7│ {"name":"dev7","mac":"b8:07","up":true}"#]],
    );
    check(
        &text,
        query("team"),
        expect![[r#"
        ⟦1 of 226 lines match⟧
        2│   "owner": "dev7 team","#]],
    );
    check(
        &text,
        query("kiwi"),
        expect![[r#"
        ⟦0 of 226 lines match⟧
    "#]],
    );
    // The words occur in the compact form.
    check(
        &text,
        query("/\"mac\":\"b8:09\",\"up\"/"),
        expect![[r#"
        ⟦1 of 40 rows match; array: devices⟧
        9│ {"name":"dev9","mac":"b8:09","up":true}"#]],
    );
    let counted = Request {
        count_only: true,
        ..query("dev")
    };
    check(
        &text,
        counted,
        expect![[r#"
        ⟦40 of 40 rows match; array: devices; line 2 outside the array matches too⟧
    "#]],
    );
    let array = serde_json::json!([{"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}]);
    let array = serde_json::to_string_pretty(&array).expect("JSON");
    check(
        &array,
        query("y"),
        expect![[r#"
        ⟦1 of 2 rows match⟧
        2│ {"a":[{"b":"y"}]}"#]],
    );
}

#[test]
fn rows_with_large_context_are_shown_as_lines() {
    let request = Request {
        context: 100,
        ..query("dev17 b8")
    };
    let answer = answer(&indented(), request);
    let summary = answer.lines().next();
    let expected = "⟦1 of 40 rows match; array: devices; shown as lines⟧";
    assert_eq!(summary, Some(expected));
}

#[test]
fn rows_with_context_are_shown_as_lines() {
    let text = indented();
    let near = |request: Request| Request {
        context: 1,
        ..request
    };
    check(
        &text,
        near(query("dev17 b8")),
        expect![[r#"
            ⟦1 of 40 rows match; array: devices; shown as lines⟧
            83:     },
            84│     {
            85│       "name": "dev17",
            86│       "mac": "b8:17",
            87│       "up": true
            88│     },
            89:     {"#]],
    );
    check(
        &text,
        near(condition("mac = 'b8:02' or mac = 'b8:03'")),
        expect![[r#"
            ⟦2 of 40 rows match; array: devices; shown as lines⟧
            8:     },
            9│     {
            10│       "name": "dev2",
            11│       "mac": "b8:02",
            12│       "up": true
            13│     },
            14│     {
            15│       "name": "dev3",
            16│       "mac": "b8:03",
            17│       "up": true
            18│     },
            19:     {"#]],
    );
    let first = Request {
        limit: Some(1),
        ..near(query("b8"))
    };
    check(
        &text,
        first,
        expect![[r#"
        ⟦40 of 40 rows match; array: devices; the first 1 shown; shown as lines⟧
        3:   "devices": [
        4│     {
        5│       "name": "dev1",
        6│       "mac": "b8:01",
        7│       "up": true
        8│     },
        9:     {"#]],
    );
    let sorted = Request {
        sort: Some("-mac".into()),
        limit: Some(1),
        ..near(condition("up = true"))
    };
    check(
        &text,
        sorted,
        expect![[r#"
        ⟦40 of 40 rows match; array: devices; the first 1 shown; context applies only to lines⟧
        40│ {"name":"dev40","mac":"b8:40","up":true}"#]],
    );
    let lines = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n";
    check(
        lines,
        near(condition("a = 2")),
        expect![[r#"
        ⟦1 of 4 rows match; shown as lines⟧
        1: {"a":1}
        2│ {"a":2}
        3: {"a":3}"#]],
    );
    check(
        "[{\"a\":1},{\"a\":2}]",
        near(condition("a = 2")),
        expect![[r#"
        ⟦1 of 2 rows match; context applies only to lines⟧
        2│ {"a":2}"#]],
    );
}

#[test]
fn ranges_of_an_indented_document_are_lines() {
    let text = indented();
    let lines: Vec<&str> = text.split('\n').collect();
    let request = Request {
        ranges: Some(vec![(3, 6)]),
        ..Request::default()
    };
    check(
        &text,
        request.clone(),
        expect![[r#"
        ⟦lines 3-6 of 226⟧
          "devices": [
            {
              "name": "dev1",
              "mac": "b8:01","#]],
    );
    let searched = Request {
        query: Some("dev1".into()),
        ..request
    };
    check(
        &text,
        searched,
        expect![[r#"
        ⟦1 of 4 lines match in lines 3-6 of 226⟧
        5│       "name": "dev1","#]],
    );
    let tail = Request {
        tail: Some(5),
        ..Request::default()
    };
    let tail = answer(&text, tail);
    let (_, body) = tail.split_once('\n').expect("a head");
    assert_eq!(body, lines[lines.len() - 5..].join("\n"));
}

#[test]
fn json_lines_and_long_rows_are_searched_by_lines() {
    check(
        "{\"a\":[{\"b\":1}]}\n{\"a\":[{\"b\":2}]}\n",
        query("b 2"),
        expect![[r#"
            ⟦1 of 2 lines match⟧
            2│ {"a":[{"b":2}]}"#]],
    );
    let items: Vec<String> = (0..400).map(|at| format!("part {at} of a text")).collect();
    let document = serde_json::json!([{"id": 1, "items": items}, {"id": 2, "items": items}]);
    let document = serde_json::to_string_pretty(&document).expect("JSON");
    check(
        &document,
        query("\"part 17 of\""),
        expect![[r#"
        ⟦2 of 812 lines match⟧
        22│       "part 17 of a text",
        427│       "part 17 of a text","#]],
    );
}

#[test]
fn min_and_max_include_their_first_row() {
    let aggregate = |aggregate: &str| Request {
        aggregate: Some(aggregate.to_owned()),
        ..Request::default()
    };
    check(
        ORDERS,
        aggregate("min(total)"),
        expect![[r#"
        ⟦rows 1-4 of 4; array: orders; values of other types left out of min(total): 1⟧
        {"min(total)":0.70}
        ⟦row 4: {"id":4,"status":null,"total":0.70,"customer":{"name":"Ann O'Hara"},"note":"caf\u00e9"}⟧"#]],
    );
    check(
        ORDERS,
        aggregate("count, min(id), max(status)"),
        expect![[r#"
            ⟦rows 1-4 of 4; array: orders⟧
            {"count":4,"min(id)":1,"max(status)":"paid"}
            ⟦min(id): row 1: {"id":1,"status":"open","total":10.10,"customer":{"name":"Ann"},"tags":["a","b"]}⟧
            ⟦max(status): row 2: {"id":2,"status":"paid","total":20.20,"customer":{"name":"Bob"},"tags":[]}⟧"#]],
    );
    check(
        ORDERS,
        aggregate("max(zzz)"),
        expect![[r#"
        ⟦rows 1-4 of 4; array: orders; no row has 'zzz' (aggregate); fields: id, status, total, customer, customer.name, tags, note⟧
        {"max(zzz)":null}"#]],
    );
    let grouped = Request {
        group_by: Some("status".into()),
        ..aggregate("max(id)")
    };
    check(
        ORDERS,
        grouped,
        expect![[r#"
        ⟦rows 1-4 of 4; array: orders; 3 groups⟧
        {"status":"open","max(id)":3}
        {"status":"paid","max(id)":2}
        {"status":null,"max(id)":4}"#]],
    );
    let ties = format!(
        "{{\"v\":2}}\n{{\"v\":1,\"é\":\"{}\"}}\n{{\"v\":1}}",
        "é".repeat(400)
    );
    let found = answer(&ties, aggregate("min(v)"));
    let note = found.lines().last().expect("a note");
    assert!(
        note.starts_with("⟦row 2: {\"v\":1,") && note.ends_with("é…⟧"),
        "{note}"
    );
    assert_eq!(note.chars().count(), "⟦row 2: …⟧".chars().count() + 300);
}
