use expect_test::{Expect, expect};
use serde_json::Value;

use super::find::Find;
use super::*;
use crate::error::Error;
use crate::recovery_store::{MemoryStore, Receipt};

const TEXT: &str = "one\ntwo\r\nthree Apples\nfour\nfive apples and pears\nsix\n";

const ROWS: &str = r#"[{"id":1,"status":"open","total":1.10},{"id":2,"status":"paid","total":2.20},{"id":3,"status":"open","total":3}]"#;

fn owner() -> Owner {
    Owner::client(None, "default", None)
}

fn kept(text: &str) -> (MemoryStore, Receipt) {
    let store = MemoryStore::new(&Default::default());
    let receipt = store.keep(&owner(), text.into()).expect("there is room");
    (store, receipt)
}

/// Calls the tool with these arguments and the receipt. Returns the text of the answer and its
/// `_meta`.
fn ask(
    store: &dyn RecoveryStore,
    receipt: &Receipt,
    max_chars: usize,
    more: &str,
) -> (String, Value) {
    let arguments = Raw::parse(more.to_owned().into()).expect("a test's JSON");
    let arguments = arguments.with_member("prune_id", &Raw::string(receipt.as_str()));
    let result = call(store, &owner(), max_chars, Some(arguments));
    let result: Value = result.decode().expect("a result");
    assert!(result.get("structuredContent").is_none());
    let text = result["content"][0]["text"].as_str().expect("a text");
    if result["isError"] != true {
        let chars = text.chars().count();
        assert!(chars <= max_chars, "a page of {chars} within {max_chars}");
    }
    (
        text.to_owned(),
        result["_meta"]["narrows/selection"].clone(),
    )
}

#[track_caller]
fn check(text: &str, more: &str, expected: Expect) {
    let (store, receipt) = kept(text);
    let (said, _) = ask(&store, &receipt, 80_000, more);
    // Raw strings cannot contain a visible CR.
    let said = said.replace('\r', "\\r");
    expected.assert_eq(&said.replace(receipt.as_str(), "ID"));
}

