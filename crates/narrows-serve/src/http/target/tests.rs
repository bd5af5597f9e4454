use super::*;

#[track_caller]
fn check(path: &str, expected: &str) {
    let door = |target| match target {
        Target::Endpoint(name) => format!("endpoint {name}"),
        Target::Server(id) => format!("server {id}"),
    };
    let shown = match Way::parse(path) {
        Some(Way::Mcp(target)) => door(target),
        Some(Way::Sse(target)) => format!("sse {}", door(target)),
        Some(Way::WebSocket(target)) => format!("ws {}", door(target)),
        Some(Way::Messages) => "messages".to_string(),
        Some(Way::Rpc) => "rpc".to_string(),
        Some(Way::Forward(id)) => format!("forward {id}"),
        None => "nothing".to_string(),
    };
    assert_eq!(shown, expected, "{path}");
}

#[test]
fn endpoints_by_name() {
    check("/mcp", "endpoint default");
    check("/mcp/", "endpoint default");
    check("/mcp/lazy", "endpoint lazy");
    check("/mcp/lazy/", "endpoint lazy");
    check("/mcp/a%20b", "endpoint a b");
}

/// Some clients take only URLs that end in the name of the transport.
#[test]
fn endpoints_before_the_transport() {
    check("/lazy/mcp", "endpoint lazy");
    check("/lazy/mcp/", "endpoint lazy");
    check("/default/mcp", "endpoint default");
    check("/a%20b/mcp", "endpoint a b");
    check("/lazy/sse", "sse endpoint lazy");
    check("/lazy/ws", "ws endpoint lazy");
    // Names that stand first in fixed paths are those paths.
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
fn the_pruner_has_one_path() {
    check("/rpc", "rpc");
    check("/rpc/", "rpc");
    check("/rpc/x", "nothing");
    check("/servers/git/rpc", "nothing");
}

#[test]
fn plain_json_rpc_goes_to_any_server() {
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
fn one_server_by_its_id() {
    check("/servers/git/mcp", "server git");
    check("/servers/git/mcp/", "server git");
    check("/servers/io.github.x%2Fy/mcp", "server io.github.x/y");
    check("/servers/%C3%A9/mcp", "server é");
}

#[test]
fn the_other_transports_have_the_same_doors() {
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
fn everything_else_is_no_door() {
    for path in [
        "",
        "/",
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
        "/health",
    ] {
        check(path, "nothing");
    }
}
