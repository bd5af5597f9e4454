//! Tests of problems with one server.

use expect_test::expect;

use super::check;

#[test]
fn missing_keys_are_reported() {
    check(
        r#"{"mcpServers": {"a": {}}}"#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': there is neither a `command` nor a `url`
          path: mcpServers.a
          help: add "command": "..." for a program, or "url": "..." for an address
    "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"type": "stdio"}}}"#,
        expect![[r#"
        error: narrows.json:1:17: server 'a': a stdio server needs a `command`
          path: mcpServers.a
          help: add "command": "npx", "args": [...]
    "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"type": "http"}}}"#,
        expect![[r#"
            error: narrows.json:1:17: server 'a': a server of type http needs a `url`
              path: mcpServers.a
              help: add "url": "https://..."
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"command": ""}}}"#,
        expect![[r#"
        error: narrows.json:1:34: server 'a': the `command` is empty
          path: mcpServers.a.command
          help: name the program to run
    "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"command": []}}}"#,
        expect![[r#"
        error: narrows.json:1:34: server 'a': the `command` is empty
          path: mcpServers.a.command
          help: name the program to run
    "#]],
    );
    check(
        r#"{"mcpServers": {"": {"command": "a"}}}"#,
        expect![[r#"
        error: narrows.json:1:17: the id of a server is empty
          path: mcpServers[""]
          help: give it a name
    "#]],
    );
}

#[test]
fn contradicting_keys_are_reported() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "url": "http://x"}}}"#,
        expect![[r#"
            error: narrows.json:1:17: server 'a': there is both a `command` and a `url`
              path: mcpServers.a
              help: keep one of them, or choose one with "type": "stdio" or "type": "http"
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"type": "stdio", "transport": "http", "command": "x"}}}"#,
        expect![[r#"
            error: narrows.json:1:53: server 'a': `type` and `transport` contradict each other
              path: mcpServers.a.transport
              help: keep one of them
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"type": "http", "transport": "streamableHttp", "url": "http://x", "command": "x"}}}"#,
        expect![[r#"
            warning: narrows.json:1:100: server 'a': `command` has no effect on a server of type http
              path: mcpServers.a.command
            a Http http://x/
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x", "enabled": true, "disabled": true}}}"#,
        expect![[r#"
            error: narrows.json:1:68: server 'a': `enabled` and `disabled` contradict each other
              path: mcpServers.a.disabled
              help: keep one of them
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"url": "http://x", "serverUrl": "http://y"}}}"#,
        expect![[r#"
            error: narrows.json:1:42: server 'a': `serverUrl` has the same meaning as another key
              path: mcpServers.a.serverUrl
              help: keep one of them
        "#]],
    );
}

#[test]
fn duplicate_keys_are_reported() {
    check(
        r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
        expect![[r#"
            error: narrows.json:1:40: duplicate server id 'a'
              path: mcpServers.a
              help: give every server its own id
        "#]],
    );
    check(
        r#"{"servers": [{"id": "a", "command": "x"}, {"id": "a", "command": "y"}]}"#,
        expect![[r#"
            error: narrows.json:1:50: duplicate server id 'a'
              path: servers[1].id
              help: give every server its own id
        "#]],
    );
    check(
        r#"{"servers": {"a": {"command": "x"}}, "mcpServers": {"a": {"command": "y"}}}"#,
        expect![[r#"
            error: narrows.json:1:53: duplicate server id 'a'
              path: mcpServers.a
              help: give every server its own id
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x", "command": "y", "env": {"K": "1", "K": "2"}}}}"#,
        expect![[r#"
            error: narrows.json:1:39: server 'a': duplicate key `command`
              path: mcpServers.a.command
              help: keep one of them
            error: narrows.json:1:73: server 'a': duplicate key `K`
              path: mcpServers.a.env.K
              help: keep one of them
        "#]],
    );
}

#[test]
fn invalid_urls_and_headers_are_reported() {
    check(
        r#"{"mcpServers": {
            "a": {"url": "example.test"}, "b": {"url": "ftp://example.test"}, "c": {"url": "http://"},
            "d": {"url": "http://exa mple.test/?key=s3cr3t"}, "e": {"url": "/mcp"}}}"#,
        expect![[r#"
            error: narrows.json:2:26: server 'a': the url has no scheme
              path: mcpServers.a.url
              help: write "https://example.test"
            error: narrows.json:2:56: server 'b': the url scheme `ftp` is not supported
              path: mcpServers.b.url
              help: it must start with http:// or https://
            error: narrows.json:2:92: server 'c': the url is invalid: empty string
              path: mcpServers.c.url
              help: write "https://host/path"
            error: narrows.json:3:26: server 'd': the url is invalid: invalid uri character
              path: mcpServers.d.url
              help: write "https://host/path"
            error: narrows.json:3:76: server 'e': the url has no scheme
              path: mcpServers.e.url
              help: it must start with http:// or https://
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"url": "http://x", "headers": {"bad name": "v", "X-Ok": "s3cr3t\n", "": "v"}}}}"#,
        expect![[r#"
            error: narrows.json:1:54: server 'a': `bad name` is not a valid header name
              path: mcpServers.a.headers["bad name"]
              help: use letters, digits and dashes
            error: narrows.json:1:79: server 'a': this value cannot be sent in a header
              path: mcpServers.a.headers.X-Ok
              help: headers allow only visible ASCII characters; does it end with a line break?
            error: narrows.json:1:91: server 'a': `` is not a valid header name
              path: mcpServers.a.headers[""]
              help: use letters, digits and dashes
        "#]],
    );
}

#[test]
fn all_wrong_types_are_reported_at_once() {
    check(
        r#"{"mcpServers": {"a": {
            "command": 5, "args": "-y", "env": {"K": 1, "L": true}, "cwd": [], "enabled": "yes",
            "headers": [], "timeout": "5s", "max_links": 1.5, "sharing": "all", "startup_timeout_s": 0,
            "inherit_env": "PATH", "stdio_mode": "lines"}}}"#,
        expect![[r#"
            error: narrows.json:2:24: server 'a': expected a string or an array of strings, found a number
              path: mcpServers.a.command
            error: narrows.json:2:35: server 'a': expected an array of strings, found a string
              path: mcpServers.a.args
              help: put the value in brackets: ["..."]
            error: narrows.json:2:54: server 'a': expected a string, found a number
              path: mcpServers.a.env.K
              help: put the value in quotes
            error: narrows.json:2:62: server 'a': expected a string, found true
              path: mcpServers.a.env.L
              help: put the value in quotes
            error: narrows.json:2:76: server 'a': expected a string, found an array
              path: mcpServers.a.cwd
            error: narrows.json:2:91: server 'a': expected true or false, found a string
              path: mcpServers.a.enabled
            error: narrows.json:3:24: server 'a': expected an object, found an array
              path: mcpServers.a.headers
            error: narrows.json:3:39: server 'a': expected a number, found a string
              path: mcpServers.a.timeout
            error: narrows.json:3:58: server 'a': expected a whole number
              path: mcpServers.a.max_links
            error: narrows.json:3:74: server 'a': unknown sharing `all`
              path: mcpServers.a.sharing
              help: use one of auto, shared, session
            error: narrows.json:3:102: server 'a': a time in seconds must be more than 0 and less than a year
              path: mcpServers.a.startup_timeout_s
            error: narrows.json:4:28: server 'a': expected true, false or an array of names, found a string
              path: mcpServers.a.inherit_env
            error: narrows.json:4:50: server 'a': unknown stdio_mode `lines`
              path: mcpServers.a.stdio_mode
              help: use one of newline, content-length
        "#]],
    );
}

#[test]
fn unknown_keys_are_warnings() {
    check(
        r#"{"mcpServers": {"a": {"comand": "x", "command": "x", "requestTimeout": 5, "wibble": 1, "//": "remark"}}, "listn": ""}"#,
        expect![[r#"
            warning: narrows.json:1:23: server 'a': unknown key `comand`
              path: mcpServers.a.comand
              help: did you mean `command`?
            warning: narrows.json:1:54: server 'a': unknown key `requestTimeout`
              path: mcpServers.a.requestTimeout
              help: did you mean `request_timeout_s`?
            warning: narrows.json:1:75: server 'a': unknown key `wibble`
              path: mcpServers.a.wibble
            warning: narrows.json:1:106: unknown key `listn`
              path: listn
              help: did you mean `listen`?
            a stdio "x" [] Newline
        "#]],
    );
    check(
        r#"{"mcpServers": {}, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "$schema": "x"}"#,
        expect![[r#"
            warning: narrows.json:1:16: there are no servers here yet
              path: mcpServers
            warning: narrows.json:1:20: unknown key `a`
              path: a
            warning: narrows.json:1:28: unknown key `b`
              path: b
            warning: narrows.json:1:36: unknown key `c`
              path: c
            warning: narrows.json:1:44: unknown key `d`
              path: d
            warning: narrows.json:1:52: unknown key `e`
              path: e
            warning: narrows.json:1:60: 2 more unknown keys in this object
              path: f
        "#]],
    );
}

#[test]
fn unsupported_keys_of_other_programs_are_reported() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "excludeTools": ["rm"], "oauth": {"clientId": "x"}}}, "auth_token": "x"}"#,
        expect![[r#"
            warning: narrows.json:1:63: server 'a': `oauth` is not supported by Narrows
              path: mcpServers.a.oauth
              help: put the credentials into `headers`
            warning: narrows.json:1:93: `auth_token` is not supported by Narrows
              path: auth_token
              help: give every client its own token under `clients`
            a stdio "x" [] Newline
        "#]],
    );
}

#[test]
fn misspelt_restrictions_are_errors() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "disabledTool": ["y"]}},
 "presets": {"p": {"tools": []}}, "endpoints": {"default": {"presets": "p"}},
 "a1": 1, "b1": 1, "c1": 1, "d1": 1, "e1": 1, "f1": 1, "client": {}}"#,
        expect![[r#"
            error: narrows.json:1:39: server 'a': unknown key `disabledTool`
              path: mcpServers.a.disabledTool
              help: did you mean `disabledTools`?
            error: narrows.json:2:61: unknown key `presets`
              path: endpoints.default.presets
              help: did you mean `preset`?
            warning: narrows.json:3:2: unknown key `a1`
              path: a1
            warning: narrows.json:3:11: unknown key `b1`
              path: b1
            warning: narrows.json:3:20: unknown key `c1`
              path: c1
            warning: narrows.json:3:29: unknown key `d1`
              path: d1
            warning: narrows.json:3:38: unknown key `e1`
              path: e1
            warning: narrows.json:3:47: 1 more unknown key in this object
              path: f1
            error: narrows.json:3:56: unknown key `client`
              path: client
              help: did you mean `clients`?
        "#]],
    );
}
