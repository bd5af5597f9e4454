//! Tests of `envFile` and other keys for the environment of a server.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;

use super::{check, outcome_in};

/// A folder with the files of a configuration, removed on drop.
struct ConfigFolder(PathBuf);

impl ConfigFolder {
    fn new(name: &str) -> ConfigFolder {
        let path = std::env::temp_dir().join(format!("narrows-env-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        ConfigFolder(path)
    }

    fn with(name: &str, text: impl AsRef<[u8]>) -> ConfigFolder {
        let files = ConfigFolder::new(name);
        fs::write(files.0.join(".env"), text).expect("a file can be written");
        files
    }

    /// Returns the problems of a configuration in this folder.
    fn outcome(&self, text: &str) -> String {
        let shown = self.0.display().to_string();
        outcome_in(&self.0, text).replace(&shown, "FOLDER")
    }
}

impl Drop for ConfigFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SERVER: &str = r#"{"mcpServers": {"a": {"command": "x", "envFile": ".env"}}}"#;

#[test]
fn env_file_variables_are_passed_and_env_overrides_them() {
    let text = "# a comment\n\nONE=first\nTWO = second # a remark\nexport THREE='a # b \\n $X'\n\
                FOUR=\"a \\\"b\\\" \\\\ c\\nd\"\r\nFIVE=\nSIX=a#b\nSEVEN=\"two\nlines\"\nTWO=again\n";
    let files = ConfigFolder::with("env-wins", text);
    let config =
        r#"{"mcpServers": {"a": {"command": "x", "envFile": ".env", "env": {"ONE": "own"}}}}"#;
    expect![[r#"
        a stdio "x" [] FIVE= FOUR=a "b" \ c
        d ONE=own SEVEN=two
        lines SIX=a#b THREE=a # b \n $X TWO=again Newline
    "#]]
    .assert_eq(&files.outcome(config));
    let workspace = r#"{"mcpServers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env",
        "env": {"ONE": "own"}}}}"#;
    assert_eq!(files.outcome(workspace), files.outcome(config));
}

#[test]
fn unreadable_env_file_affects_only_its_server() {
    let files = ConfigFolder::new("missing");
    let config = r#"{"mcpServers": {"a": {"command": "x", "envFile": ".env"}, "b": {"command": "y"},
        "c": {"command": "x", "envFile": ".env", "disabled": true}}}"#;
    expect![[r#"
        error: narrows.json:1:50: server 'a': the env file 'FOLDER/.env' cannot be read: there is no such file
          path: mcpServers.a.envFile
          help: create it, or fix the path: a relative path starts at the folder of this configuration file; then save this file again or send SIGHUP to the gateway
        b stdio "y" [] Newline
        c (disabled) stdio "x" [] Newline
        without a: the env file 'FOLDER/.env' cannot be read: there is no such file
    "#]]
    .assert_eq(&files.outcome(config));
    fs::create_dir(files.0.join(".env")).expect("a folder can be made");
    let outcome = files.outcome(SERVER);
    assert!(outcome.contains("it is not a regular file"), "{outcome}");
    let large = ConfigFolder::with("large", vec![b'#'; 1024 * 1024 + 1]);
    let outcome = large.outcome(SERVER);
    assert!(outcome.contains("it is larger than 1 MiB"), "{outcome}");
    let binary = ConfigFolder::with("binary", b"A=\xff\n");
    let outcome = binary.outcome(SERVER);
    assert!(outcome.contains("it is not UTF-8 text"), "{outcome}");
}

#[test]
fn invalid_env_file_line_is_reported_by_number() {
    let files = ConfigFolder::with(
        "lines",
        "GOOD=1\ns3cr3t\n=s3cr3t\nA B=s3cr3t\nLAST=\"s3cr3t\n",
    );
    let outcome = files.outcome(SERVER);
    expect![[r#"
        warning: narrows.json:1:50: server 'a': line 2 of the env file 'FOLDER/.env' is not NAME=VALUE and is ignored
          path: mcpServers.a.envFile
          help: write NAME=VALUE, or start comments with #
        warning: narrows.json:1:50: server 'a': line 3 of the env file 'FOLDER/.env' is not NAME=VALUE and is ignored
          path: mcpServers.a.envFile
          help: write NAME=VALUE, or start comments with #
        warning: narrows.json:1:50: server 'a': line 4 of the env file 'FOLDER/.env' is not NAME=VALUE and is ignored
          path: mcpServers.a.envFile
          help: write NAME=VALUE, or start comments with #
        warning: narrows.json:1:50: server 'a': line 5 of the env file 'FOLDER/.env' is not NAME=VALUE and is ignored
          path: mcpServers.a.envFile
          help: write NAME=VALUE, or start comments with #
        a stdio "x" [] GOOD=1 Newline
    "#]]
    .assert_eq(&outcome);
    for (lines, expected) in [
        (5, None),
        (6, Some("1 more line is ignored in the env file")),
        (9, Some("4 more lines are ignored in the env file")),
    ] {
        let files = ConfigFolder::with("many-lines", "s3cr3t\n".repeat(lines));
        let outcome = files.outcome(SERVER);
        assert_eq!(outcome.matches("is not NAME=VALUE").count(), 5, "{outcome}");
        match expected {
            Some(expected) => assert!(outcome.contains(expected), "{outcome}"),
            None => assert!(!outcome.contains(" more "), "{outcome}"),
        }
    }
}

#[test]
fn dollar_name_is_expanded_only_as_a_whole_value() {
    check(
        r#"{"mcpServers": {
            "a": {"command": "x", "args": ["$TOKEN"], "env": {"A": "$TOKEN", "B": "x$TOKEN", "C": "$TOKEN "}},
            "b": {"httpUrl": "http://x/", "headers": {"Authorization": "$TOKEN", "X-Y": "Bearer $TOKEN"}},
            "c": {"command": "x", "env": {"A": "$NONE"}},
            "d": {"command": "x", "env": {"A": "$NONE"}, "disabled": true}}}"#,
        expect![[r#"
            warning: narrows.json:4:48: server 'c': environment variable NONE is not set, so `$NONE` is used literally
              path: mcpServers.c.env.A
              help: set it, or write ${NONE:-...} for a default
            a stdio "x" ["$TOKEN"] A=s3cr3t B=x$TOKEN C=$TOKEN  Newline
            b HttpOrSse http://x/ authorization=s3cr3t x-y=Bearer $TOKEN
            c stdio "x" [] A=$NONE Newline
            d (disabled) stdio "x" [] A=$NONE Newline
        "#]],
    );
}

#[test]
fn working_directory_is_an_alias_of_cwd() {
    check(
        r#"{"mcpServers": {"a": {"command": "x", "workingDirectory": "w"}}}"#,
        expect![[r#"
            a stdio "x" [] in /etc/n/w Newline
        "#]],
    );
    check(
        r#"{"mcpServers": {"a": {"url": "http://x/", "envFile": ".env", "cwd": "w"}}}"#,
        expect![[r#"
            warning: narrows.json:1:54: server 'a': `envFile` has no effect on a server of type http
              path: mcpServers.a.envFile
            a HttpOrSse http://x/
        "#]],
    );
}
