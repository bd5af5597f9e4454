//! Tests of `exec`.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(arguments: &str, expected: Expect) {
    check_in(&lazy(tools_by_server()), arguments, expected);
}

#[track_caller]
fn check_in(facade: &Facade, arguments: &str, expected: Expect) {
    let reported = match facade.exec(Some(&raw(arguments))) {
        Ok(ExecPlan::Call {
            target, arguments, ..
        }) => {
            let (id, name) = (&target.upstream.settings.id, target.name.as_text());
            format!("call {id} {} {arguments:?}", name.unwrap_or_default())
        }
        Ok(ExecPlan::Recover(arguments)) => format!("recover {arguments:?}"),
        Ok(ExecPlan::Answered(result)) => result_text(&Ok(result)),
        Err(error) => result_text(&Err(error)),
    };
    expected.assert_eq(&reported);
}

#[test]
fn exec_passes_arguments_unchanged() {
    let expected = || expect![[r#"call io.files/x read_file {"path": "/a", "lines":1.0}"#]];
    for (server, tool) in [
        ("io.files/x", "read_file"),
        ("io_files_x", "read_file"),
        ("io.files/x", "io.files/x__read_file"),
    ] {
        check(
            &format!(
                r#"{{"server_name":"{server}","tool_name":"{tool}","arguments":{{"path": "/a", "lines":1.0}}}}"#
            ),
            expected(),
        );
    }
    check(
        r#"{"server_name":"io.files/x","tool_name":"read_file","arguments":" {\"path\": \"/a\", \"lines\":1.0}"}"#,
        expected(),
    );
}

#[test]
fn arguments_are_optional() {
    for arguments in ["", r#","arguments":null"#, r#","arguments":{}"#] {
        check(
            &format!(r#"{{"server_name":"clock","tool_name":"now"{arguments}}}"#),
            expect!["call clock now {}"],
        );
    }
}

#[test]
fn non_object_arguments_are_rejected() {
    for arguments in ["[]", "7", r#""""#, r#""[1]""#, r#""{\"a\":""#, "true"] {
        check(
            &format!(r#"{{"server_name":"clock","tool_name":"now","arguments":{arguments}}}"#),
            expect![[r#"error: {"error":"exec needs 'arguments' as an object"}"#]],
        );
    }
}

#[test]
fn invalid_arguments_are_answered_with_the_schema() {
    check(
        r#"{"server_name":"io.files/x","tool_name":"read_file"}"#,
        expect![[
            r#"error: {"error":"Argument validation failed: Missing required argument: 'path'","tool_schema":"{path: string /* File path */; lines?: number}"}"#
        ]],
    );
}

#[test]
fn unknown_names_are_answered_with_available_ones() {
    check(
        r#"{"server_name":"zz","tool_name":"now"}"#,
        expect![[
            r#"error: {"error":"Server 'zz' not found","available_servers":["clock","io.files/x"]}"#
        ]],
    );
    check(
        r#"{"server_name":"clock","tool_name":"zz"}"#,
        expect![[
            r#"error: {"error":"Tool 'zz' not found on server 'clock'","available_tools":["now"],"nearest":[]}"#
        ]],
    );
    check(
        r#"{"server_name":"clock"}"#,
        expect![[r#"error: {"error":"exec needs 'tool_name' as a string"}"#]],
    );
    check(
        r#"{"tool_name":"now"}"#,
        expect![[
            r#"error: {"error":"exec needs 'server_name' as a string","available_servers":["clock","io.files/x"]}"#
        ]],
    );
    check(
        r#"{"server_name":"clock","tool_name":"now","zone":"utc"}"#,
        expect![[
            r#"error: {"error":"Unknown argument 'zone': 'exec' takes server_name, tool_name, arguments, goal, find, max_chars; put the tool's own arguments into 'arguments'"}"#
        ]],
    );
}

#[test]
fn hidden_tool_is_refused_by_name() {
    check(
        r#"{"server_name":"io_files_x","tool_name":"delete_file","arguments":{}}"#,
        expect!["refused: Tool 'io.files/x__delete_file' is not allowed by current preset"],
    );
    check(
        r#"{"server_name":"secret","tool_name":"open"}"#,
        expect!["refused: Tool 'secret__open' is not allowed by current preset"],
    );
    check(
        r#"{"server_name":"secret","tool_name":"zz"}"#,
        expect!["refused: Server 'secret' is not allowed by current preset"],
    );
}

#[test]
fn slow_validation_is_offloaded() {
    let facade = lazy(tools_by_server());
    let call = raw(r#"{"server_name":"clock","tool_name":"now"}"#);
    assert!(!facade.is_quick(Some(&call)), "a schema must be compiled");
    assert!(facade.exec(Some(&call)).is_ok());
    assert!(facade.is_quick(Some(&call)));
    let long = format!(r#"{{"zone":"{}"}}"#, "z".repeat(100_000));
    let long = call.with_member("arguments", &raw(&long));
    assert!(!facade.is_quick(Some(&long)));
    for other in [r#"{"server_name":"zz","tool_name":"now"}"#, "{}", "7"] {
        assert!(facade.is_quick(Some(&raw(other))));
    }
    assert!(facade.is_quick(None));
}

#[test]
fn exec_reaches_the_recover_tool() {
    let recover =
        r#"{"server_name":"narrows","tool_name":"recover_text","arguments":{"prune_id":"prn_1"}}"#;
    check(recover, expect![[r#"recover Some({"prune_id":"prn_1"})"#]]);
    check(
        r#"{"server_name":"narrows","tool_name":"recover_text"}"#,
        expect!["recover None"],
    );
    check(
        r#"{"server_name":"narrows","tool_name":"recover_text","arguments":[]}"#,
        expect![[r#"error: {"error":"exec needs 'arguments' as an object"}"#]],
    );
    check(
        r#"{"server_name":"narrows","tool_name":"zz"}"#,
        expect![[
            r#"error: {"error":"Tool 'zz' not found on server 'narrows'","available_tools":["recover_text"],"nearest":[]}"#
        ]],
    );

    check(
        r#"{"server_name":"dead","tool_name":"x"}"#,
        expect![[
            r#"error: {"error":"Server 'dead' is not available: it is still starting","available_servers":["clock","io.files/x"]}"#
        ]],
    );
    let whole = Facade::new(
        FacadeMode::Lazy,
        FacadeSettings::default(),
        tools_by_server(),
        Vec::new(),
        &within(80_000),
        false,
    );
    check_in(
        &whole,
        recover,
        expect![[
            r#"error: {"error":"Server 'narrows' not found","available_servers":["clock","io.files/x"]}"#
        ]],
    );

    // A server of that name has precedence for tools that it has.
    let other = lazy(vec![server_tools("narrows", "", &[r#"{"name":"own"}"#])]);
    check_in(
        &other,
        recover,
        expect![[r#"recover Some({"prune_id":"prn_1"})"#]],
    );
    let same = lazy(vec![server_tools(
        "narrows",
        "",
        &[r#"{"name":"recover_text"}"#],
    )]);
    check_in(
        &same,
        recover,
        expect![[r#"call narrows recover_text {"prune_id":"prn_1"}"#]],
    );
    check_in(
        &same,
        r#"{"server_name":"narrows","tool_name":"narrows_recover_text","arguments":{"prune_id":"prn_1"}}"#,
        expect![[r#"recover Some({"prune_id":"prn_1"})"#]],
    );
    let mode = |facade: &Facade| facade.recover_tool().map(|tool| tool.name.to_string());
    let by_exec = |name: &str| Some(name.to_owned());
    assert_eq!(mode(&whole), None);
    assert_eq!(mode(&other), by_exec("recover_text"));
    assert_eq!(mode(&same), by_exec("narrows_recover_text"));
    let both = [
        r#"{"name":"recover_text"}"#,
        r#"{"name":"narrows_recover_text"}"#,
    ];
    let both = lazy(vec![server_tools("narrows", "", &both)]);
    assert_eq!(mode(&both), by_exec("narrows_recover_text_2"));
    check_in(
        &both,
        r#"{"server_name":"narrows","tool_name":"narrows_recover_text_2","arguments":{}}"#,
        expect!["recover Some({})"],
    );
    let mut forbidden = server_tools("narrows", "", &[r#"{"name":"own"}"#]);
    forbidden.hidden.push(hidden("narrows", "recover_text"));
    check_in(
        &lazy(vec![forbidden]),
        recover,
        expect![[r#"recover Some({"prune_id":"prn_1"})"#]],
    );
}
