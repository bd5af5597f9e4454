//! Tests of presets in the configuration and in files, and of references to them.

use expect_test::{Expect, expect};
use narrows_gateway::preset::DirectPreset;
use narrows_testkit::Folder;

use super::settings::checked;
use super::{check, environment};
use crate::config::{Environment, Problem, load};

const DEMO: &str = r#""mcpServers": {"demo": {"type": "builtin"}}"#;

/// Checks the presets of a file as passed to the gateway.
#[track_caller]
fn check_presets(presets: &str, expected: Expect) {
    let gateway = checked(&format!(r#"{{{DEMO}, "presets": {presets}}}"#)).gateway;
    let lines = gateway.presets.iter().map(|preset| format!("{preset:?}\n"));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn rules_are_parsed_as_written() {
    check_presets(
        r#"{"p": {"id": "p", "name": "For people", "description": "too",
            "tools": ["demo/*", "!demo/touch_*", "@readonly", "!demo/@destructive"],
            "prompts": [{"serverId": "demo", "promptName": "greet"}],
            "resources": [{"serverId": "demo", "resourceKey": "demo://a*", "enabled": false}, "*/*"]}}"#,
        expect![[r#"
            Preset { id: "p", tools: Some([Rule { text: "demo/*", allows: true, target: Pattern(Pattern("demo/*")) }, Rule { text: "!demo/touch_*", allows: false, target: Pattern(Pattern("demo/touch_*")) }, Rule { text: "@readonly", allows: true, target: Hint { server: "*", hint: ReadOnly } }, Rule { text: "!demo/@destructive", allows: false, target: Hint { server: "demo", hint: Destructive } }]), prompts: Some([Rule { text: "demo/greet", allows: true, target: Exact { server: "demo", item: "greet" } }]), resources: Some([Rule { text: "!demo/demo://a*", allows: false, target: Exact { server: "demo", item: "demo://a*" } }, Rule { text: "*/*", allows: true, target: Pattern(Pattern("*/*")) }]), plain_resources: [Rule { text: "!demo/demo://a*", allows: false, target: Exact { server: "demo", item: "demo://a*/" } }, Rule { text: "*/*", allows: true, target: Pattern(Pattern("*/*")) }], additional: None }
        "#]],
    );
}

#[test]
fn null_equals_absent_and_empty_list_allows_nothing() {
    check_presets(
        r#"{"null": {"tools": ["demo/*"], "prompts": null, "resources": []},
            "absent": {"tools": ["demo/*"], "resources": []}}"#,
        expect![[r#"
            Preset { id: "null", tools: Some([Rule { text: "demo/*", allows: true, target: Pattern(Pattern("demo/*")) }]), prompts: None, resources: Some([]), plain_resources: [], additional: None }
            Preset { id: "absent", tools: Some([Rule { text: "demo/*", allows: true, target: Pattern(Pattern("demo/*")) }]), prompts: None, resources: Some([]), plain_resources: [], additional: None }
        "#]],
    );
}

#[test]
fn invalid_presets_are_reported() {
    check(
        r#"{"mcpServers": {"a": {"type": "builtin", "name": "demo"}},
            "presets": {"a": {"id": "b", "tools": ["x", {"serverId": "a"}, 5, "a/", "@readable", "a/@"], "prompts": "none"},
                        "b": {"tools": [{"serverId": "a", "promptName": "x"}], "prompts": ["a/*", "!@destructive"],
                              "resources": [{"serverId": "a", "resourceKey": "r", "toolName": "t"}, "a/@readonly"]},
                        "c": [], "d": {"tool": []}}}"#,
        expect![[r#"
            error: narrows.json:2:37: the preset `a` has the id `b`
              path: presets.a.id
              help: leave `id` out, or make both the same
            error: narrows.json:2:52: `x` is not a valid pattern
              path: presets.a.tools[0]
              help: write server/tool; * matches any text in either part
            error: narrows.json:2:57: an entry must name one server and one item
              path: presets.a.tools[1]
              help: write {"serverId": "...", "toolName": "..."}
            error: narrows.json:2:76: expected a pattern or an object, found a number
              path: presets.a.tools[2]
            error: narrows.json:2:79: `a/` is not a valid pattern
              path: presets.a.tools[3]
              help: write server/tool; * matches any text in either part
            error: narrows.json:2:85: `@readable` is not a known hint
              path: presets.a.tools[4]
              help: use one of @readonly, @destructive, @idempotent, @open_world
            error: narrows.json:2:98: `@` is not a known hint
              path: presets.a.tools[5]
              help: use one of @readonly, @destructive, @idempotent, @open_world
            error: narrows.json:2:117: expected an array of patterns or objects, found a string
              path: presets.a.prompts
            error: narrows.json:3:73: `promptName` does not belong in `tools`
              path: presets.b.tools[0].promptName
              help: use `toolName` there
            error: narrows.json:3:99: `!@destructive` selects by hints, which only tools have
              path: presets.b.prompts[1]
            error: narrows.json:4:45: an entry must name one server and one item
              path: presets.b.resources[0]
              help: write {"serverId": "...", "toolName": "..."}
            error: narrows.json:5:30: expected an object, found an array
              path: presets.c
            warning: narrows.json:5:39: this preset names no server: it allows nothing
              path: presets.d
              help: add "tools": ["*/*"] to allow all tools
            error: narrows.json:5:40: unknown key `tool`
              path: presets.d.tool
              help: did you mean `tools`?
        "#]],
    );
}

#[test]
fn misspelt_key_does_not_allow_more() {
    check(
        r#"{"mcpServers": {"files": {"type": "builtin", "name": "demo"}},
            "presets": {"a": {"description": "for people", "//": "a remark", "tool": ["files/read"], "prompts": ["files/*"]},
                        "b": {"tools": ["files/*", {"serverId": "files", "toolName": "x", "enable": false}]}}}"#,
        expect![[r#"
            error: narrows.json:2:78: unknown key `tool`
              path: presets.a.tool
              help: did you mean `tools`?
            error: narrows.json:3:91: unknown key `enable`
              path: presets.b.tools[1].enable
              help: did you mean `enabled`?
        "#]],
    );
    check_files(
        r#""preset_dir": "presets", "endpoints": {"default": {"preset": "dev"}}"#,
        &[(
            "preset_dev.json",
            br#"{"tool": ["demo/echo"], "prompts": ["demo/*"]}"#,
        )],
        expect![[r#"
            error: narrows.json:1:108: the file of preset `dev` is skipped: nothing is allowed here
              path: endpoints.default.preset
              help: `narrows check` shows the problem in the file
            warning: presets/preset_dev.json:1:2: unknown key `tool`; the file is skipped
              path: tool
              help: did you mean `tools`?
        "#]],
    );
}

#[test]
fn server_ids_with_slashes_are_distinguished() {
    check(
        r#"{"mcpServers": {"files": {"type": "builtin", "name": "demo"}, "io.github.x/a": {"type": "builtin", "name": "demo"}},
            "presets": {"p": {"tools": ["io.github.x/a/*", "io.github.x/b/*", "!io.github.x/b/y", "io.github.x/b/@readonly",
                                        "io.github.x/a/c/@readonly", {"serverId": "io.github.x", "toolName": "a/t"}],
                              "prompts": [{"serverId": "files", "promptName": "x/@y"}, {"serverId": "fils", "promptName": "x/@y"}],
                              "resources": ["fils/demo://a/b", "fils/demo://c/d", "acme/tools/demo://a",
                                            {"serverId": "files", "resourceKey": "x/@y"}, {"serverId": "fi*", "resourceKey": "x"}]}}}"#,
        expect![[r#"
            warning: narrows.json:2:60: no server is called `io.github.x/b`
              path: presets.p.tools[1]
              help: did you mean `io.github.x/a`?
            warning: narrows.json:3:41: no server is called `io.github.x/a/c`
              path: presets.p.tools[4]
              help: did you mean `io.github.x/a`?
            warning: narrows.json:3:70: no server is called `io.github.x`
              path: presets.p.tools[5]
              help: did you mean `io.github.x/a`?
            warning: narrows.json:4:88: no server is called `fils`
              path: presets.p.prompts[1]
              help: did you mean `files`?
            warning: narrows.json:5:83: no server is called `acme`
              path: presets.p.resources[2]
            warning: narrows.json:6:91: no server is called `fi*`
              path: presets.p.resources[4]
            files builtin Demo
            io.github.x/a builtin Demo
        "#]],
    );
}

#[test]
fn surprising_rules_are_reported() {
    check(
        r#"{"mcpServers": {"files": {"type": "builtin", "name": "demo"}, "io.x/y": {"type": "builtin", "name": "demo"}},
            "presets": {"forbids": {"tools": ["!files/write_*", {"serverId": "files", "toolName": "x", "enabled": false}]},
                        "slips": {"tools": ["file/*", "file/again", "!Files/x", "git/*", "fi*/*", "io.x/y/z", "io_x_y/z", "@readonly", "*/@readonly", "fls/@readonly"]},
                        "empty": {}, "none": {"tools": []}}}"#,
        expect![[r#"
            warning: narrows.json:2:46: this list only denies, so it allows nothing
              path: presets.forbids.tools
              help: begin it with "*/*"
            warning: narrows.json:3:45: no server is called `file`
              path: presets.slips.tools[0]
              help: did you mean `files`?
            warning: narrows.json:3:69: no server is called `Files`
              path: presets.slips.tools[2]
              help: did you mean `files`?
            warning: narrows.json:3:81: no server is called `git`
              path: presets.slips.tools[3]
            warning: narrows.json:3:151: no server is called `fls`
              path: presets.slips.tools[9]
            warning: narrows.json:4:34: this preset names no server: it allows nothing
              path: presets.empty
              help: add "tools": ["*/*"] to allow all tools
            files builtin Demo
            io.x/y builtin Demo
        "#]],
    );
}

#[test]
fn server_may_have_a_preset_for_its_own_entrypoints() {
    let of = |preset: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"command": "x"{preset}}}}}, "presets": {{"p": {{}}}}}}"#
        );
        checked(&text).gateway.upstreams[0].preset.clone()
    };
    assert_eq!(of(""), DirectPreset::AsDefault);
    assert_eq!(of(r#", "preset": "p""#), DirectPreset::Named("p".into()));
    assert_eq!(of(r#", "preset": false"#), DirectPreset::Free);
    assert_eq!(of(r#", "preset": null"#), DirectPreset::Free);
    check(
        r#"{"mcpServers": {"a": {"command": "x", "preset": "reviw"}, "b": {"command": "x", "preset": true}},
            "presets": {"review": {"tools": ["a/*"]}}}"#,
        expect![[r#"
            error: narrows.json:1:49: server 'a': there is no preset `reviw`
              path: mcpServers.a.preset
              help: did you mean `review`?
            error: narrows.json:1:91: server 'b': expected the id of a preset, false or null, found true
              path: mcpServers.b.preset
        "#]],
    );
}

#[test]
fn broxy_presets_are_found_beside_its_configuration() {
    check(
        r#"{"mcpServers": {}, "defaultPresetId": "dev"}"#,
        expect![[r#"
            warning: narrows.json:1:16: there are no servers here yet
              path: mcpServers
            error: narrows.json:1:39: there is no preset `dev`
              path: defaultPresetId
              help: set "preset_dir": "." if its file is next to this one
        "#]],
    );
}

/// Checks the problems of a configuration in a folder with these preset files, and the resulting
/// presets.
#[track_caller]
fn check_files(rest: &str, files: &[(&str, &[u8])], expected: Expect) {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("presets")).expect("a folder can be made");
    for (name, text) in files {
        let path = folder.file("presets").join(name);
        std::fs::write(path, text).expect("a file can be written");
    }
    expected.assert_eq(&outcome(&folder, rest, &environment()));
}

fn outcome(folder: &Folder, rest: &str, environment: &Environment) -> String {
    let config = format!("{{{DEMO}, {rest}}}");
    std::fs::write(folder.file("narrows.json"), config).expect("a file can be written");
    let (presets, problems) = match load(Some(&folder.file("narrows.json")), environment) {
        Ok(config) => (config.checked.gateway.presets, config.problems),
        Err(problems) => (Vec::new(), problems),
    };
    let problems = problems.iter().map(Problem::to_string);
    let presets = presets.iter().map(|preset| format!("{preset:?}"));
    let mut lines: Vec<String> = problems.chain(presets).collect();
    lines.push(String::new());
    let path = format!("{}/", folder.path().display());
    lines.join("\n").replace(&path, "")
}

#[test]
fn preset_folder_is_read() {
    check_files(
        r#""preset_dir": "presets", "endpoints": {"default": {"preset": "dev"}}"#,
        &[
            (
                "preset_dev.json",
                br#"{"id":"dev","name":"Developer","description":"...","tools":[{"serverId":"demo","toolName":"echo","enabled":true}],"prompts":null,"resources":[]}"#,
            ),
            (
                "preset_ops.json",
                b"\xef\xbb\xbf{ // comments are fine\n \"tools\": [\"demo/*\",], }",
            ),
            ("preset_.json", b"ignored"),
            ("preset_x.json.bak", b"ignored"),
            ("readme.md", b"ignored"),
        ],
        expect![[r#"
            Preset { id: "dev", tools: Some([Rule { text: "demo/echo", allows: true, target: Exact { server: "demo", item: "echo" } }]), prompts: None, resources: Some([]), plain_resources: [], additional: None }
            Preset { id: "ops", tools: Some([Rule { text: "demo/*", allows: true, target: Pattern(Pattern("demo/*")) }]), prompts: None, resources: None, plain_resources: [], additional: None }
        "#]],
    );
}

#[test]
fn unusable_files_are_skipped() {
    let large = vec![b' '; 1024 * 1024 + 1];
    let deep = "[".repeat(100_000);
    check_files(
        r#""preset_dir": "presets", "presets": {"twice": {"tools": ["demo/*"]}},
           "endpoints": {"default": {"preset": "broken"}, "x": {"preset": "twice"}, "y": {"preset": "brokn"}}"#,
        &[
            (
                "preset_broken.json",
                b"{\n  \"tools\": [\"demo/*\" \"demo/x\"]\n}",
            ),
            ("preset_deep.json", deep.as_bytes()),
            ("preset_empty.json", b""),
            ("preset_large.json", &large),
            ("preset_latin.json", b"{\"name\": \"\xe4\"}"),
            ("preset_list.json", b"[]"),
            ("preset_other.json", b"{\"id\": \"another\", \"tools\": []}"),
            (
                "preset_rules.json",
                b"{\"tools\": [\"x\", \"demo/*\"],\n \"prompts\": [\"@readonly\"], \"tols\": []}",
            ),
            ("preset_twice.json", b"{\"tools\": []}"),
        ],
        expect![[r#"
            error: narrows.json:2:48: the file of preset `broken` is skipped: nothing is allowed here
              path: endpoints.default.preset
              help: `narrows check` shows the problem in the file
            error: narrows.json:2:101: there is no preset `brokn`
              path: endpoints.y.preset
              help: did you mean `broken`?
            warning: presets/preset_broken.json:2:21: this is not valid JSON: expected comma; the file is skipped
            warning: presets/preset_deep.json:1:513: this is not valid JSON: maximum nesting depth exceeded; the file is skipped
            warning: presets/preset_empty.json:1:1: the file is empty; the file is skipped
              help: write {"tools": ["*/*"]}
            warning: presets/preset_large.json: it is larger than 1 MiB; the file is skipped
            warning: presets/preset_latin.json: it is not UTF-8 text; the file is skipped
            warning: presets/preset_list.json:1:1: expected an object, found an array; the file is skipped
            warning: presets/preset_other.json:1:8: the file name says preset `other`, but its `id` is `another`; the file is skipped
              path: id
              help: make both the same
            warning: presets/preset_rules.json:1:12: `x` is not a valid pattern; the file is skipped
              path: tools[0]
              help: write server/tool; * matches any text in either part
            warning: presets/preset_rules.json:2:14: `@readonly` selects by hints, which only tools have
              path: prompts[0]
            warning: presets/preset_rules.json:2:28: unknown key `tols`
              path: tols
              help: did you mean `tools`?
            warning: presets/preset_twice.json: the configuration also has a preset `twice`, which takes precedence
              help: keep one of them
        "#]],
    );
}

#[test]
fn endpoint_with_a_skipped_preset_allows_nothing() {
    check_files(
        r#""preset_dir": "presets", "endpoints": {"default": {"preset": "broken"}}"#,
        &[("preset_broken.json", b"{")],
        expect![[r#"
            error: narrows.json:1:108: the file of preset `broken` is skipped: nothing is allowed here
              path: endpoints.default.preset
              help: `narrows check` shows the problem in the file
            warning: presets/preset_broken.json:1:1: this is not valid JSON: unterminated object; the file is skipped
        "#]],
    );
}

#[test]
fn non_files_are_skipped_and_links_followed() {
    let folder = Folder::new();
    let presets = folder.file("presets");
    std::fs::create_dir_all(presets.join("preset_folder.json")).expect("a folder can be made");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, presets.join(name)).expect("a link can be made");
    };
    std::fs::write(folder.file("real"), r#"{"tools": ["demo/*"]}"#).expect("written");
    link("../real", "preset_link.json");
    link("nowhere", "preset_gone.json");
    link("/dev/zero", "preset_zero.json");
    expect![[r#"
        warning: presets/preset_folder.json: it is not a regular file; the file is skipped
        warning: presets/preset_gone.json: it cannot be read: No such file or directory (os error 2); the file is skipped
        warning: presets/preset_zero.json: it is not a regular file; the file is skipped
        Preset { id: "link", tools: Some([Rule { text: "demo/*", allows: true, target: Pattern(Pattern("demo/*")) }]), prompts: None, resources: None, plain_resources: [], additional: None }
    "#]].assert_eq(&outcome(
        &folder,
        r#""preset_dir": "${DIR}/""#,
        &[("DIR", "presets")].into_iter().collect(),
    ));
}

#[test]
fn unreadable_preset_folder_is_reported() {
    check_files(
        r#""preset_dir": "preset", "endpoints": {"default": {"preset": "dev"}}"#,
        &[],
        expect![[r#"
            error: narrows.json:1:61: the folder preset cannot be read: No such file or directory (os error 2)
              path: preset_dir
        "#]],
    );
    check_files(
        r#""preset_dir": " ""#,
        &[],
        expect![[r#"
        error: narrows.json:1:61: the name of the folder is empty
          path: preset_dir
          help: name a folder that contains preset_<id>.json files
    "#]],
    );
    check_files(
        r#""preset_dir": "narrows.json""#,
        &[],
        expect![[r#"
            error: narrows.json:1:61: the folder narrows.json cannot be read: Not a directory (os error 20)
              path: preset_dir
        "#]],
    );
}

#[test]
fn a_thousand_preset_files_are_read() {
    let folder = Folder::new();
    let presets = folder.file("presets");
    std::fs::create_dir(&presets).expect("a folder can be made");
    for number in 0..1_001 {
        let path = presets.join(format!("preset_{number:04}.json"));
        std::fs::write(path, r#"{"tools": ["demo/*"]}"#).expect("written");
    }
    let rest = r#""preset_dir": "presets", "endpoints": {"default": {"preset": "1000"}}"#;
    let outcome = outcome(&folder, rest, &environment());
    let reported: Vec<&str> = outcome
        .lines()
        .filter(|line| !line.starts_with("Preset {"))
        .collect();
    expect![[r#"
        error: narrows.json:1:108: the file of preset `1000` is skipped: nothing is allowed here
          path: endpoints.default.preset
          help: `narrows check` shows the problem in the file
        warning: presets: only the first 1,000 of 1,001 presets are read, in order of their names
    "#]]
    .assert_eq(&format!("{}\n", reported.join("\n")));
    assert_eq!(outcome.lines().count() - reported.len(), 1_000);
}

#[test]
fn paths_in_messages_follow_the_configuration_path() {
    let folder = Folder::new();
    let presets = folder.file("presets");
    std::fs::create_dir(&presets).expect("a folder can be made");
    std::fs::write(presets.join("preset_a.json"), "{").expect("written");
    let reported = outcome(&folder, r#""preset_dir": "presets""#, &environment());
    assert!(
        reported.contains("warning: presets/preset_a.json:1:1"),
        "{reported}"
    );
    let absolute = format!(r#""preset_dir": "{}""#, presets.display());
    assert_eq!(outcome(&folder, &absolute, &environment()), reported);
    assert!(presets.is_absolute());
}