#[test]
fn response_is_a_summary_line_and_the_text() {
    check(
        TEXT,
        r#"{"ranges":[{"start_line":2,"end_line":3},{"start_line":6,"end_line":99}]}"#,
        expect![[r#"
            ⟦lines 2-3, 6 of 6⟧
            2│ two\r
            3│ three Apples
            6│ six"#]],
    );
    check(
        TEXT,
        r#"{"query":"apples"}"#,
        expect![[r#"
        ⟦2 of 6 lines match⟧
        3│ three Apples
        5│ five apples and pears"#]],
    );
    check(TEXT, r#"{"query":"kiwi"}"#, expect!["⟦0 of 6 lines match⟧"]);
    check(
        TEXT,
        r#"{"query":"apples","count_only":true,"tail":3}"#,
        expect!["⟦1 of 3 lines match in lines 4-6 of 6⟧"],
    );
    check(
        TEXT,
        r#"{"start_char":50}"#,
        expect![[r#"
        ⟦chars 50-53 of 53⟧
        six
    "#]],
    );
    check(
        ROWS,
        r#"{"where":"status = 'open'","aggregate":"count, sum(total)"}"#,
        expect![[r#"
            ⟦2 of 3 rows match⟧
            {"count":2,"sum(total)":4.10}"#]],
    );
    let (store, receipt) = kept(TEXT);
    let (_, facts) = ask(&store, &receipt, 80_000, r#"{"query":"apples","head":4}"#);
    let facts = facts.to_string().replace(receipt.as_str(), "ID");
    expect![[r#"{"prune_id":"ID","unit":"lines","total":6,"ranges":[[1,4]],"matched":1}"#]]
        .assert_eq(&facts);
}

/// Checks that all calls in a list give the same answer.
#[track_caller]
fn check_same(text: &str, calls: &[&str]) {
    let (store, receipt) = kept(text);
    let (first, _) = ask(&store, &receipt, 80_000, calls[0]);
    assert!(first.starts_with('⟦'), "{first}");
    for call in calls {
        assert_eq!(ask(&store, &receipt, 80_000, call).0, first, "{call}");
    }
}

#[test]
fn nearly_correct_arguments_are_accepted() {
    check_same(
        TEXT,
        &[
            r#"{"ranges":[{"start_line":3,"end_line":4}]}"#,
            r#"{"ranges":{"start_line":3,"end_line":4}}"#,
            r#"{"ranges":"3-4"}"#,
            r#"{"ranges":["3-4"]}"#,
            r#"{"ranges":[3,4]}"#,
            r#"{"ranges":[[3,4]]}"#,
            r#"{"ranges":" lines 3-4 "}"#,
            r#"{"ranges":[{"start":"3","end":4.0}]}"#,
            r#"{"lines":"3..4"}"#,
            r#"{"range":"L3-L4"}"#,
            r#"{"start":3,"end":4}"#,
            r#"{"start_line":"3","endLine":4,"query":null}"#,
            r#"{"from":3,"to":4,"head":null,"where":""}"#,
        ],
    );
    check_same(
        TEXT,
        &[
            r#"{"ranges":"3,4"}"#,
            r#"{"ranges":["3",{"start_line":4,"end_line":4}]}"#,
        ],
    );
    check_same(
        TEXT,
        &[
            r#"{"ranges":"5-6"}"#,
            r#"{"ranges":"5-"}"#,
            r#"{"start_line":5}"#,
        ],
    );
    check_same(
        TEXT,
        &[
            r#"{"query":"apples","limit":1}"#,
            r#"{"search":"apples","max_results":"1"}"#,
            r#"{"pattern":"apples","limit":1.0,"ranges":[]}"#,
            r#"{"regex":"apples","limit":1}"#,
            r#"{"regex":"/apples/i","limit":1}"#,
            r#"{"query":["APPLES"],"limit":"1","countOnly":"false"}"#,
        ],
    );
    check_same(
        ROWS,
        &[
            r#"{"where":"status = 'open'","aggregate":"count, sum(total)"}"#,
            r#"{"filter":"status == \"open\"","aggregate":["count","sum(total)"]}"#,
            r#"{"where":{"status":"open"},"aggregate":[{"function":"count"},{"function":"sum","field":"total"}]}"#,
            r#"{"where":["status = 'open'"],"agg":"count(*), SUM(total)"}"#,
        ],
    );
    check_same(
        ROWS,
        &[
            r#"{"select":"id, total","sort":"-total"}"#,
            r#"{"fields":["id","total"],"order_by":"total desc"}"#,
            r#"{"columns":"id,total","sort":["-total"],"rows":true}"#,
        ],
    );
    check_same(
        TEXT,
        &[
            r#"{"start_char":5,"end_char":9}"#,
            r#"{"ranges":"chars 5-9"}"#,
            r#"{"startChar":"5","end_char":9,"limit":0}"#,
        ],
    );
    check_same(
        ROWS,
        &[r#"{"rows":".","ranges":"2-3"}"#, r#"{"ranges":"rows 2-3"}"#],
    );
    let (store, receipt) = kept(TEXT);
    for name in ["prune_id", "id", "receipt", "pruneId"] {
        let arguments = format!(r#"{{"{name}":"{receipt}","head":1}}"#);
        let arguments = Raw::parse(arguments.into()).expect("JSON");
        let as_text = Raw::string(arguments.as_str());
        for arguments in [arguments, as_text] {
            let result = call(&store, &owner(), 80_000, Some(arguments));
            assert!(
                result.as_str().contains("⟦line 1 of 6⟧\\none"),
                "{}",
                result.as_str()
            );
        }
    }
}

#[test]
fn unusable_arguments_return_a_corrected_call() {
    check(
        TEXT,
        r#"{"serch":"x"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Unknown argument 'serch'; did you mean 'query'? Known arguments: prune_id, query, context, ranges, head, tail, start_char, end_char, count_only, limit, where, select, sort, group_by, aggregate, rows, diff_with, include_line_numbers, max_chars, cursor","corrected_arguments":{"query":"x","prune_id":"ID"}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"zzz":"x"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Unknown argument 'zzz'. Known arguments: prune_id, query, context, ranges, head, tail, start_char, end_char, count_only, limit, where, select, sort, group_by, aggregate, rows, diff_with, include_line_numbers, max_chars, cursor"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"head":1,"ranges":"1-2"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'ranges' conflicts with another argument; use only one of ranges, head/tail and start_char/end_char","corrected_arguments":{"ranges":"1-2","prune_id":"ID"}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"head":"many"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'head' must be a whole number of at least 0, not \"many\""}"#
        ]],
    );
    check(
        TEXT,
        r#"{"query":"a","search":"b"}"#,
        expect![[r#"{"code":"invalid_params","message":"Argument 'query' is given twice"}"#]],
    );
    check(
        TEXT,
        r#"{"ranges":"x-y"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'ranges' must be ranges such as \"201-5012\" or \"5,9-12\", not \"x-y\""}"#
        ]],
    );
    check(
        TEXT,
        r#"{"ranges":"7-8"}"#,
        expect![[
            r#"{"code":"invalid_range","message":"Lines are numbered from 1 to 6, and a range must not end before it starts","max_line":6}"#
        ]],
    );
    check(
        TEXT,
        r#"{"start_char":9,"end_char":8}"#,
        expect![[
            r#"{"code":"invalid_range","message":"Characters are numbered from 1 to 53, and a range must not end before it starts","max_char":53}"#
        ]],
    );
    check(
        TEXT,
        r#"{"where":"a = 1"}"#,
        expect![[
            r#"{"code":"no_rows","message":"The text has no rows: it is neither JSON (not JSON: expected value at line 1, column 1 (byte 0)) nor JSON Lines. Use query, ranges, head or tail, which select lines"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"cursor":"nonsense"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Invalid cursor: copy the cursor of the previous page unchanged"}"#
        ]],
    );
    check(
        ROWS,
        r#"{"where":"status = open"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'where' at character 10: expected a value: a number, true, false, null or 'text' in quotes, found 'open'","corrected_arguments":{"where":"status = 'open'","prune_id":"ID"},"fields":["id","status","total"]}"#
        ]],
    );
    check(
        ROWS,
        r#"{"where":"status like 'o%'"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'where' at character 8: expected =, !=, <, <=, >, >=, contains, matches, in or is, found 'like 'o%''","fields":["id","status","total"]}"#
        ]],
    );
    check(
        ROWS,
        r#"{"where":"statu = 'open'"}"#,
        expect!["⟦0 of 3 rows match; no row has 'statu' (where); did you mean status?⟧"],
    );
    check(
        ROWS,
        r#"{"diff_with":"prn_nope"}"#,
        expect![[
            r#"{"code":"prune_id_not_found","message":"No text is stored under this prune_id; it may have expired. Call the tool that returned the text again","prune_id":"prn_nope"}"#
        ]],
    );
    let nothing = call(&kept("").0, &owner(), 80_000, None);
    expect![[r#"{"content":[{"type":"text","text":"{\"code\":\"invalid_params\",\"message\":\"Missing argument 'prune_id': take it from the ⟦narrows…⟧ marker\"}"}],"isError":true}"#]].assert_eq(nothing.as_str());
}

#[test]
fn two_receipts_can_be_compared() {
    let (store, earlier) = kept(TEXT);
    let receipt = store
        .keep(&owner(), TEXT.replace("four", "4").into())
        .expect("room");
    let more = format!(r#"{{"diff_with":"{earlier}"}}"#);
    expect![[r#"
        ⟦1 line only in diff_with (-), 1 only here (+)⟧
        -4│ four
        +4│ 4"#]]
    .assert_eq(&ask(&store, &receipt, 80_000, &more).0);
}

#[test]
fn unknown_expired_and_foreign_receipts_look_the_same() {
    let (store, receipt) = kept(TEXT);
    let other = Owner::client(None, "other", None);
    let of = |owner: &Owner, id: &str| {
        let arguments = Raw::empty_object().with_member("prune_id", &Raw::string(id));
        let result = call(&store, owner, 80_000, Some(arguments));
        result.as_str().replace(id, "ID")
    };
    let unknown = of(&owner(), "prn_01ARY000000000000000000042");
    assert!(unknown.contains("prune_id_not_found") && unknown.contains(r#""isError":true"#));
    assert_eq!(of(&other, receipt.as_str()), unknown);
    assert_ne!(of(&owner(), receipt.as_str()), unknown);
}

/// Reads all pages of an answer and removes the first line of each.
fn read_all(
    store: &dyn RecoveryStore,
    receipt: &Receipt,
    max_chars: usize,
    more: &str,
) -> (String, usize) {
    let mut whole = String::new();
    let mut call: Value = serde_json::from_str(more).expect("JSON");
    let repeats = more.len() > 400;
    for pages in 1.. {
        let (said, facts) = ask(store, receipt, max_chars, &call.to_string());
        let (head, page) = said.split_once('\n').unwrap_or((&said, ""));
        assert!(head.starts_with('⟦') && head.ends_with('⟧'), "{head}");
        whole += page;
        let Some(cursor) = facts["next_cursor"].as_str() else {
            return (whole, pages);
        };
        assert!(head.contains(cursor), "{head}");
        match repeats {
            true => call["cursor"] = cursor.into(),
            false => call = json!({ "cursor": cursor }),
        }
    }
    unreachable!()
}

#[test]
fn concatenated_pages_equal_the_selection() {
    let lines: String = (0..3_000)
        .map(|at| format!("{at}\t\"é\" 🦀 \u{1}{}\r\n", "x".repeat(at % 90)))
        .collect();
    let one_line = lines.replace('\n', " ");
    for text in [lines.as_str(), &one_line, "", "\n", "a"] {
        let (store, receipt) = kept(text);
        let (whole, pages) = read_all(&store, &receipt, 2_000, "{}");
        assert_eq!(whole, text);
        assert_eq!(pages > 50, text.len() > 10_000);
    }
    let (store, receipt) = kept(&lines);
    let ranges = r#"{"include_line_numbers":false,"ranges":[{"start_line":10,"end_line":2000},{"start_line":5,"end_line":6}]}"#;
    let all: Vec<&str> = lines.split('\n').collect();
    let expected = [&all[9..2_000], &all[4..6]].concat().join("\n");
    assert_eq!(read_all(&store, &receipt, 5_000, ranges).0, expected);
    // Long arguments are repeated instead of carried by the cursor.
    let many: Vec<String> = (1..=300).map(|at| (3 * at).to_string()).collect();
    let expected: Vec<&str> = (1..=300).map(|at| all[3 * at - 1]).collect();
    let many = json!({ "ranges": many.join(","), "include_line_numbers": false }).to_string();
    let (whole, pages) = read_all(&store, &receipt, 2_000, &many);
    assert_eq!(whole, expected.join("\n"));
    assert!(pages > 5);
    let (_, facts) = ask(&store, &receipt, 2_000, &many);
    let cursor = json!({ "cursor": facts["next_cursor"] }).to_string();
    let (said, _) = ask(&store, &receipt, 2_000, &cursor);
    assert!(said.contains("repeat all arguments"), "{said}");
}

#[test]
fn page_has_the_requested_number_of_characters() {
    let text: String = (0..3_000).map(|at| format!("match {at}\n")).collect();
    let (store, receipt) = kept(&text);
    for max_chars in [600, 1_000, 8_000, 80_000] {
        let (said, facts) = ask(&store, &receipt, max_chars, r#"{"query":"match"}"#);
        assert!(said.starts_with("⟦3000 of 3000 lines match"));
        assert!(said.chars().count() > max_chars / 2 || facts["next_cursor"].is_null());
        let (whole, _) = read_all(&store, &receipt, max_chars, r#"{"query":"7"}"#);
        assert_eq!(
            whole.lines().count(),
            (0..3_000).filter(|at| at.to_string().contains('7')).count()
        );
    }
    let (said, _) = ask(&store, &receipt, 80_000, r#"{"max_chars":700}"#);
    assert!((400..=700).contains(&said.chars().count()));
}

#[test]
fn cursor_is_bound_to_its_receipt() {
    let (store, receipt) = kept(&"x".repeat(10_000));
    let other = store
        .keep(&owner(), "y".repeat(10_000).into())
        .expect("room");
    let (_, facts) = ask(&store, &receipt, 2_000, "{}");
    let more = json!({ "cursor": facts["next_cursor"] }).to_string();
    let (said, _) = ask(&store, &other, 2_000, &more);
    assert!(
        said.contains("The cursor belongs to another prune_id"),
        "{said}"
    );
    // A hand-made cursor past the end of the answer.
    let far = cursor(1_000_000, receipt.as_str(), &Default::default());
    let (said, _) = ask(&store, &receipt, 2_000, &format!(r#"{{"cursor":"{far}"}}"#));
    assert!(
        said.contains("Invalid cursor: copy the cursor of the previous page unchanged"),
        "{said}"
    );
}

#[test]
fn tool_description_is_short_and_complete() {
    let tool: Value = tool("recover_text").decode().expect("a tool");
    let description = tool["description"].as_str().expect("a description");
    let schema = tool["inputSchema"].to_string();
    let size = description.chars().count() + schema.chars().count();
    assert!(size <= 1_400, "{size}");
    let listed = tool["inputSchema"]["properties"]
        .as_object()
        .expect("properties");
    let listed: Vec<&str> = listed.keys().map(String::as_str).collect();
    assert_eq!(listed, arguments::NAMES[..listed.len()]);
    // The examples in the description must be valid.
    let examples = description.split("Examples: ").nth(1).expect("examples");
    let (examples, _) = examples.split_once(". ").expect("an end");
    for example in examples.split("; ") {
        let example = Raw::parse(example.to_owned().into()).expect(example);
        assert!(Find::read(&example).is_ok());
    }
}

#[test]
fn find_is_validated_before_it_is_applied() {
    let find = |raw: &str| Find::read(&Raw::parse(raw.to_owned().into()).expect("JSON"));
    let found = |raw: &str, text: &str| {
        let find = find(raw).expect("a find");
        find.apply(text, None, "prn_X", 2_000)
    };
    let lines = found(r#""APPLES""#, TEXT).expect("lines");
    assert_eq!(lines.matched, Some(2));
    assert_eq!(
        lines.text,
        "⟦2 of 6 lines match⟧\n3│ three Apples\n5│ five apples and pears"
    );
    let none = found(r#"{"query":"kiwi"}"#, TEXT).expect("no lines");
    assert_eq!(
        (none.matched, none.text.as_str()),
        (Some(0), "⟦0 of 6 lines match⟧")
    );
    let rows = found(r#"{"where":"total > 1.1","select":"id"}"#, ROWS).expect("rows");
    assert_eq!(
        rows.text,
        "⟦2 of 3 rows match⟧\n2│ {\"id\":2}\n3│ {\"id\":3}"
    );
    assert!(found(r#"{"where":"total > 1"}"#, TEXT).is_err());
    for wrong in [
        r#"{"prune_id":"x"}"#,
        r#"{"cursor":"x"}"#,
        "7",
        r#""""#,
        r#"{"where":"a ="}"#,
    ] {
        assert!(find(wrong).is_err(), "{wrong}");
    }
    // The cursor of a long answer must continue it.
    let text: String = (0..2_000).map(|at| format!("match {at}\n")).collect();
    let (store, receipt) = kept(&text);
    let first = find(r#""match""#).expect("a find");
    let first = first
        .apply(&text, None, receipt.as_str(), 2_000)
        .expect("lines");
    let (_, cursor) = first.text.split_once("next cursor=").expect("a cursor");
    let (cursor, _) = cursor.split_once('⟧').expect("an end");
    let (second, _) = ask(
        &store,
        &receipt,
        2_000,
        &json!({ "cursor": cursor }).to_string(),
    );
    let last = first.text.lines().last().expect("a line");
    let next = second.lines().nth(1).expect("a line");
    let number = |line: &str| {
        line.split('│')
            .next()
            .map(|n| n.parse::<usize>().expect("a number"))
    };
    assert_eq!(number(next), number(last).map(|number| number + 1));
}

#[test]
fn resource_returns_fitting_lines_and_how_to_continue() {
    let text: String = (1..=1_000).map(|at| format!("line {at}\n")).collect();
    let (store, receipt) = kept(&text);
    let mut uri = format!("narrows://receipt/{receipt}");
    let mut whole = String::new();
    let mut reads = 0;
    loop {
        let result: Value = read(&store, &owner(), 2_000, &uri)
            .expect("there")
            .decode()
            .expect("JSON");
        let part = result["contents"][0]["text"].as_str().expect("a text");
        assert!(part.chars().count() <= 2_000);
        whole += part;
        reads += 1;
        match result["_meta"]["narrows/next"].as_str() {
            Some(next) => uri = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((whole.as_str(), reads), (text.as_str(), 5));
    let all = read(
        &store,
        &owner(),
        80_000,
        &format!("narrows://receipt/{receipt}"),
    )
    .expect("there");
    assert!(
        all.as_str().contains("line 1000\\n\""),
        "the whole as it was"
    );
    for wrong in [
        "narrows://receipt/prn_nope",
        "narrows://receipt/",
        "narrows://receipt/x?start=a",
    ] {
        assert!(matches!(
            read(&store, &owner(), 2_000, wrong),
            Err(Error::UnknownReceipt(_))
        ));
    }
    let past = format!("narrows://receipt/{receipt}?start=1001");
    assert!(matches!(
        read(&store, &owner(), 2_000, &past),
        Err(Error::LineRange { .. })
    ));
}
