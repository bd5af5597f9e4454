use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;
use crate::error::Error;
use crate::exchange::Principal;
use crate::recovery::{MemoryStore, Receipt};

const TEXT: &str = "one\ntwo\r\nthree Apples\nfour\nfive apples and pears\nsix\n";

fn owner() -> Owner {
    Owner::client(&Principal::Anonymous, "default", None)
}

fn kept(text: &str) -> (MemoryStore, Receipt) {
    let store = MemoryStore::new(&Default::default());
    let receipt = store.keep(&owner(), text.into()).expect("there is room");
    (store, receipt)
}

/// Calls the tool with these arguments besides the receipt.
fn ask(store: &dyn Store, receipt: &Receipt, max_chars: usize, more: &str) -> Value {
    let arguments = Raw::parse(more.to_owned().into()).expect("a test's JSON");
    let arguments = arguments.with_member("prune_id", &Raw::string(receipt.as_str()));
    let result = call(store, &owner(), max_chars, Some(arguments));
    let result: Value = result.decode().expect("a result");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let said: Value = serde_json::from_str(text).expect("JSON as text");
    if result["isError"] != true {
        assert_eq!(said, result["structuredContent"], "the same twice");
        assert!(
            text.chars().count() <= max_chars,
            "a page within the budget"
        );
    }
    said
}

#[track_caller]
fn check(text: &str, more: &str, expected: Expect) {
    let (store, receipt) = kept(text);
    let said = ask(&store, &receipt, 80_000, more).to_string();
    expected.assert_eq(&said.replace(receipt.as_str(), "ID"));
}

