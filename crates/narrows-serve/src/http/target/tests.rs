use super::*;

#[track_caller]
fn check(path: &str, expected: &str) {
    let shown = match Target::parse(path) {
        Some(Target::Endpoint(name)) => format!("endpoint {name}"),
        Some(Target::Server(id)) => format!("server {id}"),
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

#[test]
fn one_server_by_its_id() {
    check("/servers/git/mcp", "server git");
    check("/servers/git/mcp/", "server git");
    check("/servers/io.github.x%2Fy/mcp", "server io.github.x/y");
    check("/servers/%C3%A9/mcp", "server é");
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
        "/health",
    ] {
        check(path, "nothing");
    }
}
