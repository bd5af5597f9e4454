use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;

#[track_caller]
fn check(path: &str, expected: &str) {
    let entrypoint = |target| match target {
        Target::Endpoint(name) => format!("endpoint {name}"),
        Target::Server(id) => format!("server {id}"),
    };
    let route = Route::find(path);
    let shown = match route.service {
        Service::StreamableHttp => entrypoint(route.target),
        Service::Sse => format!("sse {}", entrypoint(route.target)),
        Service::WebSocket => format!("ws {}", entrypoint(route.target)),
        Service::Messages => "messages".to_string(),
        Service::Pruner => "rpc".to_string(),
        Service::Forward => format!("forward {}", route.target.name()),
        Service::Unknown => "nothing".to_string(),
        page => format!("{page:?}"),
    };
    assert_eq!(shown, expected, "{path}");
}

#[test]
fn endpoints_are_routed_by_name() {
    check("/mcp", "endpoint default");
    check("/mcp/", "endpoint default");
    check("/mcp/lazy", "endpoint lazy");
    check("/mcp/lazy/", "endpoint lazy");
    check("/mcp/a%20b", "endpoint a b");
}

/// Some clients accept only URLs that end in the name of the transport.
#[test]
fn endpoint_names_before_the_transport_are_routed() {
    check("/lazy/mcp", "endpoint lazy");
    check("/lazy/mcp/", "endpoint lazy");
    check("/default/mcp", "endpoint default");
    check("/a%20b/mcp", "endpoint a b");
    check("/lazy/sse", "sse endpoint lazy");
    check("/lazy/ws", "ws endpoint lazy");
    // A name that begins a fixed path always means that path.
    check("/mcp/mcp", "endpoint mcp");
    check("/mcp/sse", "endpoint sse");
    check("/sse/mcp", "sse endpoint mcp");
    check("/ws/mcp", "ws endpoint mcp");
    for path in [
        "/servers/mcp",
        "/api/mcp",
        "/health/mcp",
        "/ready/mcp",
        "/metrics/mcp",
        "/messages/mcp",
        "/rpc/mcp",
        "//mcp",
        "/a/b/mcp",
        "/%zz/mcp",
        "/lazy/rpc",
        "/lazy/other",
    ] {
        check(path, "nothing");
    }
}

#[test]
fn pruner_has_one_path() {
    check("/rpc", "rpc");
    check("/rpc/", "rpc");
    check("/rpc/x", "nothing");
    check("/servers/git/rpc", "nothing");
}

#[test]
fn plain_json_rpc_routes_to_any_server() {
    check("/api/mcp-gateway/git/rpc", "forward git");
    check("/api/mcp-gateway/git/rpc/", "forward git");
    check("/api/mcp-gateway/a%2Fb%20%C3%A9/rpc", "forward a/b é");
    check("/api/mcp-gateway/rpc/rpc", "forward rpc");
    for path in [
        "/api",
        "/api/mcp-gateway",
        "/api/mcp-gateway/",
        "/api/mcp-gateway/rpc",
        "/api/mcp-gateway//rpc",
        "/api/mcp-gateway/git",
        "/api/mcp-gateway/git/rpc/x",
        "/api/mcp-gateway/git/mcp",
        "/api/mcp-gateway/a/b/rpc",
        "/api/mcp-gateway/%zz/rpc",
        "/api/mcp-gateway/%ff/rpc",
    ] {
        check(path, "nothing");
    }
}

#[test]
fn single_servers_are_routed_by_id() {
    check("/servers/git/mcp", "server git");
    check("/servers/git/mcp/", "server git");
    check("/servers/io.github.x%2Fy/mcp", "server io.github.x/y");
    check("/servers/%C3%A9/mcp", "server é");
}

#[test]
fn sse_and_websocket_have_the_same_entrypoints() {
    check("/sse", "sse endpoint default");
    check("/sse/lazy/", "sse endpoint lazy");
    check("/servers/a%2Fb/sse", "sse server a/b");
    check("/ws/", "ws endpoint default");
    check("/ws/a%20b", "ws endpoint a b");
    check("/servers/git/ws", "ws server git");
    check("/messages", "messages");
    check("/messages/", "messages");
}

