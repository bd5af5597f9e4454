use narrows_policy::KnownClient;
use narrows_policy::preset::{Preset, Rule};

use super::*;
use crate::settings::{ClientSettings, TokenDigest};

fn named(name: &str, token: u8, preset: Option<&str>) -> ClientSettings {
    ClientSettings {
        token: Some(TokenDigest([token; 32])),
        preset: preset.map(str::to_owned),
        ..ClientSettings::named(name)
    }
}

fn principal(name: &str) -> Principal {
    // The stamp of the first table.
    Principal::Client(KnownClient {
        name: name.into(),
        stamp: 1,
    })
}

fn with(upstream: ServerSettings, clients: Vec<ClientSettings>) -> Settings {
    let rules = |texts: &[&str]| {
        let rule = |text: &&str| Rule::parse(text).expect("a rule");
        Some(texts.iter().map(rule).collect())
    };
    let mut settings = settings(vec![upstream]);
    settings.presets = vec![
        Preset::new("ones", rules(&["*/one", "*/two"]), None, None),
        Preset::new("twos", rules(&["*/two", "*/three"]), None, None),
    ];
    settings.endpoints[0].preset = Some("ones".to_owned());
    settings.clients = clients;
    settings
}

#[tokio::test]
async fn client_preset_applies_in_addition_to_endpoint_preset() {
    let one = script("one").plain_tool("three").install();
    let clients = vec![named("free", 1, None), named("bound", 2, Some("twos"))];
    let gateway = started(with(server("a", &one), clients)).await;
    let entrypoint = Entrypoint::Endpoint("default");
    let free = TestClient::open_as(&gateway, entrypoint, principal("free")).await;
    let bound = TestClient::open_as(&gateway, entrypoint, principal("bound")).await;
    assert_eq!(free.tools().await, ["a__one", "a__two"]);
    assert_eq!(bound.tools().await, ["a__two"]);
    let refused = bound.call("a__one").await.expect_err("it is not allowed");
    assert!(
        matches!(refused, Error::NotAllowed { denial, .. } if denial.source.named() == ("preset", "twos"))
    );
    let refused = bound.call("a__three").await.expect_err("it is not allowed");
    assert!(
        matches!(refused, Error::NotAllowed { denial, .. } if denial.source.named() == ("preset", "ones"))
    );
    // A preset chosen for the session does not replace the client's own.
    let number = bound.session.serial();
    gateway
        .switch_session(number, Some("twos"))
        .expect("it is there");
    assert_eq!(bound.tools().await, ["a__two", "a__three"]);
    gateway
        .switch_session(number, Some("ones"))
        .expect("it is there");
    assert_eq!(bound.tools().await, ["a__two"]);
    gateway.shutdown().await;
}

#[tokio::test]
async fn sessions_close_when_their_client_loses_its_rights() {
    let one = script("one").install();
    let a = server("a", &one);
    let clients = vec![
        named("stays", 1, None),
        named("rotated", 2, None),
        named("gone", 3, None),
    ];
    let gateway = started(with(a.clone(), clients)).await;
    let entrypoint = Entrypoint::Endpoint("default");
    let stays = TestClient::open_as(&gateway, entrypoint, principal("stays")).await;
    let rotated = TestClient::open_as(&gateway, entrypoint, principal("rotated")).await;
    let gone = TestClient::open_as(&gateway, entrypoint, principal("gone")).await;
    let local = TestClient::open_as(&gateway, entrypoint, Principal::Local).await;
    let clients = vec![named("stays", 1, Some("twos")), named("rotated", 9, None)];
    let applied = gateway.apply(with(a, clients));
    assert_eq!(applied.clients, ["stays", "rotated", "gone"]);
    assert!(rotated.session.is_closed() && gone.session.is_closed());
    assert!(!stays.session.is_closed() && !local.session.is_closed());
    assert_eq!(stays.tools().await, ["a__two"]);
    gateway.shutdown().await;
}

#[tokio::test]
async fn anonymous_sessions_close_when_tokens_become_required() {
    let one = script("one").install();
    let a = server("a", &one);
    let gateway = started(with(a.clone(), Vec::new())).await;
    let client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    gateway.apply(with(a, vec![named("some", 1, None)]));
    assert!(client.session.is_closed());
    gateway.shutdown().await;
}
