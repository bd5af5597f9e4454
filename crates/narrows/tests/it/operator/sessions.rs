//! Tests of `narrows sessions`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};

use super::api::{FakeAdminApi, Reply, TOKEN, error, with_head};
use crate::program::RunningProgram;

fn sessions() -> Value {
    json!({ "sessions": [
        { "number": 3, "endpoint": "default", "client": "cursor", "program": "Cursor\u{7} 1.2",
          "revision": "2025-11-25", "own_preset": null, "presets": ["review", "public"],
          "age_s": 4000, "silence_s": 12.4, "calls_in_flight": 2, "calls": 240 },
        { "number": 12, "endpoint": "files", "client": null, "program": null, "revision": "2025-06-18",
          "own_preset": null, "presets": [], "age_s": 9, "silence_s": 0, "calls_in_flight": 0, "calls": 0 },
    ] })
}

fn call(error: Value) -> Value {
    json!({ "at": "2026-07-28T09:05:07.089Z", "session": 3, "endpoint": "default", "client": "cursor",
        "method": "tools/call", "name": "files__read", "server": "files", "elapsed_us": 12400,
        "bytes_in": 210, "bytes_out": 10500, "error": error })
}

#[test]
fn sessions_are_listed() {
    let api = || FakeAdminApi::json("GET /sessions", 200, sessions());
    api().check(&["sessions"], expect![[r#"
        GET /api/v1/sessions
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        session  endpoint  client  program          revision    reads  presets         age     silent  calls
        3        default   cursor  Cursor\u{7} 1.2  2025-11-25  -      review, public  67 min  12 s    240 (2 running)
        12       files     -       -                2025-06-18  -      -               9 s     0 s     0
        2 sessions
        --- stderr
    "#]]);
    let ran = api().run(&["sessions", "list", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(printed, sessions());
    let api = FakeAdminApi::json("GET /sessions", 200, json!({ "sessions": [] }));
    assert_eq!(api.run(&["sessions"]).stdout, "there are no sessions\n");
}

#[test]
fn session_is_closed() {
    let api = || FakeAdminApi::json("DELETE /sessions/12", 204, Value::Null);
    api().check(
        &["sessions", "end", "12"],
        expect![[r#"
        DELETE /api/v1/sessions/12
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        session 12 has ended
        --- stderr
    "#]],
    );
    assert_eq!(api().run(&["sessions", "end", "12", "--json"]).stdout, "");
    let none = error(404, "unknown", "there is no session 12");
    FakeAdminApi::new(vec![("DELETE /sessions/12", vec![none])]).check(
        &["sessions", "end", "12"],
        expect![[r#"
            DELETE /api/v1/sessions/12
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 1
            --- stdout
            --- stderr
            error: there is no session 12
        "#]],
    );
}

#[test]
fn the_last_calls_are_listed() {
    let failed = call(json!({ "code": "upstream_down", "fault": "upstream" }));
    let calls = json!({ "calls": [call(Value::Null), failed] });
    let api = FakeAdminApi::json("GET /calls", 200, calls.clone());
    api.check(&["sessions", "calls"], expect![[r#"
        GET /api/v1/calls
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        time      session  endpoint  client  method      name         server  took   bytes         result
        09:05:07  3        default   cursor  tools/call  files__read  files   12 ms  210 > 10,500  ok
        09:05:07  3        default   cursor  tools/call  files__read  files   12 ms  210 > 10,500  upstream_down (fault of the upstream)
        --- stderr
    "#]]);
    let request = "GET /calls?limit=5&server=a%2Fb&client=c&method=tools%2Fcall&failed=true";
    let api = FakeAdminApi::json(request, 200, calls.clone());
    let filters = [
        "--limit",
        "5",
        "--server",
        "a/b",
        "--client",
        "c",
        "--method",
        "tools/call",
    ];
    let arguments = [&["sessions", "calls", "--failed", "--json"], &filters[..]].concat();
    let ran = api.run(&arguments);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, printed), (Some(0), calls));
    let api = FakeAdminApi::json("GET /calls", 200, json!({ "calls": [] }));
    assert_eq!(
        api.run(&["sessions", "calls"]).stdout,
        "there are no matching calls\n"
    );
}

/// Returns a stream of events. One of them repeats the token.
fn stream() -> Vec<u8> {
    let happenings = [
        (
            "server_state",
            json!({ "server": "files", "state": "down", "reason": format!("no {TOKEN}\u{1b}") }),
        ),
        (
            "session_opened",
            json!({ "session": 4, "endpoint": "default", "client": "cursor" }),
        ),
        ("call", call(Value::Null)),
        (
            "call",
            call(json!({ "code": "timeout", "fault": "upstream" })),
        ),
        ("preset_switched", json!({ "session": 4, "preset": null })),
        ("lists_changed", json!({ "endpoint": "default" })),
        (
            "tool_changed",
            json!({ "server": "files", "tool": "read", "changed": ["description", "inputSchema"],
                "old": "00", "new": "01" }),
        ),
        (
            "settings_changed",
            json!({ "added": ["new"], "endpoints": ["lazy"] }),
        ),
        (
            "settings_refused",
            json!({ "problems": ["line 3: no", "line 4: no"] }),
        ),
        ("session_closed", json!({ "session": 4 })),
        ("of_tomorrow", json!({ "a": 1 })),
    ];
    let mut text = ":\n\n".to_owned();
    for (name, mut data) in happenings {
        data["event"] = json!(name);
        text.push_str(&format!("event: {name}\ndata: {data}\n\n"));
    }
    text.push_str("event: missed\ndata: {\"count\": 7}\n\n");
    text.into_bytes()
}

fn streamed(end: &str) -> Vec<u8> {
    let body = stream();
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let start = format!("{head}{:x}\r\n", body.len());
    [start.as_bytes(), &body, format!("\r\n{end}").as_bytes()].concat()
}

#[test]
fn events_are_printed_line_by_line() {
    let api = FakeAdminApi::new(vec![(
        "GET /events?calls=true",
        vec![Reply::Bytes(streamed("0\r\n\r\n"))],
    )]);
    let ran = api.run(&["sessions", "watch"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    // Times are those of the test run, except for calls.
    let lines = ran.stdout.lines().map(|line| match line.contains("call") {
        true => format!("{line}\n"),
        false => format!("{}\n", line.get(10..).unwrap_or(line)),
    });
    let text = format!("{}{}{}", api.asked(), lines.collect::<String>(), ran.stderr);
    expect![[r#"
        GET /api/v1/events?calls=true
          authorization: Bearer TOKEN
          host: ADDRESS
        server  files is down: no (the token)\u{1b}
        session 4 opened at default by cursor
        09:05:07  call    session 3 of cursor: tools/call files__read, 12 ms, ok
        09:05:07  call    session 3 of cursor: tools/call files__read, 12 ms, timeout (fault of the upstream)
        session 4 now has no preset of its own
        lists   of default changed
        tool    files changed read: description, inputSchema
        config  added new; endpoints changed: lazy
        config  the new file was rejected: line 3: no; line 4: no
        session 4 closed
        of_tomorrow  {"a":1,"event":"of_tomorrow"}
        missed  7 events: the stream was read too slowly
        the gateway has shut down
    "#]].assert_eq(&text);
    let ran = api.run(&["sessions", "watch", "--json"]);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 12);
    assert_eq!(
        lines[1],
        json!({ "session": 4, "endpoint": "default", "client": "cursor", "event": "session_opened" })
    );
    assert_eq!(lines[11], json!({ "count": 7, "event": "missed" }));
}

#[test]
fn interrupted_stream_is_a_failure() {
    let api = FakeAdminApi::new(vec![(
        "GET /events?calls=true",
        vec![Reply::Bytes(streamed("5\r\nab"))],
    )]);
    let ran = api.run(&["sessions", "watch"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(1), 12));
    expect![[r#"
        error: the connection to http://ADDRESS closed before the response was complete
    "#]]
    .assert_eq(&ran.stderr.replace(&api.address, "ADDRESS"));
    for reply in [
        Reply::Json(200, json!({})),
        Reply::Bytes(with_head(200, "text/event-stream", "data: no json\n\n")),
        error(401, "unauthorized", "no"),
        Reply::Bytes(with_head(500, "text/html", "<b>")),
    ] {
        let shown = format!("{reply:?}");
        let api = FakeAdminApi::new(vec![("GET /events?calls=true", vec![reply])]);
        let ran = api.run(&["sessions", "watch"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{shown}");
        assert!(ran.stderr.starts_with("error: "), "{shown}: {}", ran.stderr);
    }
}

#[test]
fn ctrl_c_and_closed_stdout_exit_successfully() {
    let api = FakeAdminApi::new(vec![(
        "GET /events?calls=true",
        vec![Reply::Held(streamed(""))],
    )]);
    for signal in ["INT", "TERM"] {
        let mut running = RunningProgram::start(api.folder.command(&["sessions", "watch"]));
        let stdout = running.child.stdout.take().expect("stdout is a pipe");
        let lines: Vec<_> = BufReader::new(stdout).lines().take(11).collect();
        assert_eq!(lines.len(), 11);
        running.signal(signal);
        let ran = running.wait();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{signal}");
    }
    let mut command = api.folder.command(&["sessions", "watch"]);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be run");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
