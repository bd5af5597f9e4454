//! Tests that results stay within their budgets and that cut text can be recovered.

mod budgets;
mod goals;
mod receipts;
mod resources;

use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, StdioGateway, config, text, with};

/// A server whose tool `get` returns this text.
fn saying(said: &str) -> Installed {
    answering(&text_result(said))
}

/// A server whose tool `get` returns this result.
fn answering(result: &Value) -> Installed {
    Script::new("one")
        .plain_tool("get")
        .on_tool("get", [Step::reply(result.to_string())])
        .install()
}

fn text_result(said: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": said }] })
}

/// Returns a budget with a time limit long enough for an unoptimised build.
fn shape(max_chars: usize) -> Value {
    json!({ "max_chars": max_chars, "prune": { "timeout_ms": 20_000 } })
}

/// Returns a configuration of this server with this budget.
fn within(server: &Installed, max_chars: usize) -> Value {
    with(
        config([("one", server.config())]),
        json!({ "shape": shape(max_chars) }),
    )
}

/// Returns the result of the server's only tool under a budget.
async fn shaped(result: &Value, max_chars: usize) -> (Gateway, Session, Value) {
    let server = answering(result);
    let gateway = Gateway::serve(&within(&server, max_chars)).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("one__get", json!({})).await;
    (gateway, session, answer["result"].clone())
}

/// Returns lines that differ in their number.
fn numbered(count: usize) -> String {
    (1..=count)
        .map(|at| format!("{at:07} é🦀 the quick brown fox jumps over the lazy dog\n"))
        .collect()
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Returns the receipt of a shaped result.
#[track_caller]
fn receipt(result: &Value) -> String {
    let id = result["_meta"]["narrows/receipt"]["prune_id"].as_str();
    id.unwrap_or_else(|| panic!("not shaped: {:.300}", result.to_string()))
        .to_owned()
}

/// A client over any transport.
trait Asks {
    async fn ask(&mut self, method: &str, params: Value) -> Value;

    async fn recover(&mut self, arguments: Value) -> Value {
        let params = json!({ "name": "recover_text", "arguments": arguments });
        self.ask("tools/call", params).await
    }

    /// Reads all pages; `arguments` select the part.
    async fn read_back(&mut self, id: &str, arguments: Value) -> String {
        let mut whole = String::new();
        let mut arguments = with(arguments, json!({ "prune_id": id }));
        loop {
            let answer = self.recover(arguments).await;
            let said = text(&answer);
            assert!(said.starts_with('⟦'), "no text: {said}");
            // The first line describes the page.
            whole += said.split_once('\n').map_or("", |(_, page)| page);
            let facts = &answer["result"]["_meta"]["narrows/selection"];
            match facts["next_cursor"].as_str() {
                Some(cursor) => arguments = json!({ "prune_id": id, "cursor": cursor }),
                None => return whole,
            }
        }
    }
}

impl Asks for Session {
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).await
    }
}

impl Asks for StdioGateway {
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).await
    }
}
