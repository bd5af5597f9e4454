//! Tests of which results are cut.

use narrows_testkit::scripted::{Script, Step};
use narrows_testkit::until;
use serde_json::{Value, json};

use super::{Asks, answering, chars, numbered, receipt, saying, shaped, text_result, within};
use crate::gateway::{Gateway, Session, StdioGateway, column, config, text, with};

#[tokio::test]
async fn text_of_exactly_the_budget_is_not_cut() {
    // Cutting must save a third to be worth a further call.
    let fits = "é".repeat(30_000);
    let (_gateway, _session, result) = shaped(&text_result(&fits), 20_000).await;
    assert_eq!(result, text_result(&fits));
    let over = "é".repeat(30_001);
    let (_gateway, mut session, result) = shaped(&text_result(&over), 20_000).await;
    let left = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        chars(left) <= 20_000 && left.contains("⟦narrows: "),
        "{left}"
    );
    let back = session.read_back(&receipt(&result), json!({})).await;
    assert_eq!(back, over);
}

/// The result passes byte for byte.
#[tokio::test]
async fn result_within_the_budget_is_byte_identical() {
    let odd = r#"{ "content":[ {"type":"text","text":"x\u00e9\/","n":1.0} ],"big":12345678901234567890123 , "structuredContent":{"a":1e2}}"#;
    let server = Script::new("one")
        .plain_tool("get")
        .on_tool("get", [Step::reply(odd)])
        .install();
    let gateway = Gateway::serve(&within(&server, 1_000)).await;
    let mut session = gateway.session("/mcp").await;
    let params = json!({ "name": "one__get", "arguments": {} });
    let request = session.request("tools/call", params);
    let answer = session.post(&request).await;
    let body = String::from_utf8(answer.body).expect("UTF-8");
    assert!(body.contains(odd), "{body}");
}

/// The kept lines and the recovered lines together give the original.
async fn check_lines(client: &mut impl Asks, whole: &str) {
    let params = json!({ "name": "one__get", "arguments": {} });
    let answer = client.ask("tools/call", params).await;
    let left = text(&answer).to_owned();
    assert!(chars(&left) <= 80_000, "{} characters", chars(&left));
    let id = receipt(&answer["result"]);
    let head = left.lines().next().expect("a first line");
    assert!(head.contains(&format!("prune_id={id}")), "{head}");
    let mut rebuilt = String::new();
    for line in left.lines() {
        let cut = line
            .strip_prefix("⟦cut ")
            .and_then(|cut| cut.strip_suffix('⟧'));
        match cut {
            Some(range) => {
                let ranges = json!({ "ranges": range, "include_line_numbers": false });
                rebuilt += client.read_back(&id, ranges).await.trim_end_matches('\n');
            }
            // A marker, not a line of the text.
            None if line.starts_with('⟦') => continue,
            None => rebuilt += line,
        }
        rebuilt.push('\n');
    }
    assert!(rebuilt == whole, "not what it was");
    assert!(
        client.read_back(&id, json!({})).await == whole,
        "not what it was"
    );
}

#[tokio::test]
async fn five_megabytes_of_lines_are_recovered_over_http() {
    let whole = numbered(85_000);
    assert!(whole.len() > 5_000_000);
    let server = saying(&whole);
    let gateway = Gateway::serve(&within(&server, 80_000)).await;
    check_lines(&mut gateway.session("/mcp").await, &whole).await;
}

#[tokio::test]
async fn five_megabytes_of_lines_are_recovered_over_stdio() {
    let whole = numbered(85_000);
    let server = saying(&whole);
    let mut piped = StdioGateway::open(&within(&server, 80_000)).await;
    check_lines(&mut piped, &whole).await;
}

/// Cuts a JSON result with this many rows and reads all of it back.
async fn cut_rows(rows: usize) -> (Gateway, Session, Value) {
    let row = |at: usize| json!({ "id": at, "name": format!("row é {at}"), "nested": { "tags": ["a", "b"], "ok": true }, "text": "lorem ipsum dolor sit amet" });
    let total = rows.to_string();
    let rows: Vec<Value> = (0..rows).map(row).collect();
    let whole = json!({ "total": rows.len(), "rows": rows }).to_string();
    assert!(whole.len() > 100 * rows.len() && !whole.contains('\n'));
    let (gateway, mut session, result) = shaped(&text_result(&whole), 80_000).await;
    let left = result["content"][0]["text"].as_str().expect("a text");
    assert!(chars(left) <= 80_000);
    assert!(left.contains("rows") && left.contains(&total), "{left}");
    assert!(left.contains("⟦cut rows "), "{left}");
    let back = session.read_back(&receipt(&result), json!({})).await;
    assert!(back == whole, "not what it was");
    (gateway, session, result)
}

