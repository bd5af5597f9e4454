//! Tests of `narrows servers`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::api::{FakeAdminApi, Reply, change, error};

fn up(id: &str) -> Value {
    json!({ "id": id, "slug": id, "transport": "stdio", "state": "up", "revision": "2025-11-25",
        "took_ms": 350, "tools": 14, "prompts": 0, "resources": 2, "templates": 0, "tokens": 2113 })
}

fn down(id: &str) -> Value {
    json!({ "id": id, "slug": id, "transport": "stdio", "state": "down",
        "reason": "'./nowhere' is not\u{1b}[2J there", "next_try_s": 12, "attempts": 3, "tools": 0,
        "prompts": 0, "resources": 0, "templates": 0, "tokens": 0 })
}

fn in_state(id: &str, state: &str) -> Value {
    json!({ "id": id, "slug": id, "transport": "http", "state": state, "tools": 0, "tokens": 0 })
}

fn servers() -> Value {
    let all = [
        up("files"),
        down("gone"),
        in_state("off", "disabled"),
        in_state("slow", "starting"),
        json!({ "id": "notes", "slug": "", "transport": "stdio", "state": "left_out",
            "reason": "environment variable NOTES is not set", "tools": 0, "tokens": 0 }),
    ];
    json!({ "servers": all })
}

