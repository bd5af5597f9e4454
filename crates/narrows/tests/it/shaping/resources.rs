//! Tests of budgets in `resources/read`, and of receipts as resources.

use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use super::{Asks, chars, numbered, receipt, within};
use crate::gateway::Gateway;

#[tokio::test]
async fn resources_are_shaped_and_receipts_readable_as_resources() {
    let long = numbered(500);
    let item = json!({ "uri": "file:///app.log", "mimeType": "text/plain", "text": long });
    let blob = json!({ "uri": "file:///app.png", "blob": "iVBORw0KGgo".repeat(2_000) });
    let result = json!({ "contents": [item, blob] });
    let server = Script::new("one")
        .resource(r#"{"uri":"file:///app.log","name":"log"}"#)
        .on("resources/read", [Step::reply(result.to_string())])
        .install();
    let gateway = Gateway::serve(&within(&server, 5_000)).await;
    let mut session = gateway.session("/mcp").await;
    let read = json!({ "uri": "file:///app.log" });
    let answer = session.call("resources/read", read).await;
    let contents = &answer["result"]["contents"];
    assert!(chars(contents[0]["text"].as_str().expect("a text")) <= 5_000);
    assert_eq!(contents[0]["uri"], "file:///app.log");
    assert_eq!(contents[1], blob);
    let id = receipt(&answer["result"]);
    assert!(session.read_back(&id, json!({})).await == long);
    let mut uri = format!("narrows://receipt/{id}");
    let mut whole = Vec::new();
    loop {
        let answer = session.call("resources/read", json!({ "uri": uri })).await;
        let part = answer["result"]["contents"][0]["text"].as_str();
        let part = part.unwrap_or_else(|| panic!("{answer}"));
        assert!(chars(part) <= 5_000);
        whole.push(part.to_owned());
        match answer["result"]["_meta"]["narrows/next"].as_str() {
            Some(next) => uri = next.to_owned(),
            None => break,
        }
    }
    assert!(whole.len() > 3 && whole.concat() == long);
    let some = format!("narrows://receipt/{id}?start=7&end=8");
    let answer = session.call("resources/read", json!({ "uri": some })).await;
    let lines: Vec<&str> = long.lines().skip(6).take(2).collect();
    assert_eq!(
        answer["result"]["contents"][0]["text"],
        Value::from(format!("{}\n", lines.join("\n")))
    );
}
