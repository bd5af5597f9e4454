//! Tests of settings other than those of servers.

use std::time::Duration;

use expect_test::expect;
use narrows_gateway::settings::{Era, HealthSettings, Sharing};

use super::{Environment, check, environment, outcome, parse};
use crate::config::check::CheckedConfig;
use crate::config::expand::Scope;

#[track_caller]
pub(super) fn checked(text: &str) -> CheckedConfig {
    let environment = environment();
    let folder = std::path::Path::new("/etc/n");
    let scope = Scope {
        environment: &environment,
        folder,
    };
    parse(std::path::Path::new("narrows.json"), text, scope)
        .0
        .expect("it can be read")
}

#[test]
fn defaults_match_the_gateway() {
    let checked = checked(r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let server = &checked.gateway.upstreams[0];
    assert_eq!(server.upstream.request_timeout, Duration::from_secs(300));
    assert_eq!(server.upstream.startup_timeout, Duration::from_secs(30));
    assert_eq!(server.upstream.connect_timeout, Duration::from_secs(5));
    assert_eq!(server.upstream.era, Era::Auto);
    assert_eq!(server.upstream.sharing, Sharing::Auto);
    assert_eq!(server.upstream.max_links, 8);
    assert_eq!(checked.gateway.initialize_wait, Duration::from_secs(1));
    assert_eq!(checked.gateway.list_wait, Duration::from_secs(4));
    assert_eq!(checked.listen.to_string(), "127.0.0.1:7420");
    let names = checked.gateway.endpoints.iter().map(|it| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["default", "lazy"]);
}

#[test]
fn health_checks_are_merged_key_by_key() {
    let health = |top: &str, own: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x" {own}}}}} {top}}}"#);
        checked(&text).gateway.upstreams[0].upstream.health
    };
    let default = HealthSettings::default();
    let off = HealthSettings {
        interval: None,
        ..default
    };
    assert_eq!(health("", ""), default);
    assert_eq!(health(r#", "health": true"#, ""), default);
    assert_eq!(health(r#", "health": false"#, ""), off);
    assert_eq!(health("", r#", "health": false"#), off);
    assert_eq!(
        health(r#", "health": false"#, r#", "health": true"#),
        default
    );
    let top = r#", "health": {"interval_s": 1, "timeout_s": 0.1, "failures": 1, "busy_s": 0}"#;
    let set = HealthSettings {
        interval: Some(Duration::from_secs(1)),
        timeout: Duration::from_millis(100),
        failures: 1,
        busy: Duration::ZERO,
    };
    assert_eq!(health(top, ""), set);
    let own = HealthSettings { failures: 7, ..set };
    assert_eq!(health(top, r#", "health": {"failures": 7}"#), own);
}

#[test]
fn health_check_values_are_limited() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "health": {"interval_s": 0.9, "timeout_s": 0.01, "failures": 0}}},
            "health": {"interval_s": 0, "busy_s": -1}}"#,
        expect![[r#"
            error: narrows.json:1:64: server 'a': this time must be at least 1 s
              path: mcpServers.a.health.interval_s
            error: narrows.json:1:82: server 'a': this time must be at least 0.1 s
              path: mcpServers.a.health.timeout_s
            error: narrows.json:1:100: server 'a': `failures` must be at least 1
              path: mcpServers.a.health.failures
            error: narrows.json:2:38: a time in seconds must be more than 0 and less than a year
              path: health.interval_s
            error: narrows.json:2:51: a time in seconds must be 0 or more and less than a year
              path: health.busy_s
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x", "health": "often"}}}"#,
        expect![[r#"
            error: narrows.json:1:49: server 'a': expected true, false or an object, found a string
              path: mcpServers.a.health
        "#]],
    );
}

#[test]
fn settings_are_parsed() {
    let checked = checked(
        r#"{"mcpServers": {"a": {"command": "x", "era": "modern", "sharing": "session", "max_links": 2,
                "startup_timeout_s": 1.5, "connect_timeout_s": 2, "request_timeout_s": 3}},
            "endpoints": {"facade": {"separator": ":"}, "proxy": {"separator": "::", "uris": "wrapped", "name_max": 64}},
            "listen": "localhost:0", "initialize_wait_s": 0.5, "list_wait_s": 0, "list_wait_by_client": {"goose": 7}, "instructions_max_chars": 10,
            "allowed_hosts": ["gate.test", "gate.test:8080"], "allowed_origins": ["https://app.test"],
            "limits": {"max_message_bytes": 2048, "max_request_bytes_total": 8192, "max_response_bytes_total": 9000, "max_sessions": 1, "session_idle_s": 60, "client_queue": 2,
                       "calls_per_session": 3, "grace_s": 1, "max_items_per_list": 4}}"#,
    );
    let server = &checked.gateway.upstreams[0];
    assert_eq!(server.upstream.era, Era::Modern);
    assert_eq!(server.upstream.sharing, Sharing::Session);
    assert_eq!(server.upstream.max_links, 2);
    assert_eq!(server.upstream.startup_timeout, Duration::from_millis(1500));
    assert_eq!(server.upstream.connect_timeout, Duration::from_secs(2));
    assert_eq!(server.upstream.request_timeout, Duration::from_secs(3));
    let endpoints: Vec<_> = checked
        .gateway
        .endpoints
        .iter()
        .map(|e| format!("{} {} {:?} {}", e.name, e.separator, e.uris, e.name_max))
        .collect();
    assert_eq!(
        endpoints,
        [
            "default __ Unchanged 50",
            "facade : Unchanged 50",
            "proxy :: Wrapped 64",
            "lazy __ Unchanged 50"
        ]
    );
    assert_eq!(checked.listen.to_string(), "127.0.0.1:0");
    assert_eq!(checked.allowed_hosts, ["gate.test", "gate.test:8080"]);
    assert_eq!(checked.allowed_origins, ["https://app.test"]);
    let gateway = &checked.gateway;
    assert_eq!(gateway.initialize_wait, Duration::from_millis(500));
    assert_eq!(gateway.list_wait, Duration::ZERO);
    let own = [("goose".to_owned(), Duration::from_secs(7))];
    assert_eq!(gateway.list_wait_by_client, own.into());
    assert_eq!(gateway.instructions_max_chars, 10);
    assert_eq!(gateway.limits.max_message_bytes, 2048);
    assert_eq!(gateway.limits.max_request_bytes_total, 8192);
    assert_eq!(gateway.limits.max_response_bytes_total, 9000);
    assert_eq!(gateway.limits.max_sessions, 1);
    assert_eq!(gateway.limits.session_idle, Duration::from_secs(60));
    assert_eq!(gateway.limits.client_queue, 2);
    assert_eq!(gateway.limits.calls_per_session, 3);
    assert_eq!(gateway.limits.grace, Duration::from_secs(1));
    assert_eq!(gateway.limits.max_items_per_list, 4);
    assert_eq!(gateway.proxy.https, "http://proxy:1");
    assert_eq!(gateway.proxy.http, "");
}

#[test]
fn quarter_of_the_memory_must_hold_a_message() {
    let text = |limits: &str| format!(r#"{{"mcpServers": {{}}, "limits": {limits}}}"#);
    let limits = checked(&text(r#"{"max_message_bytes": 100000000}"#))
        .gateway
        .limits;
    assert_eq!(limits.max_request_bytes_total, 400_000_000);
    assert_eq!(limits.max_response_bytes_total, 400_000_000);
    for key in ["max_request_bytes_total", "max_response_bytes_total"] {
        let reported = outcome(&text(&format!(
            r#"{{"max_message_bytes": 2048, "{key}": 8191}}"#
        )));
        assert!(
            reported.contains("this limit must be at least 8192"),
            "{reported}"
        );
    }
}

#[test]
fn foreign_timeout_is_read_as_seconds_or_milliseconds() {
    let timeout = |server: &str, top: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x"{server}}}}}{top}}}"#);
        checked(&text).gateway.upstreams[0].upstream.request_timeout
    };
    assert_eq!(timeout(r#", "timeout": 60"#, ""), Duration::from_secs(60));
    assert_eq!(
        timeout(r#", "timeout": 1000"#, ""),
        Duration::from_secs(1000)
    );
    assert_eq!(
        timeout(r#", "timeout": 30000"#, ""),
        Duration::from_secs(30)
    );
    let both = r#", "timeout": 60, "request_timeout_s": 7"#;
    assert_eq!(timeout(both, ""), Duration::from_secs(7));
    assert_eq!(
        timeout("", r#", "response_timeout": 30"#),
        Duration::from_secs(30)
    );
    let top = r#", "request_timeout_s": 30"#;
    assert_eq!(timeout(r#", "timeout": 60"#, top), Duration::from_secs(60));
}

#[test]
fn invalid_settings_are_reported() {
    check(
        r#"{"mcpServers": {}, "listen": "7420", "list_wait_s": -1, "allowed_hosts": ["http://x", "a@b"],
            "allowed_origins": ["app.test", "https://app.test/"], "limits": {"max_sessions": 0, "session_idle_s": 0, "max_session": 1},
            "endpoints": {"a/b": {"separator": ""}, "b": {"uris": "wraped", "name_max": 5, "preset": "p"}},
            "instructions_max_chars": -5, "request_timeout_s": 1e300, "recovery": []}"#,
        expect![[r#"
            warning: narrows.json:1:16: there are no servers here yet
              path: mcpServers
            error: narrows.json:1:30: `7420` is not a listen address
              path: listen
              help: write address and port, as in "127.0.0.1:7420"
            error: narrows.json:1:53: a time in seconds must be 0 or more and less than a year
              path: list_wait_s
            error: narrows.json:1:75: `http://x` is not a host
              path: allowed_hosts[0]
              help: write "name" or "name:port", without http://
            error: narrows.json:1:87: `a@b` is not a host
              path: allowed_hosts[1]
              help: write "name" or "name:port", without http://
            error: narrows.json:2:33: `app.test` is not an origin
              path: allowed_origins[0]
              help: write scheme and host, as in "https://app.test"
            error: narrows.json:2:45: `https://app.test/` is not an origin
              path: allowed_origins[1]
              help: write scheme and host, as in "https://app.test"
            error: narrows.json:2:94: this limit must be at least 1
              path: limits.max_sessions
            error: narrows.json:2:115: a time in seconds must be more than 0 and less than a year
              path: limits.session_idle_s
            warning: narrows.json:2:118: unknown key `max_session`
              path: limits.max_session
              help: did you mean `max_sessions`?
            error: narrows.json:3:27: `a/b` is not a valid endpoint name
              path: endpoints["a/b"]
              help: it is part of the path /mcp/{name}: use letters, digits, - _ . ~
            error: narrows.json:3:48: a separator must be `__` or contain a character that server names cannot contain
              path: endpoints["a/b"].separator
              help: common separators are "__", ":" and "::"
            error: narrows.json:3:67: unknown form of URIs `wraped`
              path: endpoints.b.uris
              help: did you mean `wrapped`? Otherwise use one of plain, wrapped
            error: narrows.json:3:89: `name_max` must be from 20 to 128
              path: endpoints.b.name_max
              help: 50 leaves room for the prefixes that clients add
            error: narrows.json:3:102: there is no preset `p`
              path: endpoints.b.preset
              help: define it under `presets`, or set `preset_dir`
            error: narrows.json:4:39: expected a whole number, 0 or more
              path: instructions_max_chars
            error: narrows.json:4:64: a time in seconds must be more than 0 and less than a year
              path: request_timeout_s
            error: narrows.json:4:83: expected an object, found an array
              path: recovery
        "#]],
    );
}

#[test]
fn children_inherit_default_and_requested_variables() {
    let names = |inherit: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"command": "x", "env": {{"OWN": "1", "PATH": "/own"}}, "inherit_env": {inherit}}}}}}}"#
        );
        let checked = checked(&text);
        let narrows_gateway::settings::UpstreamKind::Stdio(stdio) =
            &checked.gateway.upstreams[0].upstream.kind
        else {
            panic!("a stdio server")
        };
        let pairs = stdio.env.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        pairs.join(" ")
    };
    assert_eq!(
        names("false"),
        "HOME=/home/u HTTPS_PROXY=http://proxy:1 LC_ALL=C OWN=1 PATH=/own"
    );
    assert_eq!(
        names(r#"["AWS_*", "TOKEN"]"#),
        "AWS_REGION=x HOME=/home/u HTTPS_PROXY=http://proxy:1 LC_ALL=C OWN=1 PATH=/own TOKEN=s3cr3t"
    );
    assert_eq!(
        names("true"),
        "AWS_REGION=x EMPTY= HOME=/home/u HTTPS_PROXY=http://proxy:1 LC_ALL=C OWN=1 PATH=/own TOKEN=s3cr3t"
    );
}

#[test]
fn lower_case_proxy_variables_take_precedence() {
    let environment: Environment = [
        ("http_proxy", "low"),
        ("HTTP_PROXY", "HIGH"),
        ("ALL_PROXY", "all"),
        ("NO_PROXY", "x"),
    ]
    .into_iter()
    .collect();
    let proxies = environment.proxies();
    assert_eq!(
        (&*proxies.http, &*proxies.https, &*proxies.no_proxy),
        ("low", "all", "x")
    );
}

#[test]
fn endpoint_named_like_a_fixed_path_is_reported() {
    let outcome = super::outcome(
        r#"{"mcpServers": {"a": {"command": "x"}}, "endpoints": {"api": {}, "apis": {}}}"#,
    );
    let warnings: Vec<&str> = outcome
        .lines()
        .filter(|line| line.contains("fixed path") || line.contains("/mcp/"))
        .map(str::trim)
        .collect();
    assert_eq!(
        warnings,
        [
            "warning: narrows.json:1:55: endpoint `api` has the name of a fixed path",
            "help: /api/mcp is another path; use /mcp/api or another name",
        ],
        "{outcome}"
    );
}