#[test]
fn all_servers_are_listed() {
    let expected = expect![[r#"
        GET /api/v1/servers
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        up        files  stdio    2025-11-25, 0.35 s, 14 tools, ~2,113 tokens, 2 resources
        down      gone   stdio    './nowhere' is not\u{1b}[2J there; tried 3 times; next attempt in 12 s
        disabled  off    http
        starting  slow   http
        left out  notes  stdio    environment variable NOTES is not set
        1 of 4 servers up, 1 disabled, 14 tools, ~2,113 tokens
        --- stderr
    "#]];
    FakeAdminApi::json("GET /servers", 200, servers()).check(&["servers"], expected);
    let api = FakeAdminApi::json("GET /servers", 200, servers());
    let ran = api.run(&["servers", "list", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, printed), (Some(0), servers()));
    let api = FakeAdminApi::json("GET /servers", 200, json!({ "servers": [] }));
    assert_eq!(
        api.run(&["servers"]).stdout,
        "no servers are configured, 0 tools, ~0 tokens\n"
    );
}

#[test]
fn server_is_shown_with_its_tools() {
    let mut server = up("io.github.x/y");
    server["tool_list"] = json!([
        { "name": "read", "published": "y__read", "tokens": 1200 },
        { "name": "write", "published": "", "tokens": 90, "denied": "preset 'review'" },
    ]);
    let api = FakeAdminApi::json("GET /servers/io.github.x%2Fy", 200, server.clone());
    api.check(
        &["servers", "show", "io.github.x/y"],
        expect![[r#"
            GET /api/v1/servers/io.github.x%2Fy
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            up        io.github.x/y  stdio    2025-11-25, 0.35 s, 14 tools, ~2,113 tokens, 2 resources
              y__read   ~1,200
              write        ~90  hidden: preset 'review'
            --- stderr
        "#]],
    );
    let ran = api.run(&["servers", "show", "io.github.x/y", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(printed, server);
}

/// Runs `add` with these options and compares the entry sent.
#[track_caller]
fn check_entry(options: &[&str], expected: Expect) {
    let added = change(json!({ "added": ["new"] }));
    let api = FakeAdminApi::json("POST /servers?save=false", 201, added);
    api.folder
        .write("entry.json", "{ // a comment\n \"command\": \"x\", }");
    let arguments = [&["servers", "add", "new", "--wait", "0"], options].concat();
    let ran = api.run_with_input(&arguments, r#"{"type": "builtin"}"#);
    let asked = api.asked();
    let folder = api.folder.path().display().to_string();
    let body = asked.lines().last().unwrap_or_default().trim();
    let body = body.replace(&folder, "HERE");
    let errors = ran.stderr.replace(&folder, "HERE");
    expected.assert_eq(&format!("{body}\n{errors}"));
}

#[test]
fn entries_are_built_from_options() {
    check_entry(
        &["--command", "npx", "-y", "pkg", "."],
        expect![[r#"
        {"id":"new","config":{"command":"npx","args":["-y","pkg","."],"cwd":"HERE"}}
    "#]],
    );
    check_entry(
        &["--env", "A=b=c", "--env", "D=", "--", "uvx", "s", "--save"],
        expect![[r#"
            {"id":"new","config":{"command":"uvx","args":["s","--save"],"env":{"A":"b=c","D":""},"cwd":"HERE"}}
        "#]],
    );
    check_entry(
        &["--url", "https://x.test/mcp", "--type", "sse"],
        expect![[r#"
            {"id":"new","config":{"type":"sse","url":"https://x.test/mcp"}}
        "#]],
    );
    check_entry(
        &["--url", "https://x.test/", "--header", "X-Key:  ${KEY} "],
        expect![[r#"
            {"id":"new","config":{"url":"https://x.test/","headers":{"X-Key":"${KEY}"}}}
        "#]],
    );
    check_entry(
        &["--cwd", "below/../${x}", "--", "uvx"],
        expect![[r#"
            {"id":"new","config":{"command":"uvx","cwd":"HERE/below/../$${x}"}}
            warning: there is no folder 'HERE/below/../${x}'
        "#]],
    );
    check_entry(
        &["--cwd", "/srv", "--", "uvx"],
        expect![[r#"
        {"id":"new","config":{"command":"uvx","cwd":"/srv"}}
    "#]],
    );
    check_entry(
        &["--type", "builtin"],
        expect![[r#"
        {"id":"new","config":{"type":"builtin"}}
    "#]],
    );
    check_entry(
        &["--json", r#"{"command": "x", "cwd": "/"}"#],
        expect![[r#"
            {"id":"new","config":{"command":"x","cwd":"/"}}
        "#]],
    );
    check_entry(
        &["--json", "@entry.json"],
        expect![[r#"
        {"id":"new","config":{"command":"x","cwd":"HERE"}}
    "#]],
    );
    check_entry(
        &["--json", "-"],
        expect![[r#"
        {"id":"new","config":{"type":"builtin"}}
    "#]],
    );
    check_entry(
        &["--command", "npx", "--save"],
        expect![[r#"
        {"id":"new","config":{"command":"npx","args":["--save"],"cwd":"HERE"}}
        warning: --save is passed to npx; to use it as an option of narrows, put it before --command
    "#]],
    );
}

#[test]
fn invalid_entries_are_usage_errors_and_not_sent() {
    let cases: &[&[&str]] = &[
        &[],
        &["--json", "not json"],
        &["--json", "[1]"],
        &["--json", "@nowhere.json"],
        &["--json", "{}", "--url", "http://x"],
        &["--command"],
        &["--env", "s3cret", "--command", "x"],
        &["--header", "s3cret", "--url", "http://x"],
        &["--env", "A=b", "--url", "http://x"],
        &["--header", "A: b", "--command", "x"],
        &["--url", "http://x", "--", "y"],
        &["--url", "http://x", "--cwd", "/"],
        &["--json", "{}", "--cwd", "/"],
        &["--type", "builtin", "--cwd", "/"],
        &["--wait", "-1", "--url", "http://x"],
    ];
    for options in cases {
        let api = FakeAdminApi::new(Vec::new());
        let ran = api.run(&[&["servers", "add", "new"], *options].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{options:?}: {}",
            ran.stderr
        );
        assert!(
            !ran.stderr.is_empty() && api.asked().is_empty(),
            "{options:?}"
        );
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    let ran = FakeAdminApi::new(Vec::new()).run(&["servers", "add", "new"]);
    for way in ["--command CMD", "-- CMD", "--url URL", "--json ENTRY"] {
        assert!(ran.stderr.contains(way), "{way}: {}", ran.stderr);
    }
    let api = FakeAdminApi::new(Vec::new());
    let ran = api.run(&["servers", "add", "", "--url", "http://x"]);
    assert_eq!(ran.code, Some(2), "an id has a character at least");
}

#[test]
fn add_waits_until_the_server_is_up() {
    let added = change(json!({ "added": ["files"], "saved_to": "/x/narrows.json" }));
    let api = FakeAdminApi::new(vec![
        ("POST /servers?save=true", vec![Reply::Json(201, added)]),
        (
            "GET /servers/files",
            vec![
                Reply::Json(200, in_state("files", "starting")),
                Reply::Json(200, up("files")),
            ],
        ),
    ]);
    api.check(
        &[
            "servers",
            "add",
            "files",
            "--save",
            "--cwd",
            "/",
            "--command",
            "x",
        ],
        expect![[r#"
            POST /api/v1/servers?save=true
              authorization: Bearer TOKEN
              host: ADDRESS
              {"id":"files","config":{"command":"x","cwd":"/"}}
            GET /api/v1/servers/files
              authorization: Bearer TOKEN
              host: ADDRESS
            GET /api/v1/servers/files
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            added files
            saved to /x/narrows.json
            up        files  stdio    2025-11-25, 0.35 s, 14 tools, ~2,113 tokens, 2 resources
            --- stderr
        "#]],
    );
}

#[test]
fn add_reports_a_failing_server_and_keeps_it() {
    let added =
        change(json!({ "added": ["gone"], "warnings": ["preset 'p' names no tool of it"] }));
    let script = || {
        vec![
            (
                "POST /servers?save=false",
                vec![Reply::Json(201, added.clone())],
            ),
            ("GET /servers/gone", vec![Reply::Json(200, down("gone"))]),
        ]
    };
    let arguments = ["servers", "add", "gone", "--url", "http://x.test"];
    FakeAdminApi::new(script()).check(
        &arguments,
        expect![[r#"
        POST /api/v1/servers?save=false
          authorization: Bearer TOKEN
          host: ADDRESS
          {"id":"gone","config":{"url":"http://x.test"}}
        GET /api/v1/servers/gone
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 1
        --- stdout
        added gone
        not saved: the change lasts until the gateway exits; use --save to keep it
        down      gone  stdio    './nowhere' is not\u{1b}[2J there; tried 3 times; next attempt in 12 s
        --- stderr
        warning: preset 'p' names no tool of it
        error: server 'gone' did not come up; the gateway keeps trying
          help: `narrows servers show gone` shows its state
    "#]],
    );
    let api = FakeAdminApi::new(script());
    let arguments = [
        "servers",
        "add",
        "gone",
        "--answer-json",
        "--url",
        "http://x.test",
    ];
    let ran = api.run(&arguments);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(ran.code, Some(1));
    assert_eq!(printed["added"], json!(["gone"]));
    assert_eq!(printed["server"]["state"], "down");
}

#[test]
fn waiting_for_a_starting_server_respects_the_timeout() {
    let api = FakeAdminApi::new(vec![
        (
            "POST /servers/slow/restart",
            vec![Reply::Json(
                202,
                json!({ "server": in_state("slow", "starting") }),
            )],
        ),
        (
            "GET /servers/slow",
            vec![Reply::Json(200, in_state("slow", "starting"))],
        ),
    ]);
    let ran = api.run(&["servers", "restart", "slow", "--wait", "1"]);
    assert!(api.asked().matches("GET").count() > 1, "{}", api.asked());
    expect![[r#"
        exit 1
        --- stdout
        restarted slow
        starting  slow  http
        --- stderr
        error: server 'slow' is not up after 1 s; it is still starting
          help: `narrows servers show slow` shows its state
    "#]]
    .assert_eq(&ran.shown());
}

#[test]
fn add_replace_puts_and_accepts_a_disabled_server() {
    let api = FakeAdminApi::new(vec![
        (
            "PUT /servers/a%2Fb?save=false",
            vec![Reply::Json(200, change(json!({ "restarted": ["a/b"] })))],
        ),
        (
            "GET /servers/a%2Fb",
            vec![Reply::Json(200, in_state("a/b", "disabled"))],
        ),
    ]);
    let entry = r#"{"url": "http://x", "disabled": true}"#;
    api.check(
        &["servers", "add", "a/b", "--replace", "--json", entry],
        expect![[r#"
            PUT /api/v1/servers/a%2Fb?save=false
              authorization: Bearer TOKEN
              host: ADDRESS
              {"config":{"url":"http://x","disabled":true}}
            GET /api/v1/servers/a%2Fb
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            replaced a/b
            not saved: the change lasts until the gateway exits; use --save to keep it
            disabled  a/b  http
            --- stderr
        "#]],
    );
}

#[test]
fn enable_waits_and_disable_and_remove_do_not() {
    let api = FakeAdminApi::new(vec![
        (
            "POST /servers/files/enable?save=false",
            vec![Reply::Json(200, change(json!({ "enabled": ["files"] })))],
        ),
        (
            "GET /servers/files",
            vec![
                Reply::Json(200, in_state("files", "disabled")),
                Reply::Json(200, up("files")),
            ],
        ),
    ]);
    api.check(
        &["servers", "enable", "files"],
        expect![[r#"
            POST /api/v1/servers/files/enable?save=false
              authorization: Bearer TOKEN
              host: ADDRESS
            GET /api/v1/servers/files
              authorization: Bearer TOKEN
              host: ADDRESS
            GET /api/v1/servers/files
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            enabled files
            not saved: the change lasts until the gateway exits; use --save to keep it
            up        files  stdio    2025-11-25, 0.35 s, 14 tools, ~2,113 tokens, 2 resources
            --- stderr
        "#]],
    );
    let changed = change(json!({ "disabled": ["files"], "saved_to": "/x/narrows.json" }));
    FakeAdminApi::json("POST /servers/files/disable?save=true", 200, changed).check(
        &["servers", "disable", "files", "--save"],
        expect![[r#"
            POST /api/v1/servers/files/disable?save=true
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            disabled files
            saved to /x/narrows.json
            --- stderr
        "#]],
    );
    let everything = json!({ "added": ["a"], "removed": ["b", "c"], "restarted": ["d"], "adjusted": ["e"],
        "endpoints": ["default"], "presets": ["p"], "clients": ["cursor"], "at_next_start": ["listen"] });
    let api = FakeAdminApi::json("DELETE /servers/files?save=false", 200, everything.clone());
    api.check(
        &["servers", "remove", "files"],
        expect![[r#"
            DELETE /api/v1/servers/files?save=false
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            added a
            removed b, c
            restarted d
            adjusted e
            endpoints changed: default
            presets changed: p
            clients changed: cursor
            takes effect after a restart: listen
            not saved: the change lasts until the gateway exits; use --save to keep it
            --- stderr
        "#]],
    );
    let ran = api.run(&["servers", "remove", "files", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(printed, everything);
}

#[test]
fn restart_waits_until_the_server_is_up() {
    let api = FakeAdminApi::new(vec![
        (
            "POST /servers/files/restart",
            vec![Reply::Json(
                202,
                json!({ "server": in_state("files", "starting") }),
            )],
        ),
        ("GET /servers/files", vec![Reply::Json(200, up("files"))]),
    ]);
    api.check(
        &["servers", "restart", "files"],
        expect![[r#"
        POST /api/v1/servers/files/restart
          authorization: Bearer TOKEN
          host: ADDRESS
        GET /api/v1/servers/files
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        restarted files
        up        files  stdio    2025-11-25, 0.35 s, 14 tools, ~2,113 tokens, 2 resources
        --- stderr
    "#]],
    );
    let ran = api.run(&["servers", "restart", "files", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(printed, json!({ "server": up("files") }));
}

#[test]
fn gateway_errors_are_printed_verbatim() {
    let unknown = "there is no server 'fils'; did you mean files?";
    FakeAdminApi::new(vec![(
        "GET /servers/fils",
        vec![error(404, "unknown", unknown)],
    )])
    .check(
        &["servers", "show", "fils"],
        expect![[r#"
        GET /api/v1/servers/fils
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 1
        --- stdout
        --- stderr
        error: there is no server 'fils'; did you mean files?
    "#]],
    );
    let exists = "server 'files' already exists";
    FakeAdminApi::new(vec![(
        "POST /servers?save=false",
        vec![error(409, "exists", exists)],
    )])
    .check(
        &["servers", "add", "files", "--url", "http://x"],
        expect![[r#"
            POST /api/v1/servers?save=false
              authorization: Bearer TOKEN
              host: ADDRESS
              {"id":"files","config":{"url":"http://x"}}
            exit 1
            --- stdout
            --- stderr
            error: server 'files' already exists
              help: use --replace to replace it
        "#]],
    );
    let disabled = error(409, "disabled", "server 'off' is disabled");
    let ran = FakeAdminApi::new(vec![("POST /servers/off/restart", vec![disabled])]);
    let ran = ran.run(&["servers", "restart", "off"]);
    expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: server 'off' is disabled
          help: `narrows servers enable` enables it
    "#]]
    .assert_eq(&ran.shown());
    let wrong = json!({ "error": { "code": "invalid", "message": "the resulting configuration would be invalid",
        "problems": ["server 'x': `url` is no URL", "server 'x': `tipe` is unknown\n; did you mean type?"] } });
    FakeAdminApi::new(vec![(
        "POST /servers?save=true",
        vec![Reply::Json(422, wrong)],
    )])
    .check(
        &["servers", "add", "x", "--save", "--url", "y"],
        expect![[r#"
            POST /api/v1/servers?save=true
              authorization: Bearer TOKEN
              host: ADDRESS
              {"id":"x","config":{"url":"y"}}
            exit 2
            --- stdout
            --- stderr
            error: the resulting configuration would be invalid
              server 'x': `url` is no URL
              server 'x': `tipe` is unknown\n; did you mean type?
        "#]],
    );
}
