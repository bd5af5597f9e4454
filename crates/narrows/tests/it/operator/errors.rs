//! Tests of failures between the command and the gateway.

use std::net::TcpListener;

use expect_test::{Expect, expect};
use serde_json::json;

use super::api::{FakeAdminApi, Reply, TOKEN, announce, error, with_head};
use crate::program::{Folder, ProgramOutput};

#[track_caller]
fn check(reply: Reply, arguments: &[&str], expected: Expect) {
    let api = FakeAdminApi::new(vec![("GET /servers", vec![reply])]);
    let ran = api.run(arguments);
    expected.assert_eq(&api.shown(&ran));
}

#[test]
fn api_errors_are_printed_with_help() {
    let servers = &["servers"];
    check(
        error(401, "unauthorized", "no"),
        servers,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS does not accept the token in its runtime file 'HOME/.local/state/narrows/run/PORT.json'
          help: if the gateway has just restarted, try again
    "#]],
    );
    check(
        error(403, "forbidden", "not from this machine"),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: not from this machine
              help: it accepts requests only from its own machine unless its `admin.remote` is true
        "#]],
    );
    check(
        error(429, "too_many", "too many wrong tokens"),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: too many wrong tokens
              help: wait a moment and check the token
        "#]],
    );
    check(
        error(507, "unwritable", "the file cannot be written: full"),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the file cannot be written: full
        "#]],
    );
    check(
        error(400, "malformed", "no JSON"),
        servers,
        expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: no JSON
    "#]],
    );
}

