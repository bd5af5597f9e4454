//! Tests of `search_tools`.

use expect_test::{Expect, expect};

use super::*;

fn search(tools_by_server: Vec<ServerTools>, max_chars: usize) -> Facade {
    facade(FacadeMode::Search, |_| {}, tools_by_server, max_chars)
}

#[track_caller]
fn check(arguments: &str, expected: Expect) {
    let facade = search(tools_by_server(), 80_000);
    expected.assert_eq(&result_text(&facade.search(Some(&raw(arguments)))));
}

fn found(facade: &Facade, arguments: &str) -> Vec<String> {
    let result = facade.search(Some(&raw(arguments))).expect("a result");
    let data = result
        .member("structuredContent")
        .and_then(|data| data.member("result"));
    let name = |entry: Raw| entry.member("name")?.as_text().map(Into::into);
    data.expect("a list").elements().filter_map(name).collect()
}

#[test]
fn search_finds_tools_by_their_words() {
    check(
        r#"{"query":"time"}"#,
        expect![[r#"
        [1]{server_name,name,description,input_schema}:
          clock,now,The time,"{zone?: \"utc\" | \"local\"}"
        == {"result":[{"server_name":"clock","name":"now","description":"The time","input_schema":"{zone?: \"utc\" | \"local\"}"}]}"#]],
    );
    let facade = search(tools_by_server(), 80_000);
    assert_eq!(
        found(&facade, r#"{"query":"read the contents"}"#)[0],
        "read_file"
    );
    assert_eq!(found(&facade, r#"{"query":"zone"}"#), ["now"]);
    assert_eq!(
        found(&facade, r#"{"query":"read time","server_name":"clock"}"#),
        ["now"]
    );
    assert_eq!(
        found(
            &facade,
            r#"{"query":"read time","server_name":"io_files_x"}"#
        )[0],
        "read_file"
    );
}

#[test]
fn search_covers_nested_parameters() {
    let nested = r#"{"name":"a","inputSchema":{"properties":{"outer":{"properties":{"latitude":{"description":"degrees"}}},"list":{"items":{"properties":{"longitude":{}}}}}}}"#;
    let facade = search(
        vec![server_tools("s", "", &[nested, r#"{"name":"b"}"#])],
        80_000,
    );
    for word in ["outer", "latitude", "degrees", "list", "longitude"] {
        assert_eq!(
            found(&facade, &format!(r#"{{"query":"{word}"}}"#)),
            ["a"],
            "{word}"
        );
    }
}

#[test]
fn empty_search_result_suggests_alternatives() {
    let expected = || {
        expect![[r#"
            []
            --
            No tool matches these words. Try others, or inspect a server to see all its tools.
            == {"result":[]}"#]]
    };
    check(r#"{"query":"qqqq"}"#, expected());
    check(r#"{"query":"read","server_name":"narrows"}"#, expected());
}

#[test]
fn invalid_query_is_answered_with_the_reason() {
    check(
        "{}",
        expect![[r#"error: {"error":"search_tools needs 'query' as a string"}"#]],
    );
    check(
        r#"{"query":" \n"}"#,
        expect![[
            r#"error: {"error":"search_tools needs 'query' as a string of 1 to 4000 characters"}"#
        ]],
    );
    check(
        r#"{"query":"time","limit":"many"}"#,
        expect![[r#"error: {"error":"search_tools needs 'limit' as a whole number"}"#]],
    );
    check(
        r#"{"query":"time","server_name":"zz"}"#,
        expect![[
            r#"error: {"error":"Server 'zz' not found","available_servers":["clock","io.files/x"]}"#
        ]],
    );
    check(
        r#"{"query":"time","server_name":"secret"}"#,
        expect!["refused: Server 'secret' is not allowed by current preset"],
    );
    let facade = search(tools_by_server(), 80_000);
    let asked = |length: usize| {
        let query = format!(r#"{{"query":"{}"}}"#, "é".repeat(length));
        result_text(&facade.search(Some(&raw(&query))))
    };
    assert!(asked(4_001).starts_with("error: "), "{}", asked(4_001));
    assert!(!asked(4_000).starts_with("error: "));
}

#[test]
fn results_are_limited_by_count_and_budget() {
    let tools: Vec<String> = (0..80)
        .map(|at| {
            format!(
                r#"{{"name":"find_{at}","description":"{}"}}"#,
                "to find things ".repeat(10)
            )
        })
        .collect();
    let tools: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    let facade = search(vec![server_tools("s", "", &tools)], 80_000);
    for (limit, count) in [
        ("", 5),
        (r#","limit":7.0"#, 7),
        (r#","limit":-3"#, 1),
        (r#","limit":900"#, 50),
        (r#","limit":null"#, 5),
    ] {
        let arguments = format!(r#"{{"query":"find things"{limit}}}"#);
        assert_eq!(found(&facade, &arguments).len(), count, "{arguments}");
    }
    let small = search(vec![server_tools("s", "", &tools)], 1_000);
    let result = small.search(Some(&raw(r#"{"query":"find things","limit":20}"#)));
    let texts = texts(&result.expect("a result"));
    expect!["15 more tools match but do not fit here. Use more specific words."]
        .assert_eq(&texts[1]);
    assert!(texts.concat().chars().count() <= 1_000);
}

#[test]
fn hidden_tools_are_not_found() {
    let facade = search(tools_by_server(), 80_000);
    assert!(
        found(
            &facade,
            r#"{"query":"delete file open close secret hidden"}"#
        )
        .iter()
        .all(|name| name == "read_file" || name == "stat")
    );
}
