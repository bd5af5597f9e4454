//! Tests of the pages outside MCP.

use narrows_gateway::settings::{ClientSettings, EntrypointName};

use super::{ALICE, BOB, guarded, guarded_by, named, only};
use crate::TestGateway;
use crate::client::Reply;

async fn get(gate: &TestGateway, path: &str, token: Option<&str>) -> Reply {
    let mut client = gate.new_client().at(path);
    client.token = token.map(Into::into);
    client.send("GET", &[], "").await.reply().await
}

#[tokio::test]
async fn health_needs_no_token() {
    let gate = guarded().await;
    for path in ["/health", "/ready"] {
        for token in [None, Some("wrong"), Some(ALICE)] {
            assert_eq!(get(&gate, path, token).await.status, 200, "{path}");
        }
    }
}

#[tokio::test]
async fn index_page_names_the_servers_the_client_may_use() {
    let bob = ClientSettings {
        entrypoints: only([EntrypointName::Endpoint("default".into())]),
        ..named("bob", BOB)
    };
    let gate = guarded_by(&[named("alice", ALICE), bob]).await;
    for (token, named) in [(None, false), (Some(ALICE), true), (Some(BOB), false)] {
        let page = get(&gate, "/", token).await;
        assert_eq!(page.status, 200);
        let text = page.text();
        assert_eq!(text.contains("/servers/up/mcp"), named, "{text}");
        assert!(text.contains("/mcp/{endpoint}"), "{text}");
    }
    // The page does not reveal anything to a client with a wrong token.
    let wrong = get(&gate, "/", Some("nrw_wrong")).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("www-authenticate").is_some());
    gate.gateway.replace_clients(&[]);
    let page = get(&gate, "/", None).await;
    assert!(page.text().contains("/servers/up/mcp"), "{}", page.text());
}
