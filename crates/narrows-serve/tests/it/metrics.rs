//! Tests of metrics and gateway events.

use std::collections::{BTreeMap, BTreeSet};

use narrows_gateway::event_bus::GatewayEvent;
use narrows_gateway::settings::Limits;
use narrows_serve::{HttpSettings, MetricsAccess, TokenCheck};
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::upstream::Upstream;
use crate::{TestGateway, gateway, within};

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/narrows.json");
const README: &str = include_str!("../../../../deploy/README.md");

/// Metric families without a panel on the dashboard.
const NOT_SHOWN: [&str; 1] = ["process_virtual_memory_bytes"];

/// A parsed scrape: the type of each family, and the value of each series by its name and labels as
/// written.
struct Scrape {
    types: BTreeMap<String, String>,
    series: BTreeMap<String, f64>,
}

impl Scrape {
    async fn of(gate: &TestGateway) -> Scrape {
        let reply = scrape(gate, "text/plain", &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let mut scrape = Scrape {
            types: BTreeMap::new(),
            series: BTreeMap::new(),
        };
        for line in reply.text().lines() {
            if let Some(documented) = line.strip_prefix("# TYPE ") {
                let (name, kind) = documented.split_once(' ').unwrap();
                let before = scrape.types.insert(name.to_owned(), kind.to_owned());
                assert_eq!(before, None, "told twice: {name}");
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let before = scrape.series.insert(series.into(), value.parse().unwrap());
                assert_eq!(before, None, "there twice: {series}");
            }
        }
        scrape
    }

    #[track_caller]
    fn value(&self, series: &str) -> f64 {
        match self.series.get(series) {
            Some(value) => *value,
            None => panic!("no {series} in {:#?}", self.series),
        }
    }
}

async fn scrape(gate: &TestGateway, accept: &str, headers: &[(&str, &str)]) -> Reply {
    let client = gate.new_client().at("/metrics").accepting(accept);
    client.send("GET", headers, "").await.reply().await
}

async fn called(client: &Client, name: &str) -> Value {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":"{name}","method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
    );
    client.post(&body).await.json()
}

