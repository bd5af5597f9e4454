use super::*;

fn guard() -> Guard {
    Guard::new(
        &["Gateway.example".into(), "box:8443".into()],
        &["https://app.example".into(), "vscode-webview://abc".into()],
    )
}

#[track_caller]
fn check(authority: Option<&str>, host: Option<&str>, origin: Option<&str>, expected: &str) {
    let host = host.map(|text| HeaderValue::from_bytes(text.as_bytes()).unwrap());
    let origin = origin.map(|text| HeaderValue::from_bytes(text.as_bytes()).unwrap());
    let head = Head {
        host: host.as_ref(),
        origin: origin.as_ref(),
        ..Head::default()
    };
    let shown = match guard().check(authority, &head) {
        Ok(()) => "allowed",
        Err(Refused::Host) => "bad host",
        Err(Refused::Origin) => "bad origin",
        Err(_) => "something else",
    };
    assert_eq!(shown, expected, "{authority:?} {host:?} {origin:?}");
}

#[track_caller]
fn host(host: &str, expected: &str) {
    check(None, Some(host), None, expected);
}

#[track_caller]
fn origin(origin: &str, expected: &str) {
    check(None, Some("localhost"), Some(origin), expected);
}

#[test]
fn loopback_hosts_are_allowed_at_any_port() {
    for name in [
        "localhost",
        "LocalHost:1",
        "127.0.0.1",
        "127.0.0.1:7420",
        "[::1]",
        "[::1]:65535",
    ] {
        host(name, "allowed");
    }
}

#[test]
fn configured_hosts_are_allowed() {
    host("gateway.example", "allowed");
    host("GATEWAY.example:9999", "allowed");
    host("box:8443", "allowed");
    host("box:8444", "bad host");
    host("box", "bad host");
}

#[test]
fn other_hosts_are_rejected() {
    for name in [
        "evil.example",
        "evil.example:7420",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost:80@evil.example",
        "evil@localhost",
        "localhost:",
        "",
        ":80",
        "[::1",
        "::1",
        "[::1]evil",
        "[::1]:80x",
        "127.0.0.2",
        "0.0.0.0",
        "localhost.",
        " localhost",
        "läuft",
    ] {
        let expected = if name == "localhost:" {
            "allowed"
        } else {
            "bad host"
        };
        host(name, expected);
    }
    check(None, None, None, "bad host");
}

#[test]
fn host_in_the_request_line_is_checked() {
    check(Some("localhost:7420"), None, None, "allowed");
    check(
        Some("localhost:7420"),
        Some("localhost:7420"),
        None,
        "allowed",
    );
    check(Some("evil.example"), Some("localhost"), None, "bad host");
    check(Some("localhost"), Some("evil.example"), None, "bad host");
}

#[test]
fn own_origins_are_allowed() {
    for page in [
        "http://localhost",
        "http://localhost:5173",
        "https://127.0.0.1:1",
        "http://[::1]:8080",
        "http://gateway.example",
        "https://app.example",
        "vscode-webview://abc",
    ] {
        origin(page, "allowed");
    }
}

#[test]
fn other_origins_are_rejected() {
    for page in [
        "null",
        "",
        "http://evil.example",
        "http://localhost.evil.example",
        "localhost",
        "https://app.example.evil",
        "https://app.example:444",
        "http://app.example",
        "file://localhost",
        "http://localhost/path",
        "http://evil@localhost",
        "vscode-webview://x",
    ] {
        origin(page, "bad origin");
    }
}
