//! Tests of `tools`, `call`, `stdio` and `check` with presets and with endpoints that do not list
//! their tools.

use expect_test::{Expect, expect};
use narrows_testkit::raw::Stdio;
use serde_json::{Value, json};

use super::check;
use crate::gateway::{Gateway, REVISION, column};
use crate::program::{Folder, ProgramOutput};

/// A default endpoint with a preset, one without, and one with another preset.
const REVIEW: &str = r#"{
    "mcpServers": { "demo": { "type": "builtin" }, "more": { "type": "builtin", "name": "demo" } },
    "presets": { "review": { "tools": ["demo/*", "!demo/touch_*", "!demo/count"], "prompts": [] },
                 "echo": { "tools": ["*/echo"] } },
    "endpoints": { "default": { "preset": "review" }, "free": {}, "small": { "preset": "echo", "separator": ":" } } }"#;

fn json_of(ran: &ProgramOutput) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn tools_shows_the_visible_tools_of_a_preset() {
    let folder = Folder::with(REVIEW);
    check(
        &folder.run(&["tools"]),
        expect![[r#"
            exit 0
            --- stdout
            demo  N tools, N tokens, 2 hidden by preset 'review'
              demo__echo              ~70  Returns the given text unchanged.
              demo__sample_log        ~94  A long log of a web shop, the same every time, with a few errors in it.
              demo__sample_table      ~93  A large table of orders as JSON text: an array of objects with the same keys.
              demo__ask_name          ~63  Asks the user for a name with a form, and greets them.
            more  N tools, N tokens, 6 hidden by preset 'review'
            total: N tools, N tokens, 8 hidden by preset 'review', and recover_text of the gateway, N tokens
            --- stderr
        "#]],
    );
    check(
        &folder.run(&["tools", "--endpoint", "small"]),
        expect![[r#"
            exit 0
            --- stdout
            demo  1 tool, N tokens, 5 hidden by preset 'echo'
              demo:echo      ~70  Returns the given text unchanged.
            more  1 tool, N tokens, 5 hidden by preset 'echo'
              more:echo      ~70  Returns the given text unchanged.
            total: N tools, N tokens, 10 hidden by preset 'echo', and recover_text of the gateway, N tokens
            --- stderr
        "#]],
    );
    let free = folder.run(&["tools", "--endpoint", "free"]).stdout;
    assert!(
        !free.contains("hidden") && free.contains("demo__count"),
        "{free}"
    );
    let other = folder.run(&["tools", "--preset", "echo"]).stdout;
    assert!(
        other.contains("more__echo") && !other.contains("ask_name"),
        "{other}"
    );
}

#[test]
fn tools_json_includes_hidden_and_listed_tools() {
    let folder = Folder::with(REVIEW);
    let all = json_of(&folder.run(&["tools", "--json"]));
    assert_eq!(all["endpoint"], "default");
    assert_eq!(
        (&all["expose"], &all["preset"]),
        (&json!("all"), &json!("review"))
    );
    assert_eq!(all["tools"], 4);
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools.as_array().expect("a list").iter();
        tools
            .map(|tool| tool["published"].as_str().expect("a name").to_owned())
            .collect()
    };
    let demo = &all["servers"][0];
    assert_eq!(
        names(&demo["tools"]),
        [
            "demo__echo",
            "demo__sample_log",
            "demo__sample_table",
            "demo__ask_name"
        ]
    );
    expect![[r#"[{"name":"count","published":"demo__count","reason":"`!demo/count` of preset 'review' forbids it"},{"name":"touch_readme","published":"demo__touch_readme","reason":"`!demo/touch_*` of preset 'review' forbids it"}]"#]].assert_eq(&demo["hidden"].to_string());
    assert_eq!(names(&all["servers"][1]["tools"]), [""; 0]);
    assert_eq!(names(&all["servers"][1]["hidden"]).len(), 6);
    let listed = &all["listed"];
    assert_eq!(
        listed["tools"].as_array().map(Vec::len),
        Some(5),
        "{listed}"
    );
    assert!(
        listed["tools"]
            .as_array()
            .is_some_and(|it| it.contains(&json!("recover_text")))
    );
    assert!(
        listed["tokens"].as_u64() > all["tokens"].as_u64(),
        "{listed}"
    );
    let one = json_of(&folder.run(&["tools", "demo", "--json"]));
    assert_eq!(one["listed"], Value::Null);
    let free = json_of(&folder.run(&["tools", "--endpoint", "free", "--json"]));
    assert_eq!(
        (&free["preset"], &free["tools"]),
        (&Value::Null, &json!(12))
    );
}

#[test]
fn lazy_endpoint_has_the_preset_of_the_default_endpoint() {
    let folder = Folder::with(REVIEW);
    let lazy = json_of(&folder.run(&["tools", "--endpoint", "lazy", "--json"]));
    assert_eq!(
        (&lazy["expose"], &lazy["preset"]),
        (&json!("lazy"), &json!("review"))
    );
    assert_eq!(
        lazy["tools"], 4,
        "what is hidden is no more there than elsewhere"
    );
    let ran = folder.run(&["tools", "--endpoint", "lazy"]);
    let last = ran.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("listed at start: "), "{}", ran.stdout);
    assert!(last.contains(" tokens instead of ~"), "{last}");
    let one = folder.run(&["tools", "demo", "--endpoint", "lazy"]).stdout;
    assert!(!one.contains("listed at start"), "{one}");
    let built_in = Folder::new().run(&["tools", "--endpoint", "lazy", "--json"]);
    assert_eq!(json_of(&built_in)["expose"], "lazy");
}

/// A lazy endpoint, a search endpoint, and one without shaping.
const EXPOSED: &str = r#"{
    "mcpServers": { "demo": { "type": "builtin" } },
    "endpoints": { "find": { "expose": "search", "pin": ["demo/echo"] },
                   "uncut": { "expose": "lazy", "shape": false } } }"#;

#[test]
fn tools_shows_the_gateways_own_tools() {
    let folder = Folder::with(EXPOSED);
    for (endpoint, tools) in [
        ("lazy", json!(["inspect", "exec"])),
        (
            "find",
            json!(["search_tools", "inspect", "exec", "demo__echo"]),
        ),
    ] {
        let reported = json_of(&folder.run(&["tools", "--endpoint", endpoint, "--json"]));
        let listed = &reported["listed"]["tools"];
        let sorted = |names: &Value| {
            let mut names = names.as_array().cloned().unwrap_or_default();
            names.sort_by_key(Value::to_string);
            names
        };
        assert_eq!(sorted(listed), sorted(&tools), "{endpoint}");
        for name in tools.as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let why = folder.run(&["tools", "--why", name, "--endpoint", endpoint]);
            assert!(why.stdout.contains(": available"), "{}", why.shown());
        }
        let people = folder.run(&["tools", "--endpoint", endpoint]).stdout;
        let names = tools.as_array().into_iter().flatten();
        let last = people.lines().last().unwrap_or_default();
        for name in names.filter_map(Value::as_str) {
            assert!(last.contains(name), "{last}");
        }
    }
}

#[test]
fn why_works_on_endpoints_with_unlisted_tools() {
    let folder = Folder::with(EXPOSED);
    let mut reported = String::new();
    for (name, endpoint) in [
        ("demo__count", "lazy"),
        ("demo/count", "lazy"),
        ("demo__cuont", "lazy"),
        ("inspect", "lazy"),
        ("exec", "lazy"),
        ("search_tools", "lazy"),
        ("recover_text", "lazy"),
        ("recover_text", "uncut"),
        ("demo__echo", "find"),
        ("demo__count", "find"),
        ("search_tools", "find"),
        ("recover_text", "find"),
        ("exec", "default"),
        ("search_tools", "default"),
    ] {
        let ran = folder.run(&["tools", "--why", name, "--endpoint", endpoint]);
        let code = ran.code.unwrap_or(-1);
        reported.push_str(&format!("{endpoint} {code} {}{}", ran.stdout, ran.stderr));
    }
    expect![[r#"
        lazy 0 demo__count: tool 'count' of server 'demo' is available through exec(server_name: "demo", tool_name: "count")
        lazy 0 demo/count: tool 'count' of server 'demo' is available through exec(server_name: "demo", tool_name: "count")
        lazy 1 demo__cuont: server 'demo' is up, but has no tool 'cuont'; did you mean count?
        lazy 0 inspect: available: the gateway's own tool that describes the others
        lazy 0 exec: available: the gateway's own tool that calls the others
        lazy 1 search_tools: not offered: it is the gateway's own tool on endpoints with "expose": "search", but endpoint 'lazy' has "lazy"
        lazy 0 recover_text: the gateway's own tool that recovers text cut from results is available through exec(server_name: "narrows", tool_name: "recover_text")
        uncut 1 recover_text: not offered: it is the gateway's own tool that recovers text cut from results, but this endpoint cuts nothing (`shape`)
        find 0 demo__echo: available: tool 'echo' of server 'demo'
        find 0 demo__count: tool 'count' of server 'demo' is available through exec(server_name: "demo", tool_name: "count")
        find 0 search_tools: available: the gateway's own tool that finds the others
        find 0 recover_text: the gateway's own tool that recovers text cut from results is available through exec(server_name: "narrows", tool_name: "recover_text")
        default 1 exec: not offered: it is the gateway's own tool on endpoints with "expose": "lazy" or "search", but endpoint 'default' has "all"
        default 1 search_tools: not offered: it is the gateway's own tool on endpoints with "expose": "search", but endpoint 'default' has "all"
    "#]].assert_eq(&reported);
    let why = folder.run(&[
        "tools",
        "--why",
        "demo__count",
        "--endpoint",
        "lazy",
        "--json",
    ]);
    let why = json_of(&why);
    assert_eq!(
        (&why["there"], &why["server"], &why["tool"]),
        (&json!(true), &json!("demo"), &json!("count"))
    );
}

#[test]
fn call_reaches_unlisted_tools() {
    let folder = Folder::with(EXPOSED);
    let text = r#"{"text": "hi"}"#;
    for arguments in [
        &["call", "demo", "echo", text, "--endpoint", "lazy"][..],
        &["call", "demo__echo", text, "--endpoint", "lazy"],
        &["call", "demo/echo", text, "--endpoint", "find"],
        &["call", "demo", "echo", text, "--endpoint", "find"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "hi\n"),
            "{arguments:?}: {}",
            ran.shown()
        );
    }
    let ran = folder.run(&["call", "demo", "ecko", text, "--endpoint", "lazy"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stderr.contains("did you mean echo?"), "{}", ran.stderr);
}

#[test]
fn hidden_tool_is_not_shown_but_reported_as_hidden() {
    let folder = Folder::with(REVIEW);
    let mut reported = String::new();
    for arguments in [
        &["tools", "demo", "count"][..],
        &["tools", "demo", "conut"],
        &["tools", "--why", "demo__count"],
        &["tools", "--why", "demo__count", "--endpoint", "lazy"],
        &["tools", "--why", "more/echo"],
        &["tools", "--why", "demo__count", "--endpoint", "free"],
        &["tools", "--why", "demo__count", "--preset", "echo"],
        &["tools", "--why", "recover_text"],
        &["tools", "--why", "inspect"],
        &["call", "demo", "count"],
        &["call", "demo__count"],
        &["call", "more", "echo", r#"{"text": "hi"}"#],
        &[
            "call",
            "more",
            "echo",
            r#"{"text": "hi"}"#,
            "--endpoint",
            "small",
        ],
        &[
            "call",
            "more:echo",
            r#"{"text": "hi"}"#,
            "--endpoint",
            "small",
        ],
        &["call", "demo", "ask_name", "--endpoint", "small"],
        &["call", "nowhere"],
    ] {
        let ran = folder.run(arguments);
        let code = ran.code.unwrap_or(-1);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        reported.push_str(&format!("$ {}: {code}\n{said}", arguments.join(" ")));
    }
    expect![[r#"
        $ tools demo count: 1
        error: tool 'count' of server 'demo' is hidden here: `!demo/count` of preset 'review' forbids it
        $ tools demo conut: 1
        error: server 'demo' has no tool 'conut'; available: echo, sample_log, sample_table, ask_name
        $ tools --why demo__count: 1
        demo__count: not offered: `!demo/count` of preset 'review' forbids it
        $ tools --why demo__count --endpoint lazy: 1
        demo__count: not offered: `!demo/count` of preset 'review' forbids it
        $ tools --why more/echo: 1
        more/echo: not offered: preset 'review' allows nothing on its server
        $ tools --why demo__count --endpoint free: 0
        demo__count: available: tool 'count' of server 'demo'
        $ tools --why demo__count --preset echo: 1
        demo__count: not offered: no entry of preset 'echo' allows it
        $ tools --why recover_text: 0
        recover_text: available: the gateway's own tool that recovers text cut from results
        $ tools --why inspect: 1
        inspect: not offered: it is the gateway's own tool on endpoints with "expose": "lazy" or "search", but endpoint 'default' has "all"
        $ call demo count: 1
        error: Tool 'demo__count' is not allowed by current preset: `!demo/count` of preset 'review' forbids it
        $ call demo__count: 1
        error: Tool 'demo__count' is not allowed by current preset: `!demo/count` of preset 'review' forbids it
        $ call more echo {"text": "hi"}: 1
        error: Tool 'more__echo' is not allowed by current preset: preset 'review' allows nothing on its server
        $ call more echo {"text": "hi"} --endpoint small: 0
        hi
        $ call more:echo {"text": "hi"} --endpoint small: 0
        hi
        $ call demo ask_name --endpoint small: 1
        error: Tool 'demo:ask_name' is not allowed by current preset: no entry of preset 'echo' allows it
        $ call nowhere: 1
        error: there is no tool 'nowhere'; available: demo__echo, demo__sample_log, demo__sample_table, demo__ask_name
          help: narrows tools lists them
    "#]].assert_eq(&reported);
    let why = folder.run(&["tools", "--why", "demo__count", "--json"]);
    expect![[r#"{"name":"demo__count","there":false,"server":"demo","tool":"count","published":"demo__count","preset":"review","rule":"!demo/count","reason":"not offered: `!demo/count` of preset 'review' forbids it","nearest":[]}"#]].assert_eq(&json_of(&why).to_string());
}

/// Returns the names in `tools/list` over stdio.
async fn listed_on_stdio(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let arguments = [&["stdio"], arguments].concat();
    let mut command = tokio::process::Command::from(folder.command(&arguments));
    let mut client = Stdio::start(&mut command);
    client.initialize(REVISION, json!({})).await;
    let list = client.call("tools/list", json!({})).await;
    let names = column(&list, "tools", "name");
    names.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn stdio_endpoint_can_use_another_preset() {
    let folder = Folder::with(REVIEW);
    assert_eq!(
        listed_on_stdio(&folder, &[]).await,
        [
            "demo__echo",
            "demo__sample_log",
            "demo__sample_table",
            "demo__ask_name",
            "recover_text"
        ]
    );
    assert_eq!(
        listed_on_stdio(&folder, &["--preset", "echo"]).await,
        ["demo__echo", "more__echo", "recover_text"]
    );
    assert_eq!(
        listed_on_stdio(&folder, &["--endpoint", "small"]).await,
        ["demo:echo", "more:echo", "recover_text"]
    );
    let narrower = [
        "--endpoint",
        "small",
        "--preset",
        "review",
        "--expose",
        "all",
    ];
    let names = listed_on_stdio(&folder, &narrower).await;
    assert_eq!(names.first().map(String::as_str), Some("demo:echo"));
    assert!(!names.contains(&"more:echo".to_owned()), "{names:?}");
}

#[test]
fn unknown_preset_is_a_usage_error() {
    let folder = Folder::with(REVIEW);
    for arguments in [
        &["stdio", "--preset", "reviw"][..],
        &["tools", "--preset", "reviw"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        let reported = "error: there is no preset 'reviw'; did you mean review?\n";
        assert_eq!(ran.stderr, reported);
    }
    let ran = folder.run(&["stdio", "--endpoint", "lzay"]);
    assert!(ran.stderr.contains("did you mean lazy?"), "{}", ran.stderr);
}

/// Creates a configuration with a folder of presets, one of which is invalid.
fn with_files(endpoints: &str) -> Folder {
    let folder = Folder::with(&format!(
        r#"{{"mcpServers": {{"demo": {{"type": "builtin"}}}}, "preset_dir": "presets", "endpoints": {endpoints}}}"#
    ));
    std::fs::create_dir(folder.path().join("presets")).expect("a folder can be made");
    let dev = r#"{"id":"dev","name":"Developer","description":"...","tools":[{"serverId":"demo","toolName":"echo","enabled":true}],"prompts":null,"resources":[]}"#;
    folder.write("presets/preset_dev.json", dev);
    folder.write("presets/preset_broken.json", "{\n  \"tools\": [,]\n}");
    folder
}

#[track_caller]
fn check_all(folder: &Folder, commands: &[&[&str]], expected: Expect) {
    let mut reported = String::new();
    for arguments in commands {
        let ran = folder.run(arguments);
        reported.push_str(&format!("$ {}\n{}", arguments.join(" "), ran.shown()));
    }
    expected.assert_eq(&reported);
}

#[test]
fn unused_invalid_preset_is_a_warning() {
    let folder = with_files(r#"{"default": {"preset": "dev"}}"#);
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    expect![[r#"
        warning: presets/preset_broken.json:2:13: this is not valid JSON: unexpected comma; the file is skipped
    "#]].assert_eq(&ran.stderr);
    let problems = json_of(&folder.run(&["check", "--json"]))["problems"].clone();
    expect![[r#"[{"severity":"warning","file":"presets/preset_broken.json","line":2,"column":13,"path":null,"server":null,"message":"this is not valid JSON: unexpected comma; the file is skipped","help":null}]"#]].assert_eq(&problems.to_string());
    let tools = folder.run(&["tools"]).stdout;
    assert!(
        tools.contains("demo  1 tool,") && tools.contains("5 hidden by preset 'dev'"),
        "{tools}"
    );
}

#[tokio::test]
async fn invalid_preset_in_use_allows_nothing_and_is_an_error() {
    let folder = with_files(r#"{"default": {"preset": "broken"}}"#);
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    expect![[r#"
        error: narrows.json:1:108: the file of preset `broken` is skipped: nothing is allowed here
          path: endpoints.default.preset
          help: `narrows check` shows the problem in the file
        warning: presets/preset_broken.json:2:13: this is not valid JSON: unexpected comma; the file is skipped
        The configuration has 1 error.
    "#]].assert_eq(&ran.stderr);
    check_all(
        &folder,
        &[
            &["tools"],
            &["call", "demo", "echo"],
            &["stdio", "--preset", "broken"],
        ],
        expect![[r#"
            $ tools
            exit 0
            --- stdout
            demo  0 tools, ~0 tokens, 6 hidden by preset 'broken'
            total: 0 tools, ~0 tokens, 6 hidden by preset 'broken', and recover_text of the gateway, ~423 tokens
            --- stderr
            warning: narrows.json:1:108: the file of preset `broken` is skipped: nothing is allowed here (endpoints.default.preset); `narrows check` shows the problem in the file
            $ call demo echo
            exit 1
            --- stdout
            --- stderr
            warning: narrows.json:1:108: the file of preset `broken` is skipped: nothing is allowed here (endpoints.default.preset); `narrows check` shows the problem in the file
            error: Tool 'demo__echo' is not allowed by current preset: preset 'broken' allows nothing on its server
            $ stdio --preset broken
            exit 2
            --- stdout
            --- stderr
            error: narrows.json:1:108: the file of preset `broken` is skipped: nothing is allowed here
              path: endpoints.default.preset
              help: `narrows check` shows the problem in the file
            warning: presets/preset_broken.json:2:13: this is not valid JSON: unexpected comma; the file is skipped
            error: the file of preset 'broken' cannot be used
        "#]],
    );
    assert_eq!(listed_on_stdio(&folder, &[]).await, ["recover_text"]);
    let log = folder.run(&["stdio"]).stderr;
    assert!(log.contains("nothing is allowed here"), "{log}");
}

#[tokio::test]
async fn every_entrypoint_uses_its_configured_preset() {
    let demo = |preset: Value| json!({ "type": "builtin", "name": "demo", "preset": preset });
    let config = json!({
        "mcpServers": {
            "usual": { "type": "builtin", "name": "demo" },
            "free": demo(json!(false)),
            "own": demo(json!("echo")),
        },
        "presets": { "echo": { "tools": ["*/echo"] }, "count": { "tools": ["usual/count"] } },
        "endpoints": { "default": { "preset": "count" }, "all": {} },
        "shape": false,
    });
    let gateway = Gateway::serve(&config).await;
    let mut listed = String::new();
    for path in [
        "/mcp",
        "/mcp/all",
        "/servers/usual/mcp",
        "/servers/free/mcp",
        "/servers/own/mcp",
    ] {
        let names = gateway.session(path).await.tool_names().await;
        let first = names.first().map_or("-", String::as_str);
        listed.push_str(&format!("{path}: {} {first}\n", names.len()));
    }
    expect![[r#"
        /mcp: 1 usual__count
        /mcp/all: 18 usual__echo
        /servers/usual/mcp: 1 count
        /servers/free/mcp: 6 echo
        /servers/own/mcp: 1 echo
    "#]]
    .assert_eq(&listed);
    let mut lazy = gateway.session("/mcp/lazy").await;
    let refused = lazy
        .call_tool("usual__echo", json!({ "text": "q7q7" }))
        .await;
    assert!(!refused.to_string().contains("q7q7"), "{refused}");
}

#[test]
fn check_reports_rules_that_match_no_tool() {
    let config = r#"{ "mcpServers": { "demo": { "type": "builtin" } },
        "presets": { "p": { "tools": ["demo/*", "!demo/tuch_readme", "!*/delete_*", "!@destructive"] } } }"#;
    let folder = Folder::with(config);
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let reported = "`!demo/tuch_readme` matches none of its 6 tools";
    assert!(ran.stderr.contains(reported), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("did you mean touch_readme?"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        ran.stderr.matches("matches none").count(),
        1,
        "{}",
        ran.stderr
    );
    let json = json_of(&folder.run(&["check", "--json"]));
    let problems = json["problems"].as_array().expect("problems");
    assert!(
        problems.iter().any(|problem| problem["server"] == "demo"),
        "{json}"
    );
}

#[test]
fn gateways_own_tools_can_be_called() {
    let folder = Folder::with(EXPOSED);
    let inspect = r#"{"server_name":"demo","tool_name":"echo"}"#;
    let ran = folder.run(&["call", "inspect", inspect, "--endpoint", "lazy"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("server_name: demo\nname: echo\n"),
        "{}",
        ran.stdout
    );
    let search = r#"{"query":"give back a text"}"#;
    let ran = folder.run(&["call", "search_tools", search, "--endpoint", "find"]);
    assert!(ran.stdout.contains("demo,echo,"), "{}", ran.stdout);
    let ran = folder.run(&["call", "inspect", inspect]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
}

#[test]
fn server_tool_lists_are_reported_by_position() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin", "disabledTools": ["count", "ecoh"]},
            "few": {"type": "builtin", "name": "demo", "tools": ["echo"]}}}"#,
    );
    let why = |name: &str| {
        let ran = folder.run(&["tools", "--why", name, "--json"]);
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        let why = json_of(&ran);
        assert_eq!(why["preset"], Value::Null);
        format!("{} {}", why["rule"], why["reason"])
    };
    assert_eq!(
        why("demo__count"),
        r#""mcpServers.demo.disabledTools" "not offered: `mcpServers.demo.disabledTools` excludes it""#
    );
    assert_eq!(
        why("few__count"),
        r#""mcpServers.few.tools" "not offered: `mcpServers.few.tools` does not name it""#
    );
    let listed = folder.run(&["tools"]).stdout;
    assert!(listed.contains(", 1 hidden by tool lists"), "{listed}");
    assert!(listed.contains(", 6 hidden by tool lists"), "{listed}");
    let call = folder.run(&["call", "demo", "count"]);
    assert_ne!(call.code, Some(0), "{}", call.shown());
    let reported = folder.run(&["check"]).stderr;
    expect![[r#"
        warning: narrows.json: server 'demo': `ecoh` is not one of its 6 tools
          path: mcpServers.demo.disabledTools
          help: did you mean echo?
    "#]]
    .assert_eq(&reported);
}