#[tokio::test]
async fn call_is_counted_per_endpoint_and_server() {
    let gate = TestGateway::start().await;
    within("the upstream", gate.gateway.settled()).await;
    let client = gate.client().await;
    assert!(called(&client, "up__echo").await["result"].is_object());
    assert!(called(&client, "missing").await["error"].is_object());
    client
        .post(r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#)
        .await;

    let scrape = Scrape::of(&gate).await;
    let requests = |method: &str, outcome: &str| {
        scrape.value(&format!(
            r#"narrows_requests_total{{endpoint="default",method="{method}",outcome="{outcome}"}}"#
        ))
    };
    assert_eq!(requests("tools/call", "ok"), 1.0);
    assert_eq!(requests("tools/call", "client"), 1.0);
    assert_eq!(requests("tools/call", "gateway"), 0.0);
    assert_eq!(requests("tools/list", "ok"), 1.0);
    let of_up = |name: &str| scrape.value(&name.replace('@', r#"server="up""#));
    let calls = r#"narrows_upstream_calls_total{@,method="tools/call",outcome="ok"}"#;
    assert_eq!(of_up(calls), 1.0);
    let latency = r#"narrows_upstream_call_seconds_count{@,method="tools/call"}"#;
    assert_eq!(of_up(latency), 1.0);
    assert_eq!(of_up(r#"narrows_upstream_state{@,state="up"}"#), 1.0);
    assert_eq!(of_up(r#"narrows_upstream_state{@,state="down"}"#), 0.0);
    assert_eq!(of_up("narrows_upstream_links{@}"), 1.0);
    assert_eq!(of_up("narrows_upstream_restarts_total{@}"), 0.0);
    assert_eq!(scrape.value(r#"narrows_sessions{endpoint="default"}"#), 1.0);
    assert_eq!(scrape.value("narrows_gateway_seconds_count"), 3.0);
    assert_eq!(scrape.value("narrows_requests_in_flight"), 0.0);

    client.delete().await;
    let scrape = Scrape::of(&gate).await;
    assert_eq!(scrape.value(r#"narrows_sessions{endpoint="default"}"#), 0.0);
    let opened = r#"narrows_sessions_opened_total{endpoint="default"}"#;
    assert_eq!(scrape.value(opened), 1.0);
}

#[tokio::test]
async fn plain_json_rpc_is_counted_and_recorded() {
    let gate = TestGateway::start().await;
    within("the upstream", gate.gateway.settled()).await;
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
    for server in ["up", "missing"] {
        let path = format!("/api/mcp-gateway/{server}/rpc");
        gate.new_client().at(&path).post(body).await;
    }
    let scrape = Scrape::of(&gate).await;
    let requests = |outcome: &str| {
        scrape.value(&format!(
            r#"narrows_requests_total{{endpoint="api/mcp-gateway",method="tools/call",outcome="{outcome}"}}"#
        ))
    };
    assert_eq!(requests("ok"), 1.0);
    assert_eq!(requests("client"), 1.0);
    let calls = r#"narrows_upstream_calls_total{server="up",method="tools/call",outcome="ok"}"#;
    assert_eq!(scrape.value(calls), 1.0);
    let [unknown, known] = &gate.gateway.calls()[..] else {
        panic!("two calls are remembered");
    };
    assert_eq!((known.session, known.server.as_deref()), (0, Some("up")));
    assert_eq!(known.name.as_deref(), Some("echo"));
    assert_eq!((known.bytes_in, &known.error), (body.len(), &None));
    assert_eq!(unknown.error.as_ref().unwrap().code, "unknown_server");
}

#[tokio::test]
async fn calls_are_recorded_with_their_outcome() {
    let gate = TestGateway::start().await;
    within("the upstream", gate.gateway.settled()).await;
    let mut received = gate.gateway.listen();
    let mut calls = gate.gateway.listen_to_calls();
    let client = gate.client().await;
    called(&client, "up__echo").await;
    called(&client, &"x".repeat(500)).await;
    client
        .post(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;

    let [refused, served] = &gate.gateway.calls()[..] else {
        panic!("two calls are remembered");
    };
    assert_eq!(&*served.endpoint, "default");
    assert_eq!(&*served.method, "tools/call");
    assert_eq!(served.name.as_deref(), Some("up__echo"));
    assert_eq!(served.server.as_deref(), Some("up"));
    assert!(served.bytes_in > 0 && served.bytes_out > 0 && served.session > 0);
    assert_eq!(served.error, None);
    assert_eq!(refused.name.as_deref(), Some(&*"x".repeat(200)));
    assert_eq!(refused.server, None);
    let error = refused.error.as_ref().unwrap();
    assert_eq!((error.code, error.fault), ("unknown_tool", "client"));
    let written = serde_json::to_value(&**served).unwrap();
    let at = written["at"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z'), "{at}");

    client.delete().await;
    let mut events = Vec::new();
    while let Ok(event) = received.try_recv() {
        let is_closed = matches!(*event, GatewayEvent::SessionClosed { .. });
        events.push(serde_json::to_value(&*event).unwrap()["event"].take());
        if is_closed {
            break;
        }
    }
    assert_eq!(events, ["session_opened", "session_closed"]);
    for _ in 0..2 {
        assert_eq!(calls.try_recv().expect("a call").name(), "call");
    }
    assert!(calls.try_recv().is_err(), "a ping is none");
}

#[tokio::test]
async fn server_and_list_changes_are_reported() {
    let upstream = Upstream::start().await;
    let gateway = gateway(&upstream, Limits::default());
    // No other task has run since the gateway started.
    let mut received = gateway.listen();
    within("the upstream", gateway.settled()).await;
    let mut events = Vec::new();
    while let Ok(event) = received.try_recv() {
        events.push(serde_json::to_value(&*event).unwrap());
    }
    let up = json!({ "event": "server_state", "server": "up", "state": "up", "reason": null });
    assert_eq!(events.first(), Some(&up), "{events:#?}");
    for endpoint in ["default", "servers/up"] {
        let changed = json!({ "event": "lists_changed", "endpoint": endpoint });
        assert!(events.contains(&changed), "{endpoint}: {events:#?}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn client_input_creates_no_metric_series() {
    let limits = Limits {
        max_sessions: 100_000,
        ..Limits::default()
    };
    let gate = TestGateway::with(HttpSettings::default(), limits).await;
    within("the upstream", gate.gateway.settled()).await;
    let joined = gate.client().await;
    let mut single = gate.new_client().at("/servers/up/mcp");
    single.initialize("2025-06-18", "{}").await;
    let round = async |n: usize| {
        called(&joined, &format!("up__tool{n}")).await;
        called(&single, &format!("tool{n}")).await;
        for client in [&joined, &single] {
            let method = format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"made/up{n}"}}"#);
            client.post(&method).await;
        }
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"made/up{n}"}}"#);
        for path in [
            "/mcp/made-up",
            "/servers/made-up",
            "/made-up",
            "/rpc/made-up",
        ] {
            gate.new_client()
                .at(&format!("{path}{n}"))
                .post(&body)
                .await;
        }
        for server in ["up", "made-up"] {
            let path = format!("/api/mcp-gateway/{server}{n}/rpc");
            gate.new_client().at(&path).post(&body).await;
        }
        let path = "/api/mcp-gateway/up/rpc";
        gate.new_client().at(path).post(&body).await;
    };
    round(0).await;
    let before = Scrape::of(&gate).await;
    for n in 1..100 {
        round(n).await;
    }
    let after = Scrape::of(&gate).await;
    let names = |scrape: &Scrape| scrape.series.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    let other = r#"narrows_requests_total{endpoint="default",method="other",outcome="client"}"#;
    assert_eq!(after.value(other), 100.0);
    assert!(after.series.keys().all(|series| !series.contains("made")));
}

#[tokio::test]
async fn both_formats_are_served() {
    let gate = TestGateway::start().await;
    let classic = scrape(&gate, "*/*", &[]).await;
    let kind = classic.header("content-type").unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    assert!(
        classic
            .text()
            .contains("# TYPE narrows_reloads_total counter\n")
    );
    let open = scrape(&gate, "application/openmetrics-text;version=1.0.0", &[]).await;
    let kind = open.header("content-type").unwrap();
    let expected = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(kind, expected);
    assert!(open.text().contains("# TYPE narrows_reloads counter\n"));
    assert!(open.text().ends_with("\n# EOF\n"));
}

#[tokio::test]
async fn metrics_access_is_restricted() {
    let with = async |metrics| {
        let settings = HttpSettings {
            metrics,
            ..HttpSettings::default()
        };
        TestGateway::with(settings, Limits::default()).await
    };
    let off = with(MetricsAccess::Off).await;
    assert_eq!(scrape(&off, "*/*", &[]).await.status, 404);
    let check = TokenCheck::new(|token| token == "nra_right");
    let closed = with(MetricsAccess::Token(check)).await;
    let refused = scrape(&closed, "*/*", &[]).await;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("Bearer"), "{challenge}");
    let right = [("authorization", "Bearer nra_right")];
    assert_eq!(scrape(&closed, "*/*", &right).await.status, 200);
}

#[tokio::test]
async fn dashboard_and_docs_list_every_metric() {
    let gate = TestGateway::start().await;
    let scrape = Scrape::of(&gate).await;
    let exposed: BTreeSet<&str> = scrape.types.keys().map(String::as_str).collect();
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let family = |name: &'static str| {
        let bare = ["_bucket", "_sum", "_count"];
        let bare = bare.iter().find_map(|end| name.strip_suffix(end));
        bare.filter(|bare| {
            scrape
                .types
                .get(*bare)
                .is_some_and(|kind| kind == "histogram")
        })
        .unwrap_or(name)
    };
    let used: BTreeSet<&str> = metric_names(DASHBOARD).map(family).collect();
    let unknown: Vec<_> = used.difference(&exposed).collect();
    assert!(unknown.is_empty(), "not exposed: {unknown:?}");
    let mut hidden: Vec<_> = exposed.difference(&used).copied().collect();
    hidden.retain(|name| !NOT_SHOWN.contains(name));
    assert!(hidden.is_empty(), "no panel shows {hidden:?}");
    for name in NOT_SHOWN {
        assert!(exposed.contains(name) && !used.contains(name), "{name}");
    }

    let documented: BTreeSet<&str> = metric_names(README).collect();
    for name in exposed.iter().filter(|name| name.starts_with("narrows_")) {
        assert!(documented.contains(name), "the table does not tell {name}");
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
}

/// Returns all words in a text that look like metrics of Narrows.
fn metric_names(text: &'static str) -> impl Iterator<Item = &'static str> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words.filter(|word| {
        ["narrows_", "process_"].iter().any(|prefix| {
            word.strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty())
        })
    })
}
