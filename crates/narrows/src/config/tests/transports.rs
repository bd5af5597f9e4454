//! Tests of the transport of a server: its `type`, its `url`, and both together.

use expect_test::{Expect, expect};
use narrows_gateway::settings::Transport;

use super::settings::checked;

/// Checks a configuration with one server of these members.
#[track_caller]
fn check(server: &str, expected: Expect) {
    super::check(
        &format!(r#"{{"mcpServers": {{"a": {{{server}}}}}}}"#),
        expected,
    );
}

#[test]
fn every_transport_name_is_accepted() {
    super::check(
        r#"{"mcpServers": {
            "a": {"type": "stdio", "command": "x"},
            "b": {"type": "http", "url": "http://x/mcp"},
            "c": {"type": "streamable-http", "url": "http://x/mcp"},
            "d": {"transport": "streamableHttp", "url": "https://x/mcp"},
            "e": {"type": "sse", "url": "https://x/sse"},
            "f": {"type": "ws", "url": "ws://x/ws"},
            "g": {"transport": "websocket", "url": "wss://x/ws", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "h": {"type": "rpc", "url": "http://x:8005"},
            "i": {"type": "local", "command": "x"},
            "j": {"type": "streamable_http", "url": "http://x/mcp"},
            "k": {"type": "STDIO", "command": "x"},
            "demo": {"type": "builtin"}}}"#,
        expect![[r#"
            a stdio "x" [] Newline
            b Http http://x/mcp
            c Http http://x/mcp
            d Http https://x/mcp
            e Sse https://x/sse
            f WebSocket ws://x/ws
            g WebSocket wss://x/ws authorization=Bearer s3cr3t
            h Rpc http://x:8005/
            i stdio "x" [] Newline
            j Http http://x/mcp
            k stdio "x" [] Newline
            demo builtin Demo
        "#]],
    );
}

#[test]
fn transport_is_inferred_from_other_keys() {
    check(
        r#""command": "x""#,
        expect![[r#"
        a stdio "x" [] Newline
    "#]],
    );
    check(
        r#""url": "http://x/mcp""#,
        expect![[r#"
        a HttpOrSse http://x/mcp
    "#]],
    );
    check(
        r#""url": "https://x/sse""#,
        expect![[r#"
        a HttpOrSse https://x/sse
    "#]],
    );
    check(
        r#""url": "ws://x/mcp""#,
        expect![[r#"
        a WebSocket ws://x/mcp
    "#]],
    );
    check(
        r#""url": "wss://x/mcp""#,
        expect![[r#"
        a WebSocket wss://x/mcp
    "#]],
    );
    check(
        r#""url": "WSS://x/mcp""#,
        expect![[r#"
        a WebSocket wss://x/mcp
    "#]],
    );
    check(
        r#""url": "HTTP://x/mcp""#,
        expect![[r#"
        a HttpOrSse http://x/mcp
    "#]],
    );
    check(
        r#""url": "${NONE:-ws}://x""#,
        expect![[r#"
        a WebSocket ws://x/
    "#]],
    );
}

#[test]
fn url_scheme_must_match_the_type() {
    check(
        r#""type": "http", "url": "wss://x/""#,
        expect![[r#"
        error: narrows.json:1:46: server 'a': a server of type http cannot have a url with the scheme `wss`
          path: mcpServers.a.url
          help: set "type": "ws" if it is a WebSocket, or write https://
    "#]],
    );
    check(
        r#""type": "sse", "url": "ws://x/""#,
        expect![[r#"
        error: narrows.json:1:45: server 'a': a server of type sse cannot have a url with the scheme `ws`
          path: mcpServers.a.url
          help: set "type": "ws" if it is a WebSocket, or write http://
    "#]],
    );
    check(
        r#""type": "rpc", "url": "ws://x/""#,
        expect![[r#"
        error: narrows.json:1:45: server 'a': a server of type rpc cannot have a url with the scheme `ws`
          path: mcpServers.a.url
          help: set "type": "ws" if it is a WebSocket, or write http://
    "#]],
    );
    check(
        r#""type": "ws", "url": "http://u:p@x/a?b""#,
        expect![[r#"
            warning: narrows.json:1:44: server 'a': http:// is read as ws:// here, because the type is ws
              path: mcpServers.a.url
              help: write ws:// in the url
            a WebSocket ws://u:p@x/a?b
        "#]],
    );
    check(
        r#""type": "ws", "url": "HTTPS://x/""#,
        expect![[r#"
            warning: narrows.json:1:44: server 'a': https:// is read as wss:// here, because the type is ws
              path: mcpServers.a.url
              help: write wss:// in the url
            a WebSocket wss://x/
        "#]],
    );
    check(
        r#""type": "ws", "url": "ftp://x/""#,
        expect![[r#"
        error: narrows.json:1:44: server 'a': the url scheme `ftp` is not supported
          path: mcpServers.a.url
          help: it must start with ws:// or wss://
    "#]],
    );
    check(
        r#""type": "ws", "url": "x/""#,
        expect![[r#"
            error: narrows.json:1:44: server 'a': the url has no scheme
              path: mcpServers.a.url
              help: it must start with ws:// or wss://
        "#]],
    );
    check(
        r#""type": "ws", "url": "ws://a b/""#,
        expect![[r#"
        error: narrows.json:1:44: server 'a': the url is invalid: invalid uri character
          path: mcpServers.a.url
          help: write "wss://host/path"
    "#]],
    );
    check(
        r#""type": "ws", "url": "ws://""#,
        expect![[r#"
        error: narrows.json:1:44: server 'a': the url is invalid: empty string
          path: mcpServers.a.url
          help: write "wss://host/path"
    "#]],
    );
    check(
        r#""url": "ws:///x""#,
        expect![[r#"
        error: narrows.json:1:30: server 'a': the url is invalid: invalid format
          path: mcpServers.a.url
          help: write "wss://host/path"
    "#]],
    );
    check(
        r#""url": "wss://:80/x""#,
        expect![[r#"
            error: narrows.json:1:30: server 'a': the url has no host
              path: mcpServers.a.url
              help: write "wss://host/path"
        "#]],
    );
}

/// Returns the first line of the message, without its position, and the help.
fn reported(server: &str) -> String {
    let outcome = super::outcome(&format!(r#"{{"mcpServers": {{"a": {{{server}}}}}}}"#));
    let line = outcome.lines().next().unwrap_or_default();
    let line = line
        .split_once("server 'a': ")
        .map_or(line, |(_, what)| what);
    let help = outcome.lines().find(|line| line.starts_with("  help: "));
    format!("{line}{}\n", help.unwrap_or_default())
}

#[test]
fn invalid_port_is_an_error() {
    check(
        r#""url": "http://127.0.0.1:181011/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}"#,
        expect![[r#"
            error: narrows.json:1:30: server 'a': the port '181011' is invalid; a port is a number from 1 to 65535
              path: mcpServers.a.url
        "#]],
    );
    let hosts = ["x", "127.0.0.1", "[::1]", "user:pass@x", "user:pa:ss@[::1]"];
    for host in hosts {
        for scheme in ["http", "https", "ws", "wss"] {
            for path in ["", "/", "/mcp?a=:80", "?a"] {
                for port in ["", ":1", ":80", ":65535"] {
                    let url = format!("{scheme}://{host}{port}{path}");
                    let reported = reported(&format!(r#""url": "{url}""#));
                    assert!(reported.starts_with("a "), "{url}: {reported}");
                }
                for port in [
                    ":", ":0", ":65536", ":99999", ":18101x", ":+80", ":-1", ":8 0",
                ] {
                    let url = format!("{scheme}://{host}{port}{path}");
                    let reported = reported(&format!(r#""url": "{url}""#));
                    let fits = reported.ends_with("a port is a number from 1 to 65535\n")
                        || reported.starts_with("the url is invalid");
                    assert!(fits, "{url}: {reported}");
                }
            }
        }
    }
}

#[test]
fn invalid_port_is_quoted_only_if_numeric() {
    let ports = ["", "0", "99999", "181011", "18101x", "s3cr3t", "12345678"];
    let reported = ports.map(|port| reported(&format!(r#""url": "http://user:{port}/mcp""#)));
    expect![[r#"
        the port after the colon is missing; a port is a number from 1 to 65535
        the port '0' is invalid; a port is a number from 1 to 65535
        the port '99999' is invalid; a port is a number from 1 to 65535
        the port '181011' is invalid; a port is a number from 1 to 65535
        the text after the host is not a port; a port is a number from 1 to 65535
        the text after the host is not a port; a port is a number from 1 to 65535
        the text after the host is not a port; a port is a number from 1 to 65535
    "#]]
    .assert_eq(&reported.concat());
}

#[test]
fn url_without_a_scheme_gets_a_suggestion() {
    let urls = [
        "localhost:18102/mcp",
        "127.0.0.1:8000/x",
        "[::1]:8000",
        "192.168.1.7/v1/sse",
        "box.local/mcp",
        "example.com/mcp",
        "8.8.8.8:80",
        "",
        // Text that may be a secret is not repeated.
        "example.com/s3cr3t/mcp",
        "example.com/mcp?key=s3cr3t",
        "user:s3cr3t@example.com/mcp",
        "localhost:s3cr3t/mcp",
        "s3cr3t",
        "s3cr3t:8000/mcp",
        "S3.cr3t.example",
        "s3cr3t@http://x",
        "http:/localhost/mcp",
    ];
    let mut all = String::new();
    for url in urls {
        all.push_str(&reported(&format!(r#""url": "{url}""#)));
    }
    all.push_str(&reported(r#""type": "ws", "url": "localhost:1/ws""#));
    all.push_str(&reported(r#""type": "ws", "url": "example.com/ws""#));
    expect![[r#"
        the url has no scheme  help: write "http://localhost:18102/mcp"
        the url has no scheme  help: write "http://127.0.0.1:8000/x"
        the url has no scheme  help: write "http://[::1]:8000"
        the url has no scheme  help: write "http://192.168.1.7/v1/sse"
        the url has no scheme  help: write "http://box.local/mcp"
        the url has no scheme  help: write "https://example.com/mcp"
        the url has no scheme  help: write "https://8.8.8.8:80"
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: write "https://example.com/..."
        the url has no scheme  help: write "https://example.com/..."
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: it must start with http:// or https://
        the url has no scheme  help: write "ws://localhost:1/ws"
        the url has no scheme  help: write "wss://example.com/ws"
    "#]]
    .assert_eq(&all);
    assert!(!all.to_lowercase().contains("s3cr3t"));
}

#[test]
fn spaces_around_a_url_are_reported() {
    let urls = [
        " http://x/",
        "http://x/ ",
        "http://x/\\n",
        " x ",
        "\\tws://x",
    ];
    let reported = urls.map(|url| reported(&format!(r#""url": "{url}""#)));
    expect![[r#"
        the url starts or ends with white space  help: remove it
        the url starts or ends with white space  help: remove it
        the url starts or ends with white space  help: remove it
        the url starts or ends with white space  help: remove it
        the url starts or ends with white space  help: remove it
    "#]]
    .assert_eq(&reported.concat());
}

#[test]
fn text_without_a_scheme_is_not_quoted() {
    check(
        r#""url": "/s3cr3t?to=http://x""#,
        expect![[r#"
        error: narrows.json:1:30: server 'a': the url has no scheme
          path: mcpServers.a.url
          help: it must start with http:// or https://
    "#]],
    );
    check(
        r#""type": "ws", "url": "/s3cr3t?to=http://x""#,
        expect![[r#"
            error: narrows.json:1:44: server 'a': the url has no scheme
              path: mcpServers.a.url
              help: it must start with ws:// or wss://
        "#]],
    );
    check(
        r#""url": "s3cr3t@http://x""#,
        expect![[r#"
            error: narrows.json:1:30: server 'a': the url has no scheme
              path: mcpServers.a.url
              help: it must start with http:// or https://
        "#]],
    );
}

#[test]
fn remote_server_requires_a_url() {
    check(
        r#""type": "http""#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': a server of type http needs a `url`
          path: mcpServers.a
          help: add "url": "https://..."
    "#]],
    );
    check(
        r#""type": "sse""#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': a server of type sse needs a `url`
          path: mcpServers.a
          help: add "url": "https://..."
    "#]],
    );
    check(
        r#""type": "ws""#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': a server of type ws needs a `url`
          path: mcpServers.a
          help: add "url": "wss://..."
    "#]],
    );
    check(
        r#""type": "rpc""#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': a server of type rpc needs a `url`
          path: mcpServers.a
          help: add "url": "https://..."
    "#]],
    );
}

#[test]
fn rpc_is_appended_to_the_url() {
    check(
        r#""type": "rpc", "url": "http://x/api""#,
        expect![[r#"
        a Rpc http://x/api
    "#]],
    );
    check(
        r#""type": "rpc", "url": "http://x/api/rpc""#,
        expect![[r#"
            warning: narrows.json:1:45: server 'a': the url ends in /rpc, but /rpc is appended to it
              path: mcpServers.a.url
              help: remove /rpc from the url
            a Rpc http://x/api/rpc
        "#]],
    );
    check(
        r#""type": "rpc", "url": "http://x/rpc/?key=1""#,
        expect![[r#"
            warning: narrows.json:1:45: server 'a': the url ends in /rpc, but /rpc is appended to it
              path: mcpServers.a.url
              help: remove /rpc from the url
            a Rpc http://x/rpc/?key=1
        "#]],
    );
    check(
        r#""type": "rpc", "url": "http://x/?to=/rpc""#,
        expect![[r#"
            a Rpc http://x/?to=/rpc
        "#]],
    );
    check(
        r#""type": "rpc", "url": "http://x/myrpc""#,
        expect![[r#"
            a Rpc http://x/myrpc
        "#]],
    );
    check(
        r#""type": "http", "url": "http://x/rpc""#,
        expect![[r#"
        a Http http://x/rpc
    "#]],
    );
}

#[test]
fn rpc_servers_are_always_shared() {
    let rpc = r#""type": "rpc", "url": "http://x""#;
    check(
        &format!(r#"{rpc}, "sharing": "shared""#),
        expect![[r#"
        a Rpc http://x/
    "#]],
    );
    check(
        &format!(r#"{rpc}, "sharing": "session""#),
        expect![[r#"
        warning: narrows.json:1:68: server 'a': `sharing` has no effect on a server of type rpc
          path: mcpServers.a.sharing
          help: it has no sessions, so all clients share it
        a Rpc http://x/
    "#]],
    );
    check(
        &format!(r#"{rpc}, "sharing": "auto", "max_links": 2"#),
        expect![[r#"
            warning: narrows.json:1:68: server 'a': `sharing` has no effect on a server of type rpc
              path: mcpServers.a.sharing
              help: it has no sessions, so all clients share it
            warning: narrows.json:1:89: server 'a': `max_links` has no effect on a server of type rpc
              path: mcpServers.a.max_links
              help: it has no sessions, so all clients share it
            a Rpc http://x/
        "#]],
    );
    check(
        r#""type": "sse", "url": "http://x", "sharing": "session", "max_links": 2"#,
        expect![[r#"
            a Sse http://x/
        "#]],
    );
}

#[test]
fn stdio_keys_are_reported_on_other_transports() {
    let keys = r#""command": "x", "args": [], "stdio_mode": "newline""#;
    for kind in ["http", "sse", "rpc"] {
        let outcome = super::outcome(&format!(
            r#"{{"mcpServers": {{"a": {{"type": "{kind}", "url": "http://x", {keys}}}}}}}"#
        ));
        for key in ["command", "args", "stdio_mode"] {
            let reported = format!("`{key}` has no effect on a server of type {kind}\n");
            assert!(
                outcome.contains(&reported),
                "{reported} is not in {outcome}"
            );
        }
    }
    check(
        r#""url": "ws://x", "stdio_mode": "content-length", "args": []"#,
        expect![[r#"
            warning: narrows.json:1:54: server 'a': `stdio_mode` has no effect on a server of type ws
              path: mcpServers.a.stdio_mode
            warning: narrows.json:1:80: server 'a': `args` has no effect on a server of type ws
              path: mcpServers.a.args
            a WebSocket ws://x/
        "#]],
    );
    check(
        r#""url": "http://x", "stdio_mode": "newline""#,
        expect![[r#"
            warning: narrows.json:1:56: server 'a': `stdio_mode` has no effect on a server of type http
              path: mcpServers.a.stdio_mode
            a HttpOrSse http://x/
        "#]],
    );
    check(
        r#""command": "x", "url": "http://x", "type": "stdio""#,
        expect![[r#"
            warning: narrows.json:1:46: server 'a': `url` has no effect on a server of type stdio
              path: mcpServers.a.url
            a stdio "x" [] Newline
        "#]],
    );
}

#[test]
fn skipped_server_keeps_its_transport() {
    let checked = checked(
        r#"{"mcpServers": {
            "a": {"url": "${NONE}"}, "b": {"url": "wss://${NONE}"}, "c": {"command": "${NONE}"},
            "d": {"type": "rpc", "url": "${NONE}"}, "e": {"type": "sse", "url": "${input:x}"}}}"#,
    );
    let left_out = checked.left_out.iter();
    let left_out: Vec<_> = left_out
        .map(|out| (&*out.id, out.transport, out.kind))
        .collect();
    assert_eq!(
        left_out,
        [
            ("a", Transport::Http, "unset_variable"),
            ("b", Transport::WebSocket, "unset_variable"),
            ("c", Transport::Stdio, "unset_variable"),
            ("d", Transport::Rpc, "unset_variable"),
            ("e", Transport::Sse, "unsupported_input"),
        ]
    );
}

#[test]
fn disabled_server_may_use_unset_variables() {
    check(
        r#""url": "http://${NONE}/mcp", "disabled": true"#,
        expect![[r#"
            a (disabled) HttpOrSse http://not-started.invalid/
        "#]],
    );
    check(
        r#""type": "ws", "url": "${NONE}", "disabled": true"#,
        expect![[r#"
            a (disabled) WebSocket http://not-started.invalid/
        "#]],
    );
    check(
        r#""url": "http://a b", "disabled": true"#,
        expect![[r#"
        error: narrows.json:1:30: server 'a': the url is invalid: invalid uri character
          path: mcpServers.a.url
          help: write "https://host/path"
    "#]],
    );
}

#[test]
fn declared_and_inferred_transports_are_distinguished() {
    let checked = checked(
        r#"{"mcpServers": {
            "a": {"url": "http://x"}, "b": {"url": "wss://x"}, "c": {"command": "x"},
            "d": {"type": "websocket", "url": "ws://x"}, "e": {"transport": "streamable-http", "url": "${NONE}"}}}"#,
    );
    let mut said: Vec<_> = checked
        .declared
        .iter()
        .map(|(id, said)| (&**id, *said))
        .collect();
    said.sort_by_key(|(id, _)| *id);
    assert_eq!(said, [("d", Transport::WebSocket), ("e", Transport::Http)]);
}

#[test]
fn unknown_types_and_builtin_servers_are_reported() {
    super::check(
        r#"{"mcpServers": {"a": {"type": "htpp", "url": "http://x"}, "b": {"type": 5, "url": "http://x"}}}"#,
        expect![[r#"
            error: narrows.json:1:31: server 'a': unknown transport `htpp`
              path: mcpServers.a.type
              help: did you mean `http`? Otherwise use one of stdio, http, sse, ws, rpc, builtin
            error: narrows.json:1:73: server 'b': expected a string, found a number
              path: mcpServers.b.type
              help: put the value in quotes
        "#]],
    );
    super::check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}, "mine": {"type": "builtin", "name": "demo"}}}"#,
        expect![[r#"
            demo builtin Demo
            mine builtin Demo
        "#]],
    );
    super::check(
        r#"{"mcpServers": {"dmo": {"type": "builtin"}}}"#,
        expect![[r#"
            error: narrows.json:1:17: server 'dmo': there is no built-in server `dmo`
              path: mcpServers.dmo
              help: available: demo, pruner
        "#]],
    );
}
