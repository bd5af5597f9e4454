//! Tests what requests carry, and what is removed from results.

use super::*;
use crate::failure::FailureKind;

#[tokio::test]
async fn every_request_describes_the_client() {
    let mut server = serve(json!({"logging": {}}), |seen| async move {
        json_reply(&seen.result(json!({"resultType": "complete", "content": []})))
    })
    .await;
    let (link, _received) = open(&server).await;
    let params = json!({"name": "t", "_meta": {VERSION: "1999-01-01", "traceparent": "00-1"}});
    let result = call(&link, "tools/call", params).await.unwrap();
    assert_eq!(result.as_str(), r#"{"content":[]}"#);
    for what in ["server/discover", "tools/call"] {
        let seen = server.saw(what).await;
        assert_eq!(seen.header("mcp-protocol-version"), "2026-07-28");
        assert_eq!(seen.header("mcp-method"), what);
        assert_eq!(seen.header("mcp-session-id"), "");
        let meta = &seen.body["params"]["_meta"];
        assert_eq!(meta[VERSION], "2026-07-28");
        assert_eq!(meta[CAPABILITIES], json!({"elicitation": {}}));
        assert_eq!(meta[CLIENT_INFO]["name"], "c");
        assert_eq!(meta.get(LOG_LEVEL), None);
        if what == "tools/call" {
            assert_eq!(seen.header("mcp-name"), "t");
            assert_eq!(meta["traceparent"], "00-1");
        }
    }
}

#[tokio::test]
async fn names_are_the_servers_own_and_encoded() {
    let mut server = serve(json!({}), |seen| async move {
        json_reply(&seen.result(json!({})))
    })
    .await;
    let (link, _received) = open(&server).await;
    for (own, header) in [
        ("plain", "plain"),
        ("naïve", "=?base64?bmHDr3Zl?="),
        (" pad", "=?base64?IHBhZA==?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
    ] {
        let params = raw(&json!({"name": "srv__x"}));
        let place = params.member("name").unwrap();
        let asked = Outgoing {
            rename: Some((place, Raw::string(own))),
            ..Outgoing::own("prompts/get", Some(params), LONG)
        };
        soon(link.request(asked)).await.unwrap();
        let seen = server.saw("prompts/get").await;
        assert_eq!(seen.header("mcp-name"), header);
        assert_eq!(seen.body["params"]["name"], own);
    }
}

#[tokio::test]
async fn what_only_this_era_has_is_removed_from_results() {
    let server = serve(json!({}), |seen| async move {
        json_reply(&seen.result(json!({
            "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "contents": [],
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m"}, "own": 1},
        })))
    })
    .await;
    let (link, _received) = open(&server).await;
    let result = call(&link, "resources/read", json!({"uri": "a:b"}))
        .await
        .unwrap();
    let result: Value = result.decode().unwrap();
    assert_eq!(result, json!({"contents": [], "_meta": {"own": 1}}));
}

#[tokio::test]
async fn methods_that_this_era_lacks_are_answered_by_the_gateway() {
    let mut server = serve(json!({"logging": {}}), |seen| async move {
        json_reply(&seen.result(json!({})))
    })
    .await;
    let (link, _received) = open(&server).await;
    server.rest();
    assert_eq!(call(&link, "ping", json!({})).await.unwrap().as_str(), "{}");
    assert_eq!(server.rest(), ["server/discover"]);
    call(&link, "logging/setLevel", json!({"level": "debug"}))
        .await
        .unwrap();
    link.notify("notifications/roots/list_changed", None);
    assert!(server.rest().is_empty());
    call(&link, "tools/call", json!({"name": "t"}))
        .await
        .unwrap();
    let seen = server.saw("tools/call").await;
    assert_eq!(seen.body["params"]["_meta"][LOG_LEVEL], "debug");
    link.preset_level(Some("error"));
    call(&link, "tools/call", json!({"name": "t"}))
        .await
        .unwrap();
    let seen = server.saw("tools/call").await;
    assert_eq!(seen.body["params"]["_meta"][LOG_LEVEL], "error");
    link.close().await;
    assert!(server.rest().is_empty(), "no DELETE, no notification");
}

fn annotated(name: &str, header: Value) -> Raw {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": header}, "n": {"type": "integer"}}});
    raw(&json!({"name": name, "inputSchema": schema}))
}

#[tokio::test]
async fn arguments_are_repeated_in_headers() {
    let mut server = serve(json!({}), |seen| async move {
        json_reply(&seen.result(json!({})))
    })
    .await;
    let (link, _received) = open(&server).await;
    assert!(link.accepts_tool(&annotated("t", json!("Region"))));
    for (arguments, header) in [
        (json!({"region": "eu"}), Some("eu")),
        (json!({"region": "a\nb"}), Some("=?base64?YQpi?=")),
        (json!({"region": null}), None),
        (json!({"n": 1}), None),
    ] {
        call(
            &link,
            "tools/call",
            json!({"name": "t", "arguments": arguments}),
        )
        .await
        .unwrap();
        let seen = server.saw("tools/call").await;
        let sent = seen.headers.get("mcp-param-region");
        assert_eq!(sent.map(|value| value.to_str().unwrap()), header);
    }
    for bad in [json!(""), json!("a b"), json!("x\r\ny"), json!(5)] {
        assert!(!link.accepts_tool(&annotated("bad", bad)));
    }
}

#[tokio::test]
async fn a_changed_definition_is_read_when_headers_are_missing() {
    let mut server = serve(json!({}), |seen| async move {
        if seen.what() == "tools/list" {
            let tools = annotated("t", json!("Region"));
            let tools: Value = tools.decode().unwrap();
            return json_reply(&seen.result(json!({"tools": [tools]})));
        }
        match seen.header("mcp-param-region") {
            "eu" => json_reply(&seen.result(json!({"content": []}))),
            _ => error(400, &seen, -32020),
        }
    })
    .await;
    let (link, _received) = open(&server).await;
    server.rest();
    let params = json!({"name": "t", "arguments": {"region": "eu"}});
    call(&link, "tools/call", params.clone()).await.unwrap();
    assert_eq!(server.rest(), ["tools/call", "tools/list", "tools/call"]);
    // One correction is tried, not more.
    let refused = json!({"name": "t", "arguments": {"region": "us"}});
    let refused = call(&link, "tools/call", refused).await;
    assert!(
        matches!(refused, Err(LinkError::Answered(_))),
        "{refused:?}"
    );
    assert_eq!(server.rest(), ["tools/call", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let (gone, mut closed) = tokio::sync::mpsc::unbounded_channel();
    let server = serve(json!({}), move |_| {
        let gone = gone.clone();
        async move {
            let (sender, reply) = events();
            sender
                .send(event(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#))
                .unwrap();
            tokio::spawn(async move {
                sender.closed().await;
                gone.send(()).unwrap();
            });
            reply
        }
    })
    .await;
    let (link, _received) = open(&server).await;
    let (origin, mut events) = origin();
    let pending = of_client(origin, LONG);
    tokio::select! {
        _ = link.request(pending) => panic!("it has no answer"),
        _ = events.recv() => {}
    }
    soon(closed.recv()).await.expect("the server sees it");
}

#[tokio::test]
async fn a_stream_that_breaks_is_not_resumed() {
    let mut server = serve(json!({}), |_| async {
        let (sender, reply) = events();
        sender.send("id: 1\ndata:\n\n".to_owned()).unwrap();
        reply
    })
    .await;
    let (link, _received) = open(&server).await;
    server.rest();
    let lost = call(&link, "tools/call", json!({"name": "t"})).await;
    assert!(matches!(lost, Err(LinkError::Invalid(_))), "{lost:?}");
    assert_eq!(server.rest(), ["tools/call"]);
}

#[tokio::test]
async fn errors_pass_as_they_are() {
    let server = serve(json!({}), |seen| async move { error(404, &seen, -32601) }).await;
    let (link, _received) = open(&server).await;
    let answer = call(&link, "tools/call", json!({"name": "t"})).await;
    let Err(LinkError::Answered(error)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(error.as_str(), r#"{"code":-32601,"message":"no"}"#);
}

#[tokio::test]
async fn a_server_without_our_revision_says_which_it_has() {
    for body in [
        json!({"result": {"supportedVersions": ["2030-01-01"], "capabilities": {}}}),
        json!({"error": {"code": -32022, "message": "no", "data": {"supported": ["2030-01-01"]}}}),
    ] {
        let server = Server::bare(move |seen| {
            let mut body = body.clone();
            body["jsonrpc"] = json!("2.0");
            body["id"] = seen.body["id"].clone();
            async move { json_reply(&body.to_string()) }
        })
        .await;
        let failure = try_open(&server).await.err().expect("it must not open");
        assert_eq!(failure.kind, FailureKind::UnsupportedRevision);
        assert!(
            failure.detail.contains("MCP 2030-01-01 only"),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_no_longer_has_our_revision_loses_its_link() {
    let server = serve(json!({}), |seen| async move { error(400, &seen, -32022) }).await;
    let (link, _received) = open(&server).await;
    let answer = call(&link, "tools/call", json!({"name": "t"})).await;
    assert!(matches!(answer, Err(LinkError::Answered(_))), "{answer:?}");
    let reason = soon(link.ended()).await;
    assert!(reason.is_answer, "{reason:?}");
}
