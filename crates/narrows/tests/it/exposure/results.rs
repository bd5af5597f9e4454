//! Tests of how `exec` formats results: data as its shortest text and as JSON.

use serde_json::{Value, json};

use super::{ClientTransport, LazyClient, WAYS, answering, errand, only, wrong};
use crate::gateway::with;

/// A tool's result, and the text and `structuredContent.result` that `exec` returns for it.
struct Case {
    name: &'static str,
    result: &'static str,
    text: &'static str,
    data: &'static str,
}

const fn case(
    name: &'static str,
    result: &'static str,
    text: &'static str,
    data: &'static str,
) -> Case {
    Case {
        name,
        result,
        text,
        data,
    }
}

const ROWS: &str = r#"{"content":[{"type":"text","text":"[{\"id\": 1, \"name\": \"a\"}, {\"id\": 2, \"name\": \"b\"}]"}]}"#;
const ROWS_DATA: &str = r#"[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]"#;
const ROWS_TOON: &str = "[2]{id,name}:\n  1,a\n  2,b";

const NESTED: &str =
    r#"{"content":[{"type":"text","text":"{\"a\":{\"b\":{\"c\":[{\"x\":1},{\"y\":[2]}]}}}"}]}"#;
const NESTED_DATA: &str = r#"{"a":{"b":{"c":[{"x":1},{"y":[2]}]}}}"#;

const NUMBERS: &str = r#"{"content":[{"type":"text","text":"{\"z\":1.0,\"a\":1e2,\"big\":12345678901234567890123,\"m\":-0}"}]}"#;
const NUMBERS_DATA: &str = r#"{"z":1.0,"a":1e2,"big":12345678901234567890123,"m":-0}"#;

/// Results that are the same in every format.
const ALWAYS: [Case; 9] = [
    case(
        "plain",
        r#"{"content":[{"type":"text","text":"just  a text\n"}]}"#,
        "just  a text\n",
        r#""just  a text\n""#,
    ),
    case(
        "broken",
        r#"{"content":[{"type":"text","text":"{\"a\":"}]}"#,
        r#"{"a":"#,
        r#""{\"a\":""#,
    ),
    case(
        "number",
        r#"{"content":[{"type":"text","text":" 42.0 "}]}"#,
        "42.0",
        "42.0",
    ),
    case(
        "quoted",
        r#"{"content":[{"type":"text","text":"\"a word\""}]}"#,
        r#""a word""#,
        r#""a word""#,
    ),
    case(
        "null",
        r#"{"content":[{"type":"text","text":"null"}]}"#,
        "null",
        "null",
    ),
    case("empty", r#"{"content":[]}"#, "null", "null"),
    case(
        "nothing",
        r#"{"content":[{"type":"text","text":""}]}"#,
        "",
        r#""""#,
    ),
    case(
        "structured_scalar",
        r#"{"content":[{"type":"text","text":"see there"}],"structuredContent":{}}"#,
        "{}",
        "{}",
    ),
    case("numbers", NUMBERS, NUMBERS_DATA, NUMBERS_DATA),
];

const SHORTEST: [Case; 5] = [
    case("rows", ROWS, ROWS_TOON, ROWS_DATA),
    case("nested", NESTED, NESTED_DATA, NESTED_DATA),
    case(
        "twice",
        r#"{"content":[{"type":"text","text":"\"[{\\\"id\\\":1,\\\"k\\\":2},{\\\"id\\\":3,\\\"k\\\":4}]\""}]}"#,
        "[2]{id,k}:\n  1,2\n  3,4",
        r#"[{"id":1,"k":2},{"id":3,"k":4}]"#,
    ),
    case(
        "structured",
        r#"{"content":[{"type":"text","text":"two rows"}],"structuredContent":{"rows":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}}"#,
        "rows[2]{id,name}:\n  1,a\n  2,b",
        r#"{"rows":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"#,
    ),
    case(
        "only_structured",
        r#"{"content":[],"structuredContent":{"b":2,"a":[1,2]}}"#,
        "b: 2\na[2]: 1,2",
        r#"{"b":2,"a":[1,2]}"#,
    ),
];

const AS_TOON: [Case; 2] = [
    case("rows", ROWS, ROWS_TOON, ROWS_DATA),
    case(
        "nested",
        NESTED,
        "a:\n  b:\n    c[2]:\n      - x: 1\n      - y[1]: 2",
        NESTED_DATA,
    ),
];

const AS_JSON: [Case; 2] = [
    case(
        "rows",
        ROWS,
        r#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#,
        ROWS_DATA,
    ),
    case("nested", NESTED, NESTED_DATA, NESTED_DATA),
];

/// Returns the whole response as text.
async fn exec_text(lazy: &mut LazyClient, tool: &str) -> String {
    let params = json!({ "name": "exec", "arguments": errand("ds", tool, json!({})) });
    lazy.client.request("tools/call", params).await;
    lazy.client.next_text().await.expect("an answer")
}

async fn check(settings: Value, cases: &[&Case]) {
    let results: Vec<_> = cases.iter().map(|case| (case.name, case.result)).collect();
    let server = answering(&results);
    let config = with(only("ds", &server), settings.clone());
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        for case in cases {
            let answer = exec_text(&mut lazy, case.name).await;
            let about = format!("{} {} {settings}: {answer}", lazy.transport, case.name);
            let parsed: Value = serde_json::from_str(&answer).expect("JSON");
            let content = &parsed["result"]["content"];
            assert_eq!(
                *content,
                json!([{ "type": "text", "text": case.text }]),
                "{about}"
            );
            let data = format!(r#""structuredContent":{{"result":{}}}"#, case.data);
            assert!(answer.contains(&data), "no {data} in {about}");
        }
    }
}

#[tokio::test]
async fn data_uses_the_shortest_encoding() {
    let cases: Vec<&Case> = ALWAYS.iter().chain(&SHORTEST).collect();
    check(json!({}), &cases).await;
}

#[tokio::test]
async fn encoding_can_be_configured() {
    let always = || {
        ALWAYS
            .iter()
            .filter(|case| case.name != "structured_scalar")
    };
    let cases: Vec<&Case> = always().chain(&AS_TOON).collect();
    check(json!({ "encoding": "toon" }), &cases).await;
    let cases: Vec<&Case> = always().chain(&AS_JSON).collect();
    check(json!({ "encoding": "json" }), &cases).await;
    check(
        json!({ "toon_compression_min_size": 3 }),
        &AS_JSON.iter().collect::<Vec<_>>(),
    )
    .await;
}

/// Text that is not data, and errors, pass unchanged.
#[tokio::test]
async fn non_data_results_are_unchanged() {
    let image = r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#;
    let audio = r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#;
    let text = r#"{"type":"text","text":"{\"a\": 1.0}"}"#;
    let embedded =
        r#"{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"z"}}"#;
    let link = r#"{"type":"resource_link","uri":"x://y","name":"y"}"#;
    let whole = |items: &[&str]| format!(r#"{{"content":[{}],"more":1.0}}"#, items.join(","));
    let all = [
        ("image", whole(&[image])),
        ("audio", whole(&[audio])),
        ("embedded", whole(&[embedded])),
        ("link", whole(&[link])),
        ("several", whole(&[text, text])),
        ("mixed", whole(&[text, image, embedded, audio, link, text])),
        (
            "failed",
            r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"isError":true,"structuredContent":{"why":1.0}}"#.to_owned(),
        ),
    ];
    let results: Vec<_> = all.iter().map(|(name, it)| (*name, it.as_str())).collect();
    let server = answering(&results);
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        for (name, result) in &all {
            let answer = exec_text(&mut lazy, name).await;
            let expected = format!(r#""result":{result}"#);
            assert!(
                answer.contains(&expected),
                "{} {name}: {answer}",
                lazy.transport
            );
        }
    }
}

/// If a result contains images as well, programs still find the data in its usual place.
#[tokio::test]
async fn data_beside_images_is_in_structured_content() {
    let server = answering(&[(
        "both",
        r#"{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"x"}],"structuredContent":{"n":1.0},"_meta":{"own":1}}"#,
    )]);
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        let answer = exec_text(&mut lazy, "both").await;
        for part in [
            r#""content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"x"}]"#,
            r#""structuredContent":{"result":{"n":1.0}}"#,
            r#""_meta":{"own":1}"#,
        ] {
            assert!(answer.contains(part), "no {part} in {answer}");
        }
    }
}

