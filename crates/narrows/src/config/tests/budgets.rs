//! Tests of `shape` at its four levels, `recovery`, and the masks of the plain JSON-RPC route.

use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::expect;
use narrows_gateway::settings::{Binary, RemoteProtocol, ShapeChoice};
use narrows_shape::Mask;

use super::settings::checked;
use super::{Environment, check};
use crate::config::built_in;

const OPEN: ShapeChoice = ShapeChoice {
    on: None,
    max_chars: None,
    binary: None,
    goal_param: None,
    code_max_chars: None,
    guard: None,
    timeout: None,
};

const ON: ShapeChoice = ShapeChoice {
    on: Some(true),
    ..OPEN
};

const OFF: ShapeChoice = ShapeChoice {
    on: Some(false),
    ..OPEN
};

/// Returns the settings of a top-level `shape`.
#[track_caller]
fn shape(text: &str) -> ShapeChoice {
    let text = format!(r#"{{"mcpServers": {{"demo": {{"type": "builtin"}}}}, "shape": {text}}}"#);
    checked(&text).gateway.shape
}

#[test]
fn every_shape_format_is_parsed() {
    assert_eq!(shape("null"), OPEN);
    assert_eq!(shape("false"), OFF);
    assert_eq!(shape("true"), ON);
    assert_eq!(shape("{}"), ON);
    assert_eq!(shape(r#"{"max_chars": 0}"#), OFF);
    assert_eq!(shape(r#"{"max_chars": -1, "binary": null}"#), OFF);
    let all = r#"{"max_chars": 1000, "code_max_chars": 2000, "binary": "note", "goal_param": true, "guard": false, "prune": {"timeout_ms": 250}}"#;
    let expected = ShapeChoice {
        on: Some(true),
        max_chars: Some(1000),
        binary: Some(Binary::Note),
        goal_param: Some(true),
        code_max_chars: Some(2000),
        guard: Some(false),
        timeout: Some(Duration::from_millis(250)),
    };
    assert_eq!(shape(all), expected);
    let kept = ShapeChoice {
        binary: Some(Binary::Keep),
        ..ON
    };
    assert_eq!(shape(r#"{"binary": "keep"}"#), kept);
}

#[test]
fn mask_alone_does_not_enable_endpoint_shaping() {
    assert_eq!(shape(r#"{"mask": {"max_chars": 9000}}"#), OPEN);
    assert_eq!(shape(r#"{"mask": {}, "prune": {}}"#), ON);
}

#[test]
fn shape_is_read_at_all_four_levels() {
    let checked = checked(
        r#"{"mcpServers": {
                "files": {"command": "x", "shape": {"max_chars": 2000},
                          "tools": {"read file": {"shape": {"max_chars": 3000}}, "Stat": {"shape": false}, "x": {}, "y": {"shape": null}}},
                "plain": {"command": "x"}},
            "endpoints": {"small": {"shape": {"max_chars": 4000}}, "whole": {"shape": false}},
            "shape": {"max_chars": 5000}}"#,
    );
    let of = |max_chars| ShapeChoice {
        max_chars: Some(max_chars),
        ..ON
    };
    let gateway = &checked.gateway;
    assert_eq!(gateway.shape, of(5000));
    let endpoints = gateway.endpoints.iter();
    let endpoints: Vec<_> = endpoints.map(|e| (e.name.as_str(), e.shape)).collect();
    assert_eq!(
        endpoints,
        [
            ("default", OPEN),
            ("small", of(4000)),
            ("whole", OFF),
            ("lazy", OPEN)
        ]
    );
    let [files, plain] = &gateway.upstreams[..] else {
        panic!("two servers")
    };
    assert_eq!(files.shape, of(2000));
    let mut tools: Vec<_> = files.tool_shapes.clone().into_iter().collect();
    tools.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("Stat".to_owned(), OFF), ("read file".to_owned(), of(3000))];
    assert_eq!(tools, expected);
    assert_eq!((plain.shape, plain.tool_shapes.len()), (OPEN, 0));
}

#[test]
fn server_mask_overrides_top_level_key_by_key() {
    let masks = |top: &str, server: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"command": "x"{server}}}, "b": {{"command": "x"}}}}{top}}}"#
        );
        let upstreams = checked(&text).gateway.upstreams;
        (upstreams[0].mask, upstreams[1].mask)
    };
    let default = Mask::new(4000, 2000, 2000);
    assert_eq!(masks("", ""), (default, default));
    let top = r#", "shape": {"mask": {"max_chars": 6000, "head_chars": 10}}"#;
    let server = r#", "shape": {"mask": {"head_chars": 0, "tail_chars": 5}}"#;
    let (of_server, of_top) = (Mask::new(6000, 0, 5), Mask::new(6000, 10, 2000));
    assert_eq!(masks(top, server), (of_server, of_top));
    // A disabled budget does not affect the mask of the route.
    assert_eq!(masks(top, r#", "shape": false"#), (of_top, of_top));
    assert_eq!(masks(r#", "shape": false"#, ""), (default, default));
    for off in ["0", "-1"] {
        let server = format!(r#", "shape": {{"mask": {{"max_chars": {off}}}}}"#);
        assert_eq!(masks(top, &server), (Mask::Off, of_top));
    }
}

#[test]
fn request_timeout_applies_to_the_forward_route() {
    let timeout = |server: &str, top: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x"{server}}}}}{top}}}"#);
        checked(&text).gateway.upstreams[0].rpc_timeout.as_secs()
    };
    let top = r#", "request_timeout_s": 7"#;
    assert_eq!(timeout("", ""), 30);
    assert_eq!(timeout("", top), 7);
    assert_eq!(timeout(r#", "request_timeout_s": 5"#, top), 5);
    assert_eq!(timeout(r#", "timeout": 60000"#, top), 60);
}

#[test]
fn invalid_shapes_are_reported() {
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin", "shape": {"max_chars": 999, "binary": "notes"}, "tools": {"echo": {"shape": "off"}}}},
            "endpoints": {"small": {"shape": {"max_chars": 1.5, "goal_param": "yes", "max_char": 5}}},
            "shape": {"prune": {"max_prune_ratio": 1.01, "min_keep_lines": -1, "timeout_ms": 0},
                      "mask": {"max_chars": "4000", "head_chars": -1, "tail_chars": 1.5}}}"#,
        expect![[r#"
            error: narrows.json:1:68: server 'demo': a budget must be at least 1000 characters to leave room between the markers
              path: mcpServers.demo.shape.max_chars
              help: 0 disables it
            error: narrows.json:1:83: server 'demo': unknown value of `binary` `notes`
              path: mcpServers.demo.shape.binary
              help: did you mean `note`? Otherwise use one of keep, note
            error: narrows.json:1:121: server 'demo': expected true, false or an object, found a string
              path: mcpServers.demo.tools.echo.shape
            error: narrows.json:2:60: expected a whole number
              path: endpoints.small.shape.max_chars
            error: narrows.json:2:79: expected true or false, found a string
              path: endpoints.small.shape.goal_param
            warning: narrows.json:2:86: unknown key `max_char`
              path: endpoints.small.shape.max_char
              help: did you mean `max_chars`?
            error: narrows.json:3:52: `max_prune_ratio` must be from 0 to 1
              path: shape.prune.max_prune_ratio
            error: narrows.json:3:76: expected a whole number, 0 or more
              path: shape.prune.min_keep_lines
            error: narrows.json:3:94: a time in milliseconds must be more than 0 and less than a year
              path: shape.prune.timeout_ms
            error: narrows.json:4:45: expected a whole number, found a string
              path: shape.mask.max_chars
            error: narrows.json:4:67: expected a whole number, 0 or more
              path: shape.mask.head_chars
            error: narrows.json:4:85: expected a whole number
              path: shape.mask.tail_chars
        "#]],
    );
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin", "shape": {"prune": {"max_prune_ratio": -0.1, "timeout_ms": 99999999999999}}}}}"#,
        expect![[r#"
            error: narrows.json:1:84: server 'demo': `max_prune_ratio` must be from 0 to 1
              path: mcpServers.demo.shape.prune.max_prune_ratio
            error: narrows.json:1:104: server 'demo': a time in milliseconds must be more than 0 and less than a year
              path: mcpServers.demo.shape.prune.timeout_ms
        "#]],
    );
}

#[test]
fn ineffective_shape_keys_are_reported() {
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin", "shape": {"mask": {"max_chars": 0}}, "tools": {"echo": {"shape": {"mask": {"max_chars": 5000}}}}}},
            "endpoints": {"small": {"shape": {"mask": {}}}},
            "shape": {"prune": {"max_prune_ratio": 0.55, "min_keep_lines": 0, "timeout_ms": 1}}}"#,
        expect![[r#"
            warning: narrows.json:1:119: server 'demo': `mask` has no effect here: it applies to the plain JSON-RPC route, which has neither endpoints nor tools
              path: mcpServers.demo.tools.echo.shape.mask
              help: set it at the top level or in a server
            warning: narrows.json:2:55: `mask` has no effect here: it applies to the plain JSON-RPC route, which has neither endpoints nor tools
              path: endpoints.small.shape.mask
              help: set it at the top level or in a server
            warning: narrows.json:3:52: `max_prune_ratio` has no effect
              path: shape.prune.max_prune_ratio
              help: every call of `prune_text` sets it, and results on endpoints are pruned to the budget
            warning: narrows.json:3:76: `min_keep_lines` has no effect
              path: shape.prune.min_keep_lines
              help: every call of `prune_text` sets it, and results on endpoints are pruned to the budget
            demo builtin Demo
        "#]],
    );
}

#[test]
fn mask_that_keeps_more_than_its_limit_is_reported() {
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin", "shape": {"mask": {"head_chars": 5000}}},
                           "pruner": {"type": "builtin", "shape": {"mask": {"max_chars": 4001}}}},
            "shape": {"mask": {"max_chars": 3999}}}"#,
        expect![[r#"
            warning: narrows.json:1:63: server 'demo': masking may make strings longer: of more than 3999 characters, 7000 are kept
              path: mcpServers.demo.shape.mask
              help: set `head_chars` and `tail_chars` to at most 3999 in total
            warning: narrows.json:3:31: masking may make strings longer: of more than 3999 characters, 4000 are kept
              path: shape.mask
              help: set `head_chars` and `tail_chars` to at most 3999 in total
            demo builtin Demo
            pruner builtin Pruner
        "#]],
    );
}

#[track_caller]
fn recovery_path(path: &str) -> Option<PathBuf> {
    let text = format!(
        r#"{{"mcpServers": {{"demo": {{"type": "builtin"}}}}, "recovery": {{"path": {path}}}}}"#
    );
    checked(&text).gateway.recovery.path
}

#[test]
fn recovery_path_is_resolved_like_other_paths() {
    assert_eq!(recovery_path("null"), None);
    let paths = [
        (r#""cut""#, "/etc/n/cut"),
        (r#""../cut""#, "/etc/n/../cut"),
        (r#""/var/cut""#, "/var/cut"),
        (r#""~/cut""#, "/home/u/cut"),
        (r#""${HOME}/${NOT:-a}""#, "/home/u/a"),
        (r#""${workspaceFolder}/cut""#, "/etc/n/cut"),
        (r#""{HOME}/cut""#, "/etc/n/{HOME}/cut"),
    ];
    for (given, expected) in paths {
        assert_eq!(recovery_path(given).as_deref(), Some(Path::new(expected)));
    }
    let settings = checked(
        r#"{"mcpServers": {}, "recovery": {"ttl_s": 60, "max_bytes": 1048576, "path": "cut"}}"#,
    );
    let recovery = settings.gateway.recovery;
    assert_eq!(recovery.ttl, Duration::from_secs(60));
    assert_eq!(recovery.max_bytes, 1024 * 1024);
}

#[test]
fn invalid_recovery_settings_are_reported() {
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}},
            "recovery": {"ttl_s": 0, "max_bytes": 1048575, "path": "${NOT_SET}/${NEITHER}"}}"#,
        expect![[r#"
            error: narrows.json:2:35: a time in seconds must be more than 0 and less than a year
              path: recovery.ttl_s
            warning: narrows.json:2:51: this is small: a text that does not fit cannot be stored, so it is not cut
              path: recovery.max_bytes
              help: use 1048576 bytes or more
            error: narrows.json:2:68: environment variable NOT_SET is not set
              path: recovery.path
              help: set it, or give a default: ${NOT_SET:-...}
            error: narrows.json:2:68: environment variable NEITHER is not set
              path: recovery.path
              help: set it, or give a default: ${NEITHER:-...}
        "#]],
    );
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "recovery": {"path": "${"}}"#,
        expect![[r#"
            error: narrows.json:1:68: a `${` here does not name a variable
              path: recovery.path
              help: write ${VAR}, ${VAR:-default} or ${env:VAR}, and $${ for ${ itself
        "#]],
    );
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "recovery": {"path": "${input:folder}"}}"#,
        expect![[r#"
            error: narrows.json:1:68: cannot prompt for ${input:...}
              path: recovery.path
              help: set an environment variable and refer to it as ${VAR}
        "#]],
    );
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "recovery": {"path": " "}}"#,
        expect![[r#"
            error: narrows.json:1:68: the name of the folder is empty
              path: recovery.path
              help: name a folder, or leave `path` out to keep text in memory
        "#]],
    );
    check(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "recovery": {"path": "a\u0000b"}}"#,
        expect![[r#"
            error: narrows.json:1:68: the value contains a NUL character
              path: recovery.path
        "#]],
    );
}

#[test]
fn forward_route_has_four_default_servers() {
    let gateway = built_in(&Environment::default()).checked.gateway;
    let servers = gateway.rpc_servers.iter().map(|server| {
        assert_eq!(server.remote.protocol, RemoteProtocol::Rpc);
        assert_eq!(server.mask, Mask::new(4000, 2000, 2000));
        assert_eq!(server.timeout, Duration::from_secs(30));
        format!("{} {}", server.id, server.remote.url)
    });
    let expected = [
        "fast-filesystem http://127.0.0.1:8004/",
        "json-query http://127.0.0.1:8005/",
        "sequential-thinking http://127.0.0.1:8006/",
        "shrimp-task-manager http://127.0.0.1:8007/",
    ];
    assert_eq!(servers.collect::<Vec<_>>(), expected);
    let upstreams = gateway
        .upstreams
        .iter()
        .map(|upstream| &*upstream.upstream.id);
    assert_eq!(upstreams.collect::<Vec<_>>(), ["demo", "pruner"]);
    let configured = checked(r#"{"mcpServers": {}}"#);
    assert!(configured.gateway.rpc_servers.is_empty());
}
