//! Tests of every form in which other programs write their servers.

use expect_test::expect;

use super::check;

#[test]
fn claude_and_cursor_files_are_read() {
    check(
        r#"{
            // comments and trailing commas are fine
            "mcpServers": {
                "files": { "command": "npx", "args": ["-y", "server-filesystem", "."], },
                "search": { "type": "http", "url": "https://example.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"} },
                "wind": { "serverUrl": "https://example.test/w", "alwaysAllow": ["x"], "autoApprove": [], "disabled": true },
            },
        }"#,
        expect![[r#"
            files stdio "npx" ["-y", "server-filesystem", "."] Newline
            search Http https://example.test/mcp authorization=Bearer s3cr3t
            wind (disabled) HttpOrSse https://example.test/w
        "#]],
    );
}

#[test]
fn broxy_file_is_read() {
    check(
        r#"{ "requestTimeoutSeconds": 10, "defaultPresetId": "p", "presets": {"p": {"tools": []}}, "mcpServers": {
            "a": { "name": "A server", "enabled": true, "transport": "stdio", "command": "a", "env": {"K": "{TOKEN}"} },
            "b": { "transport": "streamable-http", "url": "http://localhost:8080/mcp", "enabled": false } } }"#,
        expect![[r#"
            a stdio "a" [] K=s3cr3t Newline
            b (disabled) Http http://localhost:8080/mcp
        "#]],
    );
}

#[test]
fn vs_code_file_is_read() {
    check(
        r#"{ "inputs": [{"type": "promptString", "id": "k", "password": true}],
            "servers": {
              "a": { "type": "stdio", "command": "${workspaceFolder}/a", "env": {"K": "${env:TOKEN}"}, "dev": {"watch": "x"} },
              "b": { "type": "http", "url": "https://example.test/mcp" } } }"#,
        expect![[r#"
            note: narrows.json:1:13: `inputs` is ignored, because no user can be prompted
              path: inputs
              help: set environment variables and refer to them as ${VAR} instead of ${input:...}
            a stdio "/etc/n/a" [] K=s3cr3t Newline
            b Http https://example.test/mcp
        "#]],
    );
}

#[test]
fn server_list_with_command_arrays_is_read() {
    check(
        r#"{ "servers": [
            { "id": "everything", "command": ["npx", "server-everything"], "env": {}, "startup_timeout": 20, "shutdown_grace": 3 },
            { "id": "more", "command": ["a", "b"], "args": ["c"], "stdio_mode": "content-length" } ] }"#,
        expect![[r#"
            everything stdio "npx" ["server-everything"] Newline
            more stdio "a" ["b", "c"] ContentLength
        "#]],
    );
}

#[test]
fn mcpx_file_is_read() {
    check(
        r#"{ "mcp_servers": [
            { "name": "filesystem", "command": "npx", "args": ["-y", "x"], "type": "stdio", "env": null, "url": null },
            { "name": "http-server", "url": "http://localhost:3000/mcp", "type": "http" } ],
            "schema_compression_enabled": true, "toon_compression_enabled": true, "health_check_enabled": true }"#,
        expect![[r#"
            filesystem stdio "npx" ["-y", "x"] Newline
            http-server Http http://localhost:3000/mcp
        "#]],
    );
}

#[test]
fn mixed_formats_keep_the_file_order() {
    check(
        r#"{ "servers": [{"id": "one", "command": "a"}], "mcpServers": {"two": {"command": "b"}} }"#,
        expect![[r#"
            one stdio "a" [] Newline
            two stdio "b" [] Newline
        "#]],
    );
}

#[test]
fn invalid_structures_are_reported() {
    check(
        "[]",
        expect![[r#"
        error: narrows.json:1:1: expected an object, found an array
    "#]],
    );
    check(
        "{}",
        expect![[r#"
        error: narrows.json:1:1: there are no servers: none of `mcpServers`, `servers` and `mcp_servers` is present
          help: write {"mcpServers": {"files": {"command": "npx", "args": [...]}}}
    "#]],
    );
    check(
        r#"{"files": {"command": "npx"}}"#,
        expect![[r#"
        error: narrows.json:1:1: there are no servers: none of `mcpServers`, `servers` and `mcp_servers` is present
          help: write {"mcpServers": {"files": {"command": "npx", "args": [...]}}}
        warning: narrows.json:1:2: unknown key `files`
          path: files
    "#]],
    );
    check(
        r#"{"mcpServers": []}"#,
        expect![[r#"
        error: narrows.json:1:16: expected an object with a server under each id, found an array
          path: mcpServers
    "#]],
    );
    check(
        r#"{"mcp_servers": {}}"#,
        expect![[r#"
        error: narrows.json:1:17: expected an array of servers, found an object
          path: mcp_servers
    "#]],
    );
    check(
        r#"{"servers": "x"}"#,
        expect![[r#"
        error: narrows.json:1:13: expected an object or an array of servers, found a string
          path: servers
    "#]],
    );
    check(
        r#"{"mcpServers": {"a": "npx"}}"#,
        expect![[r#"
        error: narrows.json:1:22: server 'a': expected an object, found a string
          path: mcpServers.a
    "#]],
    );
    check(
        r#"{"servers": [{"command": "a"}, 5, {"id": 5, "command": "a"}]}"#,
        expect![[r#"
            warning: narrows.json:1:13: there are no servers here yet
              path: servers
            error: narrows.json:1:14: a server without an id
              path: servers[0]
              help: add "id": "..."
            error: narrows.json:1:32: expected an object, found a number
              path: servers[1]
            error: narrows.json:1:42: expected a string, found a number
              path: servers[2].id
              help: put the value in quotes
        "#]],
    );
    check(
        r#"{"mcpServers": {}}"#,
        expect![[r#"
            warning: narrows.json:1:16: there are no servers here yet
              path: mcpServers
        "#]],
    );
}

#[test]
fn invalid_json_is_reported() {
    check(
        "",
        expect![[r#"
        error: narrows.json:1:1: the file is empty
          help: write {"mcpServers": {}}
    "#]],
    );
    check(
        "{\n  \"mcpServers\": {\n    \"a\": }\n}",
        expect![[r#"
        error: narrows.json:3:10: this is not valid JSON: unexpected close brace
    "#]],
    );
    check(
        "{\"mcpServers\": {",
        expect![[r#"
        error: narrows.json:1:16: this is not valid JSON: unterminated object
    "#]],
    );
    check(
        "{'mcpServers': {}}",
        expect![[r#"
        error: narrows.json:1:2: this is not valid JSON: single-quoted strings are not allowed
    "#]],
    );
    check(
        "{\"mcpServers\": {} \"listen\": \"\"}",
        expect![[r#"
        error: narrows.json:1:18: this is not valid JSON: expected comma
    "#]],
    );
    check(
        "{\"mcpServers\": {}}}",
        expect![[r#"
        error: narrows.json:1:19: this is not valid JSON: text cannot contain more than one JSON value
    "#]],
    );
    check(
        "\u{feff}{\"mcpServers\": {}}",
        expect![[r#"
            warning: narrows.json:1:16: there are no servers here yet
              path: mcpServers
        "#]],
    );
    check(
        &format!("{}{}", "[".repeat(30_000), "]".repeat(30_000)),
        expect![[r#"
        error: narrows.json:1:513: this is not valid JSON: maximum nesting depth exceeded
    "#]],
    );
}