#[test]
fn other_paths_are_not_routed() {
    for path in [
        "",
        "*",
        "/mcpx",
        "/mcp//",
        "/mcp/a/b",
        "/MCP",
        "/servers",
        "/servers/",
        "/servers//mcp",
        "/servers/a/b/mcp",
        "/servers/mcp",
        "/servers/a",
        "/mcp/%",
        "/mcp/%4",
        "/mcp/%zz",
        "/mcp/%ff",
        "/ssex",
        "/sse/a/b",
        "/ws//",
        "/messages/x",
        "/servers/git/messages",
        "/health/",
        "/ready/",
        "/metrics/",
        "/healthy",
        "/api/v1x",
    ] {
        check(path, "nothing");
    }
}

#[test]
fn each_page_has_one_path() {
    check("/", "Index");
    check("/health", "Health");
    check("/ready", "Ready");
    check("/metrics", "Metrics");
    check("/api/v1", "Admin");
    check("/api/v1/", "Admin");
    check("/api/v1/servers/a%2Fb", "Admin");
}

#[test]
fn endpoints_named_like_a_fixed_path_are_routed() {
    for name in [
        "mcp", "sse", "ws", "servers", "api", "messages", "rpc", "health", "ready", "metrics",
    ] {
        assert!(is_fixed_path(name), "{name}");
    }
    for name in ["", "lazy", "v1", "{endpoint}", "mcp-gateway"] {
        assert!(!is_fixed_path(name), "{name}");
    }
}

/// All routes of the HTTP edge. Those of the admin API come from its description, from which they
/// are mounted.
#[test]
fn every_path_lists_its_methods_and_service() {
    let mut table = String::new();
    for RouteRow(path, methods, service) in ROUTES {
        table += &format!("{path:31} {methods:43} {service:?}\n");
    }
    let api = include_str!("../../../../../docs/openapi.json");
    let api: Value = serde_json::from_str(api).expect("JSON");
    for (path, item) in api["paths"].as_object().expect("paths") {
        let operations = item.as_object().expect("operations").keys();
        let methods: Vec<_> = operations.map(|method| method.to_uppercase()).collect();
        table += &format!("{path:43} {}\n", methods.join(", "));
    }
    let expected: Expect = expect![[r#"
        /mcp                            GET, POST, DELETE, OPTIONS                  StreamableHttp
        /mcp/{endpoint}                 GET, POST, DELETE, OPTIONS                  StreamableHttp
        /servers/{server}/mcp           GET, POST, DELETE, OPTIONS                  StreamableHttp
        /sse                            GET, OPTIONS                                Sse
        /sse/{endpoint}                 GET, OPTIONS                                Sse
        /servers/{server}/sse           GET, OPTIONS                                Sse
        /messages                       POST, OPTIONS                               Messages
        /ws                             GET                                         WebSocket
        /ws/{endpoint}                  GET                                         WebSocket
        /servers/{server}/ws            GET                                         WebSocket
        /rpc                            POST, OPTIONS                               Pruner
        /api/mcp-gateway/{server}/rpc   POST, OPTIONS                               Forward
        /api/v1                         GET, HEAD, POST, PUT, DELETE, OPTIONS       Admin
        /                               GET, HEAD, OPTIONS                          Index
        /health                         GET, HEAD, OPTIONS                          Health
        /ready                          GET, HEAD, OPTIONS                          Ready
        /metrics                        GET, HEAD, OPTIONS                          Metrics
        /{endpoint}/mcp                 GET, POST, DELETE, OPTIONS                  StreamableHttp
        /{endpoint}/sse                 GET, OPTIONS                                Sse
        /{endpoint}/ws                  GET                                         WebSocket
        /api/v1/calls                               GET
        /api/v1/catalogue                           GET
        /api/v1/clients                             GET
        /api/v1/endpoints                           GET
        /api/v1/endpoints/{name}/preset             PUT
        /api/v1/events                              GET
        /api/v1/openapi.json                        GET
        /api/v1/presets                             GET
        /api/v1/presets/{id}                        PUT, DELETE
        /api/v1/savings                             GET
        /api/v1/servers                             GET, POST
        /api/v1/servers/{id}                        GET, PUT, DELETE
        /api/v1/servers/{id}/disable                POST
        /api/v1/servers/{id}/enable                 POST
        /api/v1/servers/{id}/restart                POST
        /api/v1/sessions                            GET
        /api/v1/sessions/{number}                   DELETE
        /api/v1/sessions/{number}/preset            PUT
        /api/v1/status                              GET
    "#]];
    expected.assert_eq(&table);
}
