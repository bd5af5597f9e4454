//! Tests of how endpoints offer tools and which preset applies to them.

use expect_test::{Expect, expect};

use super::check as check_problems;
use super::settings::checked;
use crate::config::built_in;

/// Checks the settings of every endpoint, one per line.
#[track_caller]
fn check(rest: &str, expected: Expect) {
    let servers = r#""mcpServers": {"demo": {"type": "builtin"}}"#;
    let presets = r#""presets": {"a": {"tools": ["demo/*"]}, "b": {"tools": []}}"#;
    let text = format!("{{{servers}, {presets}, {rest}}}");
    let gateway = checked(&text).gateway;
    let lines = gateway.endpoints.iter().map(|endpoint| {
        let (name, expose) = (&endpoint.name, endpoint.expose);
        let preset = endpoint.preset.as_deref().unwrap_or("-");
        format!("{name} {expose:?} {preset} {:?}\n", endpoint.facade)
    });
    // Abbreviates the default settings.
    let shown = lines.collect::<String>();
    let usual = "FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], \
                 encoding: Shorter, typescript: true, max_description_len: 300, \
                 constraints: false, toon_min_size: 1 }";
    expected.assert_eq(&shown.replace(usual, "as usual"));
}

#[test]
fn lazy_endpoint_always_exists_with_the_default_preset() {
    check(
        r#""endpoints": {}"#,
        expect![[r#"
            default All - as usual
            lazy Lazy - as usual
        "#]],
    );
    check(
        r#""endpoints": {"x": {}, "default": {"preset": "a"}}"#,
        expect![[r#"
            default All a as usual
            x All - as usual
            lazy Lazy a as usual
        "#]],
    );
    // Configuring the default explicitly has no effect.
    check(
        r#""endpoints": {"lazy": {"expose": "lazy"}, "default": {"preset": "a"}}"#,
        expect![[r#"
            default All a as usual
            lazy Lazy a as usual
        "#]],
    );
    check(
        r#""endpoints": {"lazy": {"preset": "b", "expose": "search"}, "default": {"preset": "a"}}"#,
        expect![[r#"
            default All a as usual
            lazy Search b as usual
        "#]],
    );
    check(
        r#""endpoints": {"lazy": {"preset": false}, "default": {"preset": "a"}}"#,
        expect![[r#"
            default All a as usual
            lazy Lazy - as usual
        "#]],
    );
    let endpoints = built_in(&super::environment()).checked.gateway.endpoints;
    let names: Vec<String> = endpoints
        .iter()
        .map(|it| format!("{} {:?}", it.name, it.expose))
        .collect();
    assert_eq!(names, ["default All", "lazy Lazy"]);
}

#[test]
fn broxy_default_preset_applies_to_the_default_endpoint() {
    check(
        r#""defaultPresetId": "a", "endpoints": {"x": {}}"#,
        expect![[r#"
            default All a as usual
            x All - as usual
            lazy Lazy a as usual
        "#]],
    );
    check(
        r#""defaultPresetId": "a", "endpoints": {"default": {"preset": "b"}}"#,
        expect![[r#"
            default All b as usual
            lazy Lazy b as usual
        "#]],
    );
}

#[test]
fn listing_settings_are_parsed() {
    check(
        r#""endpoints": {
            "s": {"expose": "search", "pin": ["demo/echo", "d*/count"], "encoding": "toon"},
            "lazy": {"listing": "names", "listing_max_chars": 500, "schema_compression_enabled": false,
                     "max_description_len": 80, "schema_constraints": true, "toon_compression_min_size": 3}}"#,
        expect![[r#"
            default All - as usual
            s Search - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [Pattern("demo/echo"), Pattern("d*/count")], encoding: Toon, typescript: true, max_description_len: 300, constraints: false, toon_min_size: 1 }
            lazy Lazy - FacadeSettings { listing: Names, listing_max_chars: 500, signatures: true, pin: [], encoding: Shorter, typescript: false, max_description_len: 80, constraints: true, toon_min_size: 3 }
        "#]],
    );
}

#[test]
fn mcpx_top_level_keys_apply_to_all_endpoints() {
    check(
        r#""schema_compression_enabled": false, "max_description_len": 9, "toon_compression_enabled": false,
            "toon_compression_min_size": 2, "schema_constraints": true,
            "endpoints": {"x": {"encoding": "auto", "max_description_len": 8, "schema_compression_enabled": true}}"#,
        expect![[r#"
            default All - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], encoding: Json, typescript: false, max_description_len: 9, constraints: true, toon_min_size: 2 }
            x All - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], encoding: Shorter, typescript: true, max_description_len: 8, constraints: true, toon_min_size: 2 }
            lazy Lazy - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], encoding: Json, typescript: false, max_description_len: 9, constraints: true, toon_min_size: 2 }
        "#]],
    );
    check(
        r#""toon_compression_enabled": false, "encoding": "toon""#,
        expect![[r#"
            default All - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], encoding: Toon, typescript: true, max_description_len: 300, constraints: false, toon_min_size: 1 }
            lazy Lazy - FacadeSettings { listing: Capped, listing_max_chars: 10000, signatures: true, pin: [], encoding: Toon, typescript: true, max_description_len: 300, constraints: false, toon_min_size: 1 }
        "#]],
    );
    check(
        r#""toon_compression_enabled": true"#,
        expect![[r#"
            default All - as usual
            lazy Lazy - as usual
        "#]],
    );
}

#[test]
fn pins_are_plain_patterns_without_exclusions_or_hints() {
    check_problems(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "endpoints": {"s": {"expose": "search",
            "pin": ["demo/echo", "!demo/x", "demo/@readonly", "@readonly", "demo/@x", "dem/a", "demo/a/b"]}}}"#,
        expect![[r#"
            error: narrows.json:2:34: `!demo/x` denies tools, but `pin` can only list them
              path: endpoints.s.pin[1]
              help: use a preset to hide tools
            error: narrows.json:2:45: `demo/@readonly` selects by hints, which only presets support
              path: endpoints.s.pin[2]
              help: name tools: server/tool
            error: narrows.json:2:63: `@readonly` selects by hints, which only presets support
              path: endpoints.s.pin[3]
              help: name tools: server/tool
            error: narrows.json:2:76: `demo/@x` selects by hints, which only presets support
              path: endpoints.s.pin[4]
              help: name tools: server/tool
            warning: narrows.json:2:87: no server is called `dem`
              path: endpoints.s.pin[5]
              help: did you mean `demo`?
        "#]],
    );
}

#[test]
fn invalid_endpoints_are_reported() {
    check_problems(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "presets": {"review": {"tools": []}}, "endpoints": {
            "default": {"preset": "revew", "expose": "lzay", "pin": ["demo/*"]},
            "a": {"listing": "short", "listing_max_chars": 499, "encoding": "yaml", "expose": "search", "pin": ["echo", "dem/*"]},
            "b": {"preset": true, "listing_max_chars": 1000001, "expose": "lazy", "pin": ["demo/echo"]}},
            "toon_compression_enabled": 1, "defaultPresetId": 5}"#,
        expect![[r#"
            error: narrows.json:2:35: there is no preset `revew`
              path: endpoints.default.preset
              help: did you mean `review`?
            error: narrows.json:2:54: unknown value of `expose` `lzay`
              path: endpoints.default.expose
              help: did you mean `lazy`? Otherwise use one of all, lazy, search
            error: narrows.json:3:30: unknown value of `listing` `short`
              path: endpoints.a.listing
              help: use one of full, capped, names, servers
            error: narrows.json:3:60: `listing_max_chars` must be from 500 to 1000000
              path: endpoints.a.listing_max_chars
            error: narrows.json:3:77: unknown encoding `yaml`
              path: endpoints.a.encoding
              help: use one of auto, toon, json
            error: narrows.json:3:113: `echo` is not a valid pattern
              path: endpoints.a.pin[0]
              help: write server/tool; * matches any text in either part
            warning: narrows.json:3:121: no server is called `dem`
              path: endpoints.a.pin[1]
              help: did you mean `demo`?
            error: narrows.json:4:29: expected the id of a preset, false or null, found true
              path: endpoints.b.preset
            error: narrows.json:4:56: `listing_max_chars` must be from 500 to 1000000
              path: endpoints.b.listing_max_chars
            warning: narrows.json:4:90: `pin` has no effect here: a lazy endpoint lists only its two tools
              path: endpoints.b.pin
              help: use it with "expose": "search"
            error: narrows.json:5:41: expected true or false, found a number
              path: toon_compression_enabled
            error: narrows.json:5:63: expected a string, found a number
              path: defaultPresetId
              help: put the value in quotes
        "#]],
    );
}
