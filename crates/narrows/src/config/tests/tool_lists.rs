//! Tests of the lists that allow or exclude tools of a server.

use expect_test::expect;

use super::settings::checked;

#[test]
fn suggestions_never_invert_the_meaning() {
    super::check(
        r#"{"mcpServers": {"a": {"command": "x", "denyTools": ["t"], "disallowedTools": ["t"],
            "enableTools": ["t"], "excludedTools": ["t"]}}}"#,
        expect![[r#"
            warning: narrows.json:1:39: server 'a': unknown key `denyTools`
              path: mcpServers.a.denyTools
            error: narrows.json:1:59: server 'a': unknown key `disallowedTools`
              path: mcpServers.a.disallowedTools
              help: did you mean `disabledTools`?
            warning: narrows.json:2:13: server 'a': unknown key `enableTools`
              path: mcpServers.a.enableTools
              help: did you mean `enabledTools`?
            error: narrows.json:2:35: server 'a': unknown key `excludedTools`
              path: mcpServers.a.excludedTools
              help: did you mean `excludeTools`?
        "#]],
    );
}

#[test]
fn codex_keys_are_tool_lists() {
    let checked = checked(
        r#"{"mcpServers": {
            "a": {"command": "x", "enabled_tools": ["t"], "disabled_tools": ["u"]},
            "b": {"command": "x", "enabledTools": []}}}"#,
    );
    let lists = checked.gateway.upstreams.iter();
    let lists: Vec<String> = lists
        .map(|own| format!("{:?}\n", own.tool_filter))
        .collect();
    expect![[r#"
        ToolFilter { allow: [ToolList { place: "mcpServers.a.enabled_tools", names: {"t"} }], exclude: [ToolList { place: "mcpServers.a.disabled_tools", names: {"u"} }] }
        ToolFilter { allow: [ToolList { place: "mcpServers.b.enabledTools", names: {} }], exclude: [] }
    "#]].assert_eq(&lists.concat());
}