#[tokio::test]
async fn five_megabytes_of_single_line_json_lose_rows() {
    cut_rows(50_000).await;
}

/// Fewer rows than above, because a query has a limit of three seconds, which an unoptimised build
/// on a busy machine needs for this number.
#[tokio::test]
async fn rows_cut_from_single_line_json_are_recovered() {
    let (_gateway, mut session, result) = cut_rows(20_000).await;
    let left = result["content"][0]["text"].as_str().expect("a text");
    // The range in the marker recovers the missing rows.
    let (_, cut) = left.split_once("⟦cut rows ").expect("a marker");
    let (range, _) = cut.split_once('⟧').expect("its end");
    let ranges = json!({ "ranges": format!("rows {range}"), "include_line_numbers": false });
    let part = session.read_back(&receipt(&result), ranges).await;
    let mut ends = range
        .split('-')
        .map(|end| end.parse::<usize>().expect("a number"));
    let (first, last) = (ends.next().expect("a row"), ends.next().expect("a row"));
    let ids: Vec<u64> = part
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).expect("a row")["id"].as_u64())
        .map(|id| id.expect("an id"))
        .collect();
    assert_eq!(ids.len(), last - first + 1);
    assert_eq!(
        (ids[0] + 1, ids[ids.len() - 1] + 1),
        (first as u64, last as u64)
    );
}

#[tokio::test]
async fn images_audio_and_blobs_are_neither_counted_nor_cut() {
    let data = "iVBORw0KGgo".repeat(30_000);
    let result = json!({ "content": [
        { "type": "image", "data": data, "mimeType": "image/png" },
        { "type": "text", "text": "a screenshot" },
        { "type": "audio", "data": data, "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "file:///x", "blob": data } },
    ] });
    let (_gateway, _session, same) = shaped(&result, 1_000).await;
    assert_eq!(same, result);
    // They are not cut even if the text next to them is.
    let mut long = result.clone();
    long["content"][1]["text"] = Value::from("x\n".repeat(5_000));
    let (_gateway, _session, cut) = shaped(&long, 1_000).await;
    for at in [0, 2, 3] {
        assert_eq!(cut["content"][at], result["content"][at]);
    }
    assert!(chars(cut["content"][1]["text"].as_str().expect("a text")) <= 1_000);
}

#[tokio::test]
async fn binary_content_is_replaced_by_notes_if_configured() {
    let data = "iVBORw0KGgo".repeat(30_000);
    let server = answering(&json!({ "content": [
        { "type": "image", "data": data, "mimeType": "image/png" },
        { "type": "text", "text": "a screenshot" },
    ] }));
    let shape = json!({ "shape": { "max_chars": 1_000, "binary": "note" } });
    let gateway = Gateway::serve(&with(config([("one", server.config())]), shape)).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("one__get", json!({})).await;
    assert!(
        text(&answer).starts_with("⟦narrows: image/png, 248 kB, cut; "),
        "{answer}"
    );
    assert_eq!(answer["result"]["content"][1]["text"], "a screenshot");
    let back = session
        .read_back(&receipt(&answer["result"]), json!({}))
        .await;
    assert!(back == data);
}

#[tokio::test]
async fn several_texts_share_the_budget_and_short_ones_stay() {
    // Texts of one line each, which can be cut inside the line.
    let (long, short) = ("é ".repeat(40_000), "short é");
    let result = json!({ "content": [
        { "type": "text", "text": short },
        { "type": "text", "text": long },
        { "type": "resource", "resource": { "uri": "file:///a.log", "mimeType": "text/plain", "text": long } },
    ], "isError": true, "extra": [1.0] });
    let (_gateway, mut session, cut) = shaped(&result, 10_000).await;
    assert_eq!(cut["content"][0], result["content"][0]);
    assert_eq!(
        (&cut["isError"], &cut["extra"]),
        (&json!(true), &json!([1.0]))
    );
    let texts = [
        &cut["content"][1]["text"],
        &cut["content"][2]["resource"]["text"],
    ];
    let sizes = texts.map(|text| chars(text.as_str().expect("a text")));
    assert!(
        sizes.iter().sum::<usize>() + chars(short) <= 10_000,
        "{sizes:?}"
    );
    assert!(sizes.iter().all(|size| *size > 4_000), "{sizes:?}");
    let blocks = cut["_meta"]["narrows/receipt"]["blocks"]
        .as_array()
        .expect("blocks");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let id = block["prune_id"].as_str().expect("a receipt");
        assert!(session.read_back(id, json!({})).await == long);
    }
}