#[test]
fn rejected_token_is_named_by_its_source() {
    let api = FakeAdminApi::new(vec![(
        "GET /servers",
        vec![error(401, "unauthorized", "no")],
    )]);
    api.folder.write("token", "nra_of-a-file\n");
    let ran = api.run(&["servers", "--token-file", "token"]);
    let mut reported = ran.shown();
    let mut command = api.folder.command(&["servers"]);
    let output = command
        .env("NARROWS_ADMIN_TOKEN", "nra_of-a-variable")
        .output();
    reported.push_str(&ProgramOutput::from(output.expect("it can be run")).shown());
    let reported = reported.replace(&api.address, "ADDRESS");
    assert!(!reported.contains("nra_of"), "{reported}");
    expect![[r#"
        GET /api/v1/servers
          authorization: Bearer nra_of-a-file
          host: ADDRESS
        GET /api/v1/servers
          authorization: Bearer nra_of-a-variable
          host: ADDRESS
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS does not accept the token in 'token'
          help: for your own gateway on this machine, leave the token out
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS does not accept the token in NARROWS_ADMIN_TOKEN
          help: for your own gateway on this machine, leave the token out
    "#]]
    .assert_eq(&format!("{}{reported}", api.asked()));
}

#[test]
fn invalid_responses_are_reported() {
    let servers = &["servers"];
    check(
        Reply::Bytes(with_head(200, "text/html", "<html>")),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it is not JSON
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
    check(
        Reply::Json(200, json!({ "servers": 1 })),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it has an unexpected format
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
    check(
        Reply::Json(200, json!([])),
        &["servers", "--json"],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it has an unexpected format
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
    check(
        Reply::Bytes(with_head(404, "text/html", "<html>")),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: http://ADDRESS returned HTTP 404, which is not a response of a Narrows gateway
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
    let to = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    check(
        Reply::Bytes(to.to_vec()),
        servers,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS returned HTTP 302, which is not a response of a Narrows gateway
          help: use the final address; tokens are not sent to redirect targets
    "#]],
    );
    check(
        Reply::Bytes(b"SSH-2.0-x\r\n".to_vec()),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it is not HTTP
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
    check(
        Reply::Bytes(Vec::new()),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the connection to http://ADDRESS closed before the response was complete
        "#]],
    );
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"servers\"";
    check(
        Reply::Bytes(cut.to_vec()),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the connection to http://ADDRESS closed before the response was complete
        "#]],
    );
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    check(
        Reply::Bytes(with_head(200, "application/json", &deep)),
        servers,
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it is not JSON
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
}

#[test]
fn unanswered_change_is_reported_as_possibly_made() {
    let request = "POST /servers/files/restart";
    let api = FakeAdminApi::new(vec![(request, vec![Reply::Bytes(Vec::new())])]);
    let ran = api.run(&["servers", "restart", "files"]);
    // The request is not repeated.
    api.compare(
        &ran,
        expect![[r#"
        POST /api/v1/servers/files/restart
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 1
        --- stdout
        --- stderr
        error: the connection to http://ADDRESS closed before the response was complete
          help: the change may have been made; check with `narrows servers`
    "#]],
    );
    let conflict = error(409, "no_file", "there is no configuration file to write to");
    let api = FakeAdminApi::new(vec![("DELETE /presets/p?save=true", vec![conflict])]);
    let ran = api.run(&["presets", "delete", "p", "--save"]);
    expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: there is no configuration file to write to
          help: start the gateway with --config FILE; without --save the change lasts until it ends
    "#]]
    .assert_eq(&ran.shown());
}

#[test]
fn missing_response_times_out() {
    let slow = &["servers", "--timeout", "1"];
    check(
        Reply::Held(Vec::new()),
        slow,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS did not respond within 1 s
          help: use --timeout S to wait longer
    "#]],
    );
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"servers\"".to_vec();
    check(
        Reply::Held(half),
        slow,
        expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: http://ADDRESS did not respond within 1 s
          help: use --timeout S to wait longer
    "#]],
    );
    let events = FakeAdminApi::new(vec![("GET /events", vec![Reply::Held(Vec::new())])]);
    let ran = events.run(&["sessions", "watch", "--timeout", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
}

#[test]
fn oversized_response_is_aborted() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 70000000\r\n\r\n".to_vec();
    let body = vec![b' '; 68 * 1024 * 1024];
    check(
        Reply::Bytes([head, body].concat()),
        &["servers"],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: the response of http://ADDRESS is invalid: it is longer than 64 MiB
              help: check that it is `narrows serve` in the same version as this program
        "#]],
    );
}

#[test]
fn token_in_a_response_is_redacted() {
    let says = |text: String| error(404, "unknown", &text);
    check(
        says(format!("no {TOKEN} here")),
        &["servers"],
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: no (the token) here
        "#]],
    );
    let problem = json!({ "error": { "code": "x", "message": "m", "problems": [TOKEN] } });
    check(
        Reply::Json(422, problem),
        &["servers"],
        expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: m
          (the token)
    "#]],
    );
    let server = json!({ "id": TOKEN, "state": "up", "transport": TOKEN });
    let all = json!({ "servers": [server] });
    check(
        Reply::Json(200, all.clone()),
        &["servers"],
        expect![[r#"
        exit 0
        --- stdout
        up        (the token)  (the token)  0 tools
        1 of 1 server up, 0 tools, ~0 tokens
        --- stderr
    "#]],
    );
    check(
        Reply::Json(200, all),
        &["servers", "--json", "--log-level", "trace"],
        expect![[r#"
            exit 0
            --- stdout
            {
              "servers": [
                {
                  "id": "(the token)",
                  "state": "up",
                  "transport": "(the token)"
                }
              ]
            }
            --- stderr
        "#]],
    );
    let api = FakeAdminApi::new(vec![("GET /servers", vec![says("x".to_owned())])]);
    let mut command = api.folder.command(&["servers"]);
    let output = command
        .env("NARROWS_LOG", "trace")
        .output()
        .expect("it can be run");
    let shown = ProgramOutput::from(output).shown();
    assert!(
        shown.contains("TRACE") || shown.contains("trace"),
        "{shown}"
    );
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[test]
fn refused_connection_is_reported() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    drop(listener);
    announce(&folder, &address, None);
    let shown = folder
        .run(&["sessions"])
        .shown()
        .replace(&address, "ADDRESS");
    expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: no gateway is running at http://ADDRESS
          help: start one with `narrows serve`
    "#]]
    .assert_eq(&shown);
    expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: you have no gateway running on this machine
          help: start one with `narrows serve`, or use --url and --token-file for a gateway elsewhere
    "#]]
    .assert_eq(&Folder::new().run(&["presets"]).shown());
}
