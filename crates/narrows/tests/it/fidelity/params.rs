//! Tests of params on their way to the server.

use narrows_testkit::scripted::Script;
use serde_json::Value;

use super::{FidelityServers, LENGTH, LEVELS, ODD, WAYS, on_one_line, same};
use crate::gateway::{Gateway, StdioGateway};

/// Returns the params of the one message with this mark.
#[track_caller]
fn params_with(received: &[String], mark: &str) -> String {
    let message = received.iter().find(|message| message.contains(mark));
    let message = message.unwrap_or_else(|| panic!("nothing with {mark}"));
    // Over HTTP, `body` holds the message as text.
    let request: Option<Value> = serde_json::from_str(message).ok();
    let body = request
        .as_ref()
        .and_then(|request| request["body"].as_str());
    let message = body.unwrap_or(message);
    let (head, params) = message.split_once(r#","params":"#).expect("params");
    let id = head.strip_prefix(r#"{"jsonrpc":"2.0","id":"#);
    let id = id.and_then(|rest| rest.strip_suffix(r#","method":"tools/call""#));
    let id = id.unwrap_or_else(|| panic!("an odd envelope: {head}"));
    assert!(id.bytes().all(|byte| byte.is_ascii_digit()), "{id}");
    params.strip_suffix('}').expect("an object").to_owned()
}

/// Arguments that a scripted server cannot always parse. The tests do not wait for its response and
/// only look at the bytes received.
fn arguments() -> Vec<String> {
    let nested = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let long = format!(r#""{}""#, "y".repeat(LENGTH));
    let odd = ODD.iter().map(|text| (*text).to_owned());
    let broken = ["{\r\n  \"a\" :\n\n1\r}".to_owned()];
    odd.chain(broken).chain([nested, long]).collect()
}

fn params(name: &str, arguments: &str, mark: &str) -> String {
    format!(
        r#"{{ "_meta":{{"other":1.0}}, "arguments": {arguments},"name" : "{name}" ,"unknown":[1e5],"mark":"{mark}"}}"#
    )
}

fn request(params: &str) -> String {
    format!(r#"{{"id":1,"params":{params},"method":"tools/call","jsonrpc":"2.0"}}"#)
}

#[tokio::test]
async fn params_reach_the_server_byte_identical() {
    let servers = FidelityServers::start(&Script::new("exact").plain_tool("any")).await;
    let gateway = Gateway::serve(&servers.config()).await;
    for (way, server) in WAYS.into_iter().zip(&servers.installed) {
        let joined = gateway.session("/mcp").await;
        let single = gateway.session(&format!("/servers/{way}/mcp")).await;
        let mut sent = Vec::new();
        for (number, arguments) in arguments().iter().enumerate() {
            // The record of received messages has one line per message.
            if way == "framed" && arguments.contains('\n') {
                continue;
            }
            for (session, name) in [
                (&joined, format!("{way}__any")),
                (&single, "any".to_owned()),
            ] {
                let mark = format!("{}-{number:02}-{name}", &session.id[..8]);
                // Every call has its own id, because none of them may be answered.
                let body = request(&params(&name, arguments, &mark));
                let body = body.replacen(r#""id":1"#, &format!(r#""id":"{mark}""#), 1);
                sent.push((session.begin_text(&body).await, arguments.clone(), mark));
            }
        }
        for (_, _, mark) in sent.iter().rev() {
            server.received_with(mark).await;
        }
        let received = server.received();
        for (_, arguments, mark) in &sent {
            let mut expected = params("any", arguments, mark);
            if way == "piped" {
                expected = on_one_line(&expected);
            }
            let params = params_with(&received, mark);
            same(&format!("{mark} to {way}"), &params, &expected);
        }
    }
}

#[tokio::test]
async fn only_the_progress_token_is_replaced() {
    let servers = FidelityServers::start(&Script::new("exact").plain_tool("any")).await;
    let mut client = StdioGateway::open(&servers.config()).await;
    for (way, server) in WAYS.into_iter().zip(&servers.installed) {
        let with = |token: &str, name: &str| {
            format!(
                r#"{{"_meta":{{ "progressToken" : {token},"x":{{"progressToken":"mine"}}}},"name":"{name}","arguments":{{"progressToken":1.50}}}}"#
            )
        };
        client
            .send_text(&request(&with(r#""t\/1""#, &format!("{way}__any"))))
            .await;
        let answer = client.next().await;
        assert!(answer["result"].is_object(), "{answer}");
        let received = params_with(&server.received(), "1.50");
        let parsed: Value = serde_json::from_str(&received).expect("JSON");
        let token = &parsed["_meta"]["progressToken"];
        assert!(token.is_u64(), "{token}");
        same(way, &received, &with(&token.to_string(), "any"));
    }
    assert!(client.aside().next().is_none());
}