#[test]
fn lines_by_range_as_the_pruner_gives_them() {
    check(
        TEXT,
        r#"{"ranges":[{"start_line":2,"end_line":3},{"start_line":6,"end_line":99}],"include_line_numbers":false}"#,
        expect![[
            r#"{"raw_text":"two\r\nthree Apples\nsix","metadata":{"prune_id":"ID","ranges":[{"start_line":2,"end_line":3},{"start_line":6,"end_line":6}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"ranges":"4-5,1","include_line_numbers":true}"#,
        expect![[
            r#"{"raw_text":"4│ four\n5│ five apples and pears\n1│ one","metadata":{"prune_id":"ID","ranges":[{"start_line":4,"end_line":5},{"start_line":1,"end_line":1}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"ranges":[]}"#,
        expect![[
            r#"{"raw_text":"","metadata":{"prune_id":"ID","ranges":[],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
}

#[test]
fn characters_ends_and_the_whole() {
    check(
        "aé\nb🦀c",
        r#"{"start_char":2,"end_char":5}"#,
        expect![[
            r#"{"raw_text":"é\nb🦀","metadata":{"prune_id":"ID","ranges":[{"start_char":2,"end_char":5}],"line_numbering":"original","total_lines":2,"total_chars":6,"ends_with_newline":false}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"start_char":50}"#,
        expect![[
            r#"{"raw_text":"six\n","metadata":{"prune_id":"ID","ranges":[{"start_char":50,"end_char":53}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"head":1,"tail":2}"#,
        expect![[
            r#"{"raw_text":"one\nfive apples and pears\nsix","metadata":{"prune_id":"ID","ranges":[{"start_line":1,"end_line":1},{"start_line":5,"end_line":6}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
    check(
        TEXT,
        "{}",
        expect![[
            r#"{"raw_text":"one\ntwo\r\nthree Apples\nfour\nfive apples and pears\nsix\n","metadata":{"prune_id":"ID","ranges":[{"start_line":1,"end_line":6}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true}}"#
        ]],
    );
}

#[test]
fn a_query_finds_lines_and_what_is_around_them() {
    check(
        TEXT,
        r#"{"query":"APPLES","context":0,"include_line_numbers":true}"#,
        expect![[
            r#"{"raw_text":"3│ three Apples\n5│ five apples and pears","metadata":{"prune_id":"ID","ranges":[{"start_line":3,"end_line":3},{"start_line":5,"end_line":5}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true,"matches":2}}"#
        ]],
    );
    check(
        TEXT,
        r#"{"query":"pears five","context":1}"#,
        expect![[
            r#"{"raw_text":"four\nfive apples and pears\nsix","metadata":{"prune_id":"ID","ranges":[{"start_line":4,"end_line":6}],"line_numbering":"original","total_lines":6,"total_chars":53,"ends_with_newline":true,"matches":1}}"#
        ]],
    );
}

#[test]
fn a_query_in_one_endless_line_gives_what_is_around_it() {
    let line = format!("{}needle{}", "é".repeat(40_000), "x".repeat(40_000));
    let (store, receipt) = kept(&line);
    let said = ask(
        &store,
        &receipt,
        80_000,
        r#"{"query":"Needle","context":0}"#,
    );
    let text = said["raw_text"].as_str().expect("a text");
    assert!(text.contains("ééneedlexx") && text.len() < 1_000, "{text}");
    let range = &said["metadata"]["ranges"][0];
    let part = format!(
        r#"{{"start_char":{},"end_char":{}}}"#,
        range["start_char"], range["end_char"]
    );
    assert_eq!(ask(&store, &receipt, 80_000, &part)["raw_text"], text);
}

#[test]
fn what_is_wrong_is_said_so_that_a_model_can_do_better() {
    check(
        TEXT,
        r#"{"ranges":[{"start_line":7,"end_line":8}]}"#,
        expect![[
            r#"{"code":"invalid_range","max_line":6,"message":"Lines are counted from 1 to 6, and a range ends where it starts or later"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"start_char":9,"end_char":8}"#,
        expect![[
            r#"{"code":"invalid_range","max_char":53,"message":"Characters are counted from 1 to 53, and the last does not come before the first"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"query":"kiwi"}"#,
        expect![[
            r#"{"code":"no_match","message":"No line holds the text 'kiwi' or all of its words (it is no pattern); try other words, or head and tail"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"head":1,"query":"x"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Give one of ranges, start_char/end_char, head/tail and query, not several"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"lines":1}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Unknown argument 'lines': 'recover_text' takes prune_id, ranges, start_char, end_char, head, tail, query, context, include_line_numbers, cursor"}"#
        ]],
    );
    check(
        TEXT,
        r#"{"cursor":"nonsense"}"#,
        expect![[r#"{"code":"invalid_params","message":"The cursor is not one of ours"}"#]],
    );
    check(
        TEXT,
        r#"{"ranges":"x-y"}"#,
        expect![[
            r#"{"code":"invalid_params","message":"Argument 'ranges' must be an array of {\"start_line\", \"end_line\"}"}"#
        ]],
    );
}

#[test]
fn what_is_null_is_not_there() {
    let (store, receipt) = kept(TEXT);
    let all = r#"{"ranges":[],"start_char":null,"end_char":null,"head":1,"tail":null,"query":null,"context":null,"include_line_numbers":null,"cursor":null}"#;
    assert_eq!(ask(&store, &receipt, 80_000, all)["raw_text"], "one");
    let none = r#"{"ranges":null,"cursor":null}"#;
    assert_eq!(ask(&store, &receipt, 80_000, none)["raw_text"], TEXT);
}

#[test]
fn unknown_expired_and_anothers_are_the_same() {
    let (store, receipt) = kept(TEXT);
    let other = Owner::client(&Principal::Anonymous, "other", None);
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

/// Reads all pages of a question.
fn read_all(store: &dyn Store, receipt: &Receipt, max_chars: usize, more: &str) -> (String, usize) {
    let mut whole = String::new();
    let mut more = more.to_owned();
    for pages in 1.. {
        let said = ask(store, receipt, max_chars, &more);
        whole += said["raw_text"]
            .as_str()
            .unwrap_or_else(|| panic!("{said}"));
        match said["metadata"]["next_cursor"].as_str() {
            Some(cursor) => more = serde_json::json!({ "cursor": cursor }).to_string(),
            None => return (whole, pages),
        }
    }
    unreachable!()
}

#[test]
fn pages_put_together_are_the_text() {
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
    let ranges = r#"{"ranges":[{"start_line":10,"end_line":2000},{"start_line":5,"end_line":6}]}"#;
    let all: Vec<&str> = lines.split('\n').collect();
    let expected = [&all[9..2_000], &all[4..6]].concat().join("\n");
    assert_eq!(read_all(&store, &receipt, 5_000, ranges).0, expected);
}

/// `ask` checks that every page is within the budget, whatever is told besides.
#[test]
fn what_is_told_besides_the_text_counts() {
    let text: String = (0..3_000).map(|at| format!("match {at}\n")).collect();
    let (store, receipt) = kept(&text);
    for max_chars in [1_000, 8_000, 80_000] {
        let said = ask(
            &store,
            &receipt,
            max_chars,
            r#"{"query":"match","context":0}"#,
        );
        assert_eq!(said["metadata"]["matches"], 3_000);
        let (whole, _) = read_all(&store, &receipt, max_chars, r#"{"query":"7","context":0}"#);
        assert_eq!(whole.lines().count(), 500, "the first that match");
    }
    let many: Vec<Value> = (1..=200)
        .map(|at| serde_json::json!({ "start_line": 3 * at, "end_line": 3 * at }))
        .collect();
    let many = serde_json::json!({ "ranges": many }).to_string();
    let (whole, _) = read_all(&store, &receipt, 80_000, &many);
    assert_eq!(whole.lines().count(), 200);
    let said = ask(&store, &receipt, 2_000, &many);
    assert_eq!(said["code"], "invalid_params");
}

#[test]
fn lines_may_be_asked_for_in_the_ways_that_models_write() {
    let (store, receipt) = kept(TEXT);
    for ranges in [
        r#"[{"start_line":3,"end_line":4}]"#,
        r#"{"start_line":3,"end_line":4}"#,
        r#""3-4""#,
        r#"["3-4"]"#,
        "[3,4]",
        "[[3,4]]",
        r#"["3",{"start_line":4,"end_line":4}]"#,
    ] {
        let said = ask(
            &store,
            &receipt,
            80_000,
            &format!(r#"{{"ranges":{ranges}}}"#),
        );
        assert_eq!(said["raw_text"], "three Apples\nfour", "{ranges}");
    }
}

/// Letters whose lower case is longer or shorter stand before the match.
#[test]
fn a_match_is_where_it_is_whatever_stands_before() {
    for letter in ["İ", "ẞ", "K", "é"] {
        let line = format!("{}needle{}", letter.repeat(30_000), "x".repeat(30_000));
        let (store, receipt) = kept(&line);
        let said = ask(
            &store,
            &receipt,
            80_000,
            r#"{"query":"NEEDLE","context":0}"#,
        );
        let text = said["raw_text"].as_str().expect("a text");
        assert!(text.contains(&format!("{letter}needlex")), "{letter}");
        assert!(text.len() < 1_000);
    }
}

#[test]
fn a_cursor_belongs_to_its_receipt() {
    let (store, receipt) = kept(&"x".repeat(10_000));
    let other = store
        .keep(&owner(), "y".repeat(10_000).into())
        .expect("room");
    let cursor = ask(&store, &receipt, 2_000, "{}")["metadata"]["next_cursor"].to_string();
    let said = ask(&store, &other, 2_000, &format!(r#"{{"cursor":{cursor}}}"#));
    assert_eq!(said["message"], "The cursor is of another prune_id");
    // A cursor made by hand that leads nowhere.
    let of = Raw::empty_object().with_member("prune_id", &Raw::string(receipt.as_str()));
    let far = token::part_cursor(1_000_000, &of);
    let said = ask(&store, &receipt, 2_000, &format!(r#"{{"cursor":"{far}"}}"#));
    assert_eq!(said["message"], "The cursor is not one of ours");
}

#[test]
fn the_resource_gives_the_lines_that_fit_and_says_how_to_go_on() {
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
            Err(Error::Unknown { .. })
        ));
    }
    let past = format!("narrows://receipt/{receipt}?start=1001");
    assert!(matches!(
        read(&store, &owner(), 2_000, &past),
        Err(Error::BadParams(_))
    ));
}

#[test]
fn characters_are_found_far_into_a_text_of_many_scripts() {
    let text: String = "aé潮🦀\n".chars().cycle().take(20_000).collect();
    let (store, receipt) = kept(&text);
    // The first block of 4,096 bytes ends within the 1,863rd character.
    for (first, last) in [
        (1, 1),
        (1_861, 1_862),
        (1_862, 1_863),
        (1_863, 1_864),
        (7_777, 9_999),
        (19_998, 30_000),
    ] {
        let arguments = format!(r#"{{"start_char": {first}, "end_char": {last}}}"#);
        let said = ask(&store, &receipt, 80_000, &arguments);
        let wanted = text.chars().skip(first - 1).take(last - first + 1);
        let wanted: String = wanted.collect();
        assert_eq!(said["raw_text"], wanted.as_str(), "{first}-{last}");
        let end = said["metadata"]["ranges"][0]["end_char"].as_u64();
        assert_eq!(end, Some(last.min(20_000) as u64));
    }
}