#[tokio::test]
async fn items_are_removed_whole_from_very_many_texts() {
    let items: Vec<Value> = (0..1_000)
        .map(|at| json!({ "type": "text", "text": format!("item {at} {}", "x".repeat(100)) }))
        .collect();
    let (_gateway, mut session, cut) = shaped(&json!({ "content": items }), 10_000).await;
    let left = cut["content"].as_array().expect("items");
    let size: usize = left
        .iter()
        .map(|item| chars(item["text"].as_str().unwrap_or("")))
        .sum();
    assert!((5_000..=10_000).contains(&size), "{size}");
    assert_eq!((&left[0], left.last()), (&items[0], items.last()));
    let back = session.read_back(&receipt(&cut), json!({})).await;
    let back: Vec<Value> = serde_json::from_str(&back).expect("an array of items");
    assert_eq!(left.len() - 1 + back.len(), items.len());
    let kept = left.iter().filter(|item| items.contains(item)).count();
    assert_eq!(kept, left.len() - 1);
    assert!(back.iter().all(|item| items.contains(item)));
}

#[tokio::test]
async fn structured_content_counts_unless_text_repeats_it() {
    let rows: Vec<Value> = (0..2_000)
        .map(|at| json!({ "id": at, "name": "x" }))
        .collect();
    let data = json!({ "rows": rows });
    // The text has the same content. Only the text is kept, and it is cut.
    let both = json!({ "content": [{ "type": "text", "text": format!("{data:#}") }], "structuredContent": data });
    let (_gateway, mut session, cut) = shaped(&both, 5_000).await;
    assert!(chars(cut["content"][0]["text"].as_str().expect("a text")) <= 5_000);
    assert_eq!(cut["content"].as_array().map(Vec::len), Some(1));
    assert!(cut.get("structuredContent").is_none(), "{cut}");
    let back = session.read_back(&receipt(&cut), json!({})).await;
    assert_eq!(back, format!("{data:#}"));
    // Without text, it becomes a text and is cut.
    let alone =
        json!({ "content": [{ "type": "text", "text": "see there" }], "structuredContent": data });
    let (_gateway, mut session, cut) = shaped(&alone, 5_000).await;
    assert_eq!(cut["content"][0], alone["content"][0]);
    assert!(chars(cut["content"][1]["text"].as_str().expect("a text")) <= 5_000);
    assert!(cut.get("structuredContent").is_none(), "{cut}");
    let back = session.read_back(&receipt(&cut), json!({})).await;
    assert_eq!(serde_json::from_str::<Value>(&back).expect("JSON"), data);
}