#[tokio::test]
async fn unknown_names_are_answered_with_available_ones() {
    let server = answering(&[("get", r#"{"content":[]}"#)]);
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        let before = server.received();
        let unknown = lazy.exec("zz", "get", json!({})).await;
        let expected = json!({ "error": "Server 'zz' not found", "available_servers": ["ds"] });
        assert_eq!(wrong(&unknown), expected);
        let reported = wrong(&lazy.exec("ds", "zz", json!({})).await);
        assert_eq!(reported["error"], "Tool 'zz' not found on server 'ds'");
        assert_eq!(reported["available_tools"], json!(["get"]));
        for bad in [
            json!({}),
            json!({ "server_name": "ds" }),
            json!({ "tool_name": "get" }),
            json!({ "server_name": "ds", "tool_name": ["get"] }),
            errand("ds", "get", json!([])),
            errand("ds", "get", json!("text")),
            json!({ "server_name": "ds", "tool_name": "get", "args": {} }),
        ] {
            let answer = lazy.client.call_tool("exec", bad.clone()).await;
            let reported = wrong(&lazy.result(answer));
            assert!(reported["error"].is_string(), "{bad}: {reported}");
        }
        assert_eq!(server.received(), before, "the server was asked");
    }
}

/// Clients of older revisions do not know `structuredContent`; the text has the same content.
#[tokio::test]
async fn older_clients_get_text_only() {
    let server = answering(&[
        ("rows", ROWS),
        (
            "link",
            r#"{"content":[{"type":"resource_link","uri":"x://y","name":"y"}]}"#,
        ),
    ]);
    for transport in WAYS {
        for (revision, knows) in [
            ("2024-11-05", false),
            ("2025-03-26", false),
            ("2025-06-18", true),
        ] {
            let mut lazy = opened(transport, &only("ds", &server), revision).await;
            let rows = lazy.exec("ds", "rows", json!({})).await;
            assert_eq!(super::only_text(&rows), ROWS_TOON);
            assert_eq!(
                rows["structuredContent"].is_object(),
                knows,
                "{revision}: {rows}"
            );
            let link = lazy.exec("ds", "link", json!({})).await;
            let kind = if knows { "resource_link" } else { "text" };
            assert_eq!(link["content"][0]["type"], kind, "{revision}: {link}");
            let reported = lazy.inspect(json!({ "server_name": "ds" })).await;
            assert!(super::only_text(&reported).contains("rows"));
            assert_eq!(
                reported["structuredContent"].is_object(),
                knows,
                "{revision}: {reported}"
            );
        }
    }
}

async fn opened(transport: ClientTransport, config: &Value, revision: &str) -> LazyClient {
    let mut lazy = transport.connect(config).await;
    lazy.client.initialize(revision, json!({})).await;
    lazy
}
