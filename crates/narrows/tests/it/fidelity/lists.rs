//! Tests of lists of all kinds: byte-identical on the server's own endpoint, and byte-identical
//! except for the name where servers are joined.

use std::collections::HashSet;

use narrows_testkit::scripted::{Installed, Script};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{fixtures, on_one_line, over_http, over_stdio, result_of, same};
use crate::gateway::{Gateway, Session, StdioGateway, config, text};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The tools of one server.
struct Catalogue {
    id: String,
    /// The tools as the server lists them.
    tools: Vec<String>,
}

/// Reads the catalogues from their files, including line breaks.
fn catalogues() -> Vec<Catalogue> {
    #[derive(Deserialize)]
    struct CatalogueFile<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    let read = |(id, text): (String, String)| {
        let file: CatalogueFile<'_> = serde_json::from_str(&text).expect("JSON");
        let tools = file.tools.iter().map(|tool| tool.get().to_owned());
        let tools = tools.collect();
        Catalogue { id, tools }
    };
    fixtures("catalogues").into_iter().map(read).collect()
}

/// Returns the item with its name replaced. Uses serde to find the name, so that the test does not
/// depend on the gateway's own parser.
fn renamed(item: &str, name: &str) -> String {
    #[derive(Deserialize)]
    struct NamedItem<'a> {
        #[serde(borrow)]
        name: &'a RawValue,
    }
    let named: NamedItem<'_> = serde_json::from_str(item).expect("an item with a name");
    let place = named.name.get();
    let at = place.as_ptr() as usize - item.as_ptr() as usize;
    let rest = &item[at + place.len()..];
    format!("{}{}{rest}", &item[..at], Value::from(name))
}

/// Returns the published names of a joined list, and checks that every model provider accepts them.
fn published(result: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(result).expect("JSON");
    let items = list["tools"].as_array().expect("tools");
    let names: Vec<String> = items
        .iter()
        .map(|item| item["name"].as_str().expect("a name").to_owned())
        .collect();
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for name in &names {
        assert!(name.len() <= 50 && name.chars().all(safe), "{name}");
    }
    let different: HashSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    names
}

fn list_of(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!(r#"{{"tools":[{}]}}"#, items.join(","))
}

/// Returns true if a tool runs only as a task.
fn needs_task(item: &str) -> bool {
    let item: Value = serde_json::from_str(item).expect("JSON");
    item["execution"]["taskSupport"] == "required"
}

/// Returns the expected joined list, under the names received, without tools that run only as
/// tasks.
fn joined(catalogues: &[Catalogue], names: &[String]) -> String {
    let items = catalogues.iter().flat_map(|catalogue| &catalogue.tools);
    let items = items.filter(|item| !needs_task(item));
    assert_eq!(items.clone().count(), names.len());
    list_of(items.zip(names).map(|(item, name)| renamed(item, name)))
}

fn script(catalogue: &Catalogue) -> Script {
    let tools = catalogue.tools.iter();
    tools.fold(Script::new(&catalogue.id), |script, tool| script.tool(tool))
}

#[tokio::test]
async fn lists_are_byte_identical_over_http() {
    let catalogues = catalogues();
    let mut servers = Vec::new();
    for catalogue in &catalogues {
        let installed = script(catalogue).install();
        let served = installed.serve_http().await;
        servers.push((catalogue.id.as_str(), installed, served));
    }
    let configs = servers.iter().map(|(id, _, served)| (*id, served.config()));
    let config = config(configs);
    let gateway = Gateway::serve(&config).await;
    for catalogue in &catalogues {
        let mut session = gateway
            .session(&format!("/servers/{}/mcp", catalogue.id))
            .await;
        let answer = list(&mut session).await;
        let sent = list_of(catalogue.tools.clone());
        same(&catalogue.id, &answer, &sent);
    }
    let mut session = gateway.session("/mcp").await;
    let answer = list(&mut session).await;
    let sent = joined(&catalogues, &published(&answer));
    same("joined", &answer, &sent);

    let mut piped = StdioGateway::open(&config).await;
    let answer = over_stdio(&mut piped, LIST).await;
    same("on one line", result_of(&answer, "1"), &on_one_line(&sent));
}

async fn list(session: &mut Session) -> String {
    let answer = over_http(session, LIST).await;
    result_of(&answer, "1").to_owned()
}

#[tokio::test]
async fn lists_are_byte_identical_over_stdio() {
    let mut catalogues = catalogues();
    for tool in catalogues
        .iter_mut()
        .flat_map(|catalogue| &mut catalogue.tools)
    {
        *tool = on_one_line(tool);
    }
    for catalogue in &mut catalogues {
        catalogue.tools.retain(|tool| !needs_task(tool));
    }
    let servers: Vec<Installed> = catalogues
        .iter()
        .map(|catalogue| script(catalogue).install())
        .collect();
    let ids = catalogues.iter().map(|catalogue| catalogue.id.as_str());
    let config = config(ids.zip(servers.iter().map(Installed::config)));
    let mut piped = StdioGateway::open(&config).await;
    let answer = over_stdio(&mut piped, LIST).await;
    let answer = result_of(&answer, "1");
    same("joined", answer, &joined(&catalogues, &published(answer)));
    // Every published name leads to the right server and tool.
    for (catalogue, name) in catalogues.iter().zip(first_names(&catalogues, answer)) {
        let answer = piped.call_tool(&name, json!({})).await;
        let tool: Value = serde_json::from_str(&catalogue.tools[0]).expect("JSON");
        let said = format!("{} called {} with {{}}", catalogue.id, tool["name"]);
        assert_eq!(text(&answer), said);
    }
}

/// Returns the published name of each catalogue's first tool.
fn first_names(catalogues: &[Catalogue], answer: &str) -> Vec<String> {
    let mut names = published(answer).into_iter();
    let first = |catalogue: &Catalogue| {
        let mut own = names.by_ref().take(catalogue.tools.len());
        let first = own.next().expect("a tool");
        own.for_each(drop);
        first
    };
    catalogues.iter().map(first).collect()
}