#[tokio::test]
async fn output_schemas_are_listed_only_if_results_keep_them() {
    let rows: Vec<Value> = (0..2_000)
        .map(|at| json!({ "id": at, "name": "x" }))
        .collect();
    let data = json!({ "rows": rows });
    let result = json!({ "content": [{ "type": "text", "text": data.to_string() }], "structuredContent": data });
    let server = Script::new("one")
        .tool(r#"{"name":"get","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}"#)
        .on_tool("get", [Step::reply(result.to_string())])
        .install();
    let keep = json!({ "endpoints": { "keep": { "structured": "keep" } } });
    let gateway = Gateway::serve(&with(within(&server, 5_000), keep)).await;
    for (path, is_kept) in [("/mcp", false), ("/mcp/keep", true)] {
        let mut session = gateway.session(path).await;
        let list = session.call("tools/list", json!({})).await;
        let tool = &list["result"]["tools"][0];
        assert_eq!(
            tool.get("outputSchema").is_some(),
            is_kept,
            "{path}: {tool}"
        );
        let answer = session.call_tool("one__get", json!({})).await;
        match is_kept {
            true => assert_eq!(answer["result"], result),
            false => {
                let structured = answer["result"].get("structuredContent");
                assert!(structured.is_none(), "{answer}");
                assert!(chars(text(&answer)) <= 5_000);
            }
        }
    }
}

/// The models of some clients read only `structuredContent` if it is present.
#[tokio::test]
async fn structured_content_readers_get_content_once() {
    let data = json!({ "result": [{ "id": 1 }, { "id": 2 }] });
    let same = json!({ "content": [{ "type": "text", "text": "[{\"id\": 1}, {\"id\": 2}]" }], "structuredContent": data });
    let more =
        json!({ "content": [{ "type": "text", "text": "2 rows" }], "structuredContent": data });
    let app =
        r#"{"name":"app","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://x"}}}"#;
    let server = Script::new("one")
        .plain_tool("same")
        .plain_tool("more")
        .tool(app)
        .on_tool("same", [Step::reply(same.to_string())])
        .on_tool("more", [Step::reply(more.to_string())])
        .on_tool("app", [Step::reply(same.to_string())])
        .install();
    let known = json!({ "model_reads_by_client": { "my-agent": "structured", "codex-mcp-client": "content" } });
    let gateway = Gateway::serve(&with(within(&server, 5_000), known)).await;
    for (client, tool, has_both) in [
        ("someone", "one__same", true),
        ("claude-code", "one__same", false),
        ("claude-code", "one__more", true),
        ("claude-code", "one__app", true),
        ("my-agent", "one__same", false),
        ("codex-mcp-client", "one__same", true),
    ] {
        let mut session = gateway.session_of("/mcp", client).await;
        let answer = session.call_tool(tool, json!({})).await;
        let structured = answer["result"].get("structuredContent");
        assert_eq!(structured.is_some(), has_both, "{client} {tool}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str();
        assert!(text.is_some(), "{answer}");
    }
}

#[tokio::test]
async fn arguments_with_cut_markers_are_rejected() {
    let server = Script::new("one")
        .plain_tool("get")
        .plain_tool("write")
        .on_tool("get", [Step::text(&numbered(500))])
        .install();
    let free = json!({ "endpoints": { "free": { "shape": { "guard": false } } } });
    let gateway = Gateway::serve(&with(within(&server, 5_000), free)).await;
    let marked = json!({ "content": "a\n⟦cut 12-400⟧\nb" });
    let refused = |answer: &Value| answer["result"]["isError"] == true;
    let mut session = gateway.session("/mcp").await;
    let before = session.call_tool("one__write", marked.clone()).await;
    assert!(!refused(&before), "nothing was cut yet: {before}");
    session.call_tool("one__get", json!({})).await;
    let answer = session.call_tool("one__write", marked.clone()).await;
    assert!(refused(&answer), "{answer}");
    let said: Value = serde_json::from_str(text(&answer)).expect("JSON");
    assert_eq!(said["argument"], "content");
    let error = said["error"].as_str().expect("a text");
    assert!(
        error.contains("⟦cut 12-400⟧") && error.contains("recover_text"),
        "{error}"
    );
    let plain = session
        .call_tool("one__write", json!({ "content": "⟦x⟧" }))
        .await;
    assert!(!refused(&plain), "{plain}");
    let mut free = gateway.session("/mcp/free").await;
    free.call_tool("one__get", json!({})).await;
    let answer = free.call_tool("one__write", marked).await;
    assert!(!refused(&answer), "{answer}");
}

#[tokio::test]
async fn json_that_fits_when_compacted_loses_nothing() {
    let rows: Vec<Value> = (0..250)
        .map(|at| json!({ "id": at, "name": format!("n{at}") }))
        .collect();
    let pretty = format!("{:#}", json!(rows));
    assert!(pretty.len() > 9_000);
    let (_gateway, mut session, result) = shaped(&text_result(&pretty), 5_000).await;
    let left = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        left.starts_with("[250]{id,name}:") && !left.contains('⟦'),
        "{left}"
    );
    let account = &result["_meta"]["narrows/receipt"];
    assert_eq!(account["blocks"][0]["stages"], json!(["toon"]));
    assert_eq!(account["blocks"][0]["cuts"], json!([]));
    let back = session.read_back(&receipt(&result), json!({})).await;
    assert_eq!(back, pretty);
}

#[tokio::test]
async fn tool_overrides_server_overrides_endpoint_overrides_top() {
    // A text of one line, which can be cut to any budget.
    let long = "é ".repeat(12_000);
    let server = Script::new("s")
        .plain_tool("get")
        .plain_tool("other")
        .on("tools/call", [Step::text(&long)])
        .install();
    let one = with(
        server.config(),
        json!({ "shape": { "max_chars": 4_000 }, "tools": { "other": { "shape": { "max_chars": 3_000 } } } }),
    );
    let off = with(server.config(), json!({ "shape": false }));
    let servers = [("one", one), ("off", off), ("plain", server.config())];
    let more = json!({
        "shape": { "max_chars": 6_000 },
        "endpoints": { "tight": { "shape": { "max_chars": 5_000 } }, "open": { "shape": false } },
    });
    let gateway = Gateway::serve(&with(config(servers), more)).await;
    let whole = chars(&long);
    for (path, tool, most) in [
        ("/mcp", "one__get", 4_000),
        ("/mcp", "one__other", 3_000),
        ("/mcp", "off__get", whole),
        ("/mcp", "plain__get", 6_000),
        ("/mcp/tight", "one__get", 4_000),
        ("/mcp/tight", "plain__get", 5_000),
        ("/mcp/tight", "off__get", whole),
        ("/mcp/open", "plain__get", whole),
        ("/mcp/open", "one__get", 4_000),
        ("/servers/plain/mcp", "get", whole),
        ("/servers/one/mcp", "other", 3_000),
    ] {
        let mut session = gateway.session(path).await;
        let answer = session.call_tool(tool, json!({})).await;
        let size = chars(text(&answer));
        assert!(size <= most && size > most * 3 / 4, "{path} {tool}: {size}");
    }
}

#[tokio::test]
async fn recover_tool_is_listed_if_results_may_be_cut() {
    let server = Script::new("s")
        .plain_tool("recover_text")
        .plain_tool("get")
        .install();
    let on = with(server.config(), json!({ "shape": true }));
    let more =
        json!({ "shape": { "max_chars": 6_000 }, "endpoints": { "open": { "shape": false } } });
    let gateway = Gateway::serve(&with(config([("a", server.config())]), more)).await;
    let of = async |gateway: &Gateway, path: &str| gateway.session(path).await.tool_names().await;
    let own = ["a__recover_text", "a__get"];
    assert_eq!(of(&gateway, "/mcp").await, [own[0], own[1], "recover_text"]);
    assert_eq!(of(&gateway, "/mcp/open").await, own);
    assert_eq!(
        of(&gateway, "/servers/a/mcp").await,
        ["recover_text", "get"]
    );
    let gateway = Gateway::serve(&config([("a", on)])).await;
    let names = of(&gateway, "/servers/a/mcp").await;
    assert_eq!(names, ["recover_text", "get", "narrows_recover_text"]);
    let mut session = gateway.session("/mcp").await;
    let list = session.call("resources/templates/list", json!({})).await;
    let templates = column(&list, "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["narrows://receipt/{id}{?start,end}"]);
    assert!(session.hello["capabilities"]["resources"].is_object());
}

#[tokio::test]
async fn unstorable_result_is_not_cut() {
    let long = numbered(500);
    let server = saying(&long);
    let more = json!({ "recovery": { "max_bytes": 1_000 }, "shape": { "max_chars": 5_000 } });
    let config = with(config([("one", server.config())]), more);
    let gateway = Gateway::serve_with(&config, &["--log-format", "json"]).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("one__get", json!({})).await;
    assert_eq!(answer["result"], text_result(&long));
    let reported = || {
        gateway
            .program
            .stderr()
            .contains("facade_to_llm.shape_failed")
    };
    until("it is in the log", reported).await;
    let log = gateway.program.stderr();
    assert!(
        log.contains("facade_to_llm.shape_failed") && log.contains("recovery_unavailable"),
        "{log}"
    );
}

#[tokio::test]
async fn every_shaped_result_is_logged() {
    let server = saying(&numbered(500));
    let config = within(&server, 5_000);
    let gateway = Gateway::serve_with(&config, &["--log-format", "json"]).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("one__get", json!({})).await;
    let event = || {
        let log = gateway.program.stderr();
        let mut lines = log.lines();
        let event = lines.find(|line| line.contains("facade_to_llm.shaped"));
        event.map(str::to_owned)
    };
    until("it is in the log", || event().is_some()).await;
    let event = event().expect("it was just there");
    let event: Value = serde_json::from_str(&event).expect("JSON");
    let payload = &event["payload"];
    assert_eq!(
        (&payload["server"], &payload["tool"]),
        (&json!("one"), &json!("get"))
    );
    assert_eq!(payload["stages"], json!(["digest"]));
    assert_eq!(payload["receipts"], json!([receipt(&answer["result"])]));
    assert_eq!(
        payload["chars"],
        answer["result"]["_meta"]["narrows/receipt"]["chars"]
    );
    assert!(payload["tokens"]["before"].as_u64() > payload["tokens"]["after"].as_u64());
}
