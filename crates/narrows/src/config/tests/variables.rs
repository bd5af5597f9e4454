//! Tests of variables in values.

use std::path::Path;

use expect_test::expect;

use super::{check, environment};
use crate::config::expand::{Forms, Scope, Unexpanded, expand};

#[track_caller]
fn check_text(text: &str, expected: Result<&str, Unexpanded>) {
    check_forms(text, Forms::DollarAndBare, expected);
}

#[track_caller]
fn check_forms(text: &str, forms: Forms, expected: Result<&str, Unexpanded>) {
    let environment = environment();
    let scope = Scope {
        environment: &environment,
        folder: Path::new("/w/.vscode"),
    };
    assert_eq!(expand(text, forms, scope), expected.map(str::to_owned));
}

fn unset(names: &[&str]) -> Result<&'static str, Unexpanded> {
    Err(Unexpanded::Unset(
        names.iter().map(|name| (*name).to_owned()).collect(),
    ))
}

#[test]
fn every_variable_form_is_expanded() {
    check_text("a ${TOKEN} b", Ok("a s3cr3t b"));
    check_text("${env:TOKEN}", Ok("s3cr3t"));
    check_text("${NONE:-other}", Ok("other"));
    check_text("${env:NONE:-other}", Ok("other"));
    check_text("${EMPTY:-other}", Ok("other"));
    check_text("${TOKEN:-other}", Ok("s3cr3t"));
    check_text("${NONE:-}", Ok(""));
    check_text("${EMPTY}", Ok(""));
    check_text("Bearer {TOKEN}", Ok("Bearer s3cr3t"));
    check_text("${userHome}/x", Ok("/home/u/x"));
    check_text("${workspaceFolder}/x", Ok("/w/x"));
    check_text("${workspaceFolderBasename}${/}x", Ok("w/x"));
    check_text("a${pathSeparator}b", Ok("a/b"));
}

#[test]
fn other_text_is_not_expanded() {
    check_text(
        "{NONE} {token} {} { {\"a\": 1}",
        Ok("{NONE} {token} {} { {\"a\": 1}"),
    );
    check_text("$TOKEN $ $$ $$TOKEN", Ok("$TOKEN $ $$ $$TOKEN"));
    check_text("$${TOKEN}", Ok("${TOKEN}"));
    check_forms("{TOKEN}", Forms::Dollar, Ok("{TOKEN}"));
    check_text("ünï ${TOKEN} cödé", Ok("ünï s3cr3t cödé"));
}

#[test]
fn unset_and_malformed_variables_are_reported() {
    check_text("${NONE}", unset(&["NONE"]));
    check_text("${ONE} ${TOKEN} ${env:TWO}", unset(&["ONE", "TWO"]));
    check_text("${", Err(Unexpanded::Malformed));
    check_text("${}", Err(Unexpanded::Malformed));
    check_text("${a b}", Err(Unexpanded::Malformed));
    check_text("${TOKEN", Err(Unexpanded::Malformed));
    check_text("${input:key}", Err(Unexpanded::Input));
    check_text("${file}", Err(Unexpanded::Editor("file".into())));
    check_text("${file:-x}", Ok("x"));
    let looked_up = Unexpanded::Editor("config:...".into());
    check_text("${config:my.key}", Err(looked_up));
}

#[test]
fn server_with_an_unset_variable_is_skipped() {
    check(
        r#"{"mcpServers": {
            "a": {"command": "${ONE}", "args": ["${TWO}", "${ONE}"], "env": {"K": "${THREE}"}},
            "b": {"command": "b"},
            "c": {"url": "http://${HOST}/", "headers": {"A": "${KEY}"}},
            "d": {"command": "${ONE}", "disabled": true}}}"#,
        expect![[r#"
            error: narrows.json:2:30: server 'a': environment variable ONE is not set
              path: mcpServers.a.command
              help: set it, or give a default: ${ONE:-...}
            error: narrows.json:2:49: server 'a': environment variable TWO is not set
              path: mcpServers.a.args[0]
              help: set it, or give a default: ${TWO:-...}
            error: narrows.json:2:59: server 'a': environment variable ONE is not set
              path: mcpServers.a.args[1]
              help: set it, or give a default: ${ONE:-...}
            error: narrows.json:2:83: server 'a': environment variable THREE is not set
              path: mcpServers.a.env.K
              help: set it, or give a default: ${THREE:-...}
            error: narrows.json:4:26: server 'c': environment variable HOST is not set
              path: mcpServers.c.url
              help: set it, or give a default: ${HOST:-...}
            error: narrows.json:4:62: server 'c': environment variable KEY is not set
              path: mcpServers.c.headers.A
              help: set it, or give a default: ${KEY:-...}
            b stdio "b" [] Newline
            d (disabled) stdio "${ONE}" [] Newline
            without a: environment variable THREE, ONE, TWO is not set
            without c: environment variable KEY, HOST is not set
        "#]],
    );
}

#[test]
fn variables_are_expanded_in_the_expected_places() {
    check(
        r#"{"mcpServers": {
            "a": {"command": "~/bin/${TOKEN}", "args": ["${TOKEN}", "{TOKEN}"], "env": {"K": "${TOKEN}{TOKEN}"}, "cwd": "sub/${TOKEN}"},
            "b": {"command": "x", "cwd": "~/w"},
            "c": {"command": "x", "cwd": "/abs"},
            "d": {"url": "http://h/${TOKEN}", "headers": {"A": "{TOKEN} {NONE}"}}}}"#,
        expect![[r#"
            a stdio "/home/u/bin/s3cr3t" ["s3cr3t", "{TOKEN}"] K=s3cr3ts3cr3t in /etc/n/sub/s3cr3t Newline
            b stdio "x" [] in /home/u/w Newline
            c stdio "x" [] in /abs Newline
            d HttpOrSse http://h/s3cr3t a=s3cr3t {NONE}
        "#]],
    );
}

#[test]
fn unsupported_variables_are_reported() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "args": ["${input:k}", "${TOKEN", "a\u0000b"]}}}"#,
        expect![[r#"
            error: narrows.json:1:48: server 'a': cannot prompt for ${input:...}
              path: mcpServers.a.args[0]
              help: set an environment variable and refer to it as ${VAR}
            error: narrows.json:1:62: server 'a': a `${` here does not name a variable
              path: mcpServers.a.args[1]
              help: write ${VAR}, ${VAR:-default} or ${env:VAR}, and $${ for ${ itself
            error: narrows.json:1:73: server 'a': the value contains a NUL character
              path: mcpServers.a.args[2]
        "#]],
    );
}

#[test]
fn editor_variable_skips_only_its_server() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "args": ["${relativeFile}"]}, "b": {"command": "y"}}}"#,
        expect![[r#"
            error: narrows.json:1:48: server 'a': `${relativeFile}` is a variable of VS Code and Cursor and exists only in the editor
              path: mcpServers.a.args[0]
              help: write the value itself, or set an environment variable and name it as ${VAR}
            b stdio "y" [] Newline
            without a: `${relativeFile}` is a variable of VS Code and Cursor and exists only in the editor
        "#]],
    );
}
