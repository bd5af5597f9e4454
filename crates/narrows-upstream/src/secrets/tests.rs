use super::*;
use crate::settings::RemoteProtocol;
use narrows_wire::frame::Framing;

#[track_caller]
fn check(kind: UpstreamKind, text: &str, expected: &str) {
    assert_eq!(Secrets::of(&kind).redact(text.to_owned()), expected);
}

#[test]
fn secrets_in_server_output_are_redacted() {
    let env = [
        ("API_KEY", "s3cret-1"),
        ("LANG", "en_GB.UTF-8"),
        ("A_TOKEN", "ab"),
    ];
    let env = env
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    let stdio = StdioSettings {
        command: "x".into(),
        args: Vec::new(),
        env,
        cwd: None,
        framing: Framing::Newline,
    };
    check(
        UpstreamKind::Stdio(stdio),
        "bad key s3cret-1 for en_GB.UTF-8 in a cab",
        "bad key *** for en_GB.UTF-8 in a cab",
    );
    let header = |value: &str| value.parse().expect("a header value");
    let remote = RemoteSettings {
        protocol: RemoteProtocol::Http,
        url: "ws://h/?token=fedcba321&v=2".parse().expect("a URL"),
        headers: vec![(http::header::AUTHORIZATION, header("Bearer abcdef123"))],
    };
    check(
        UpstreamKind::Remote(remote),
        "Bearer abcdef123 is wrong, and so is token=fedcba321 of v2",
        "Bearer *** is wrong, and so is token=*** of v2",
    );
}

#[test]
fn secrets_in_arguments_are_redacted() {
    let check_args = |args: &[&str], text: &str, expected: &str| {
        let stdio = StdioSettings {
            command: "x".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            cwd: None,
            framing: Framing::Newline,
        };
        check(UpstreamKind::Stdio(stdio), text, expected);
    };
    check_args(&["--api-key", "abcdef1"], "key abcdef1", "key ***");
    check_args(&["--api-key=abcdef1"], "key abcdef1", "key ***");
    check_args(&["-e", "TOKEN=abcdef1"], "is abcdef1", "is ***");
    let header = ["--header", "Authorization: Bearer abcdef1"];
    check_args(&header, "Bearer abcdef1", "Bearer ***");
    check_args(&["postgres://me:abcdef1@db/x"], "abcdef1?", "***?");
    check_args(&["ghp_abcdef1"], "ghp_abcdef1", "***");
    check_args(
        &["--verbose", "folder1", "--token", "--other", "folder2"],
        "folder1 --other folder2",
        "folder1 --other folder2",
    );
}

#[test]
fn url_credentials_are_secrets() {
    for (url, said) in [
        ("http://me:pass%20word@h/", "pass word"),
        ("http://me:pa%3Assword@h/?k=v", "pa:ssword"),
        ("http://token-alone@h/", "token-alone"),
        ("ws://joe:pass-word@h/", "am9lOnBhc3Mtd29yZA"),
        ("ws://h/?key=abcdef123", "abcdef123"),
        (
            "http://h/s/abcdefghijklmnopqrst1/mcp",
            "abcdefghijklmnopqrst1",
        ),
    ] {
        let remote = RemoteSettings {
            protocol: RemoteProtocol::Http,
            url: url.parse().expect("a URL"),
            headers: Vec::new(),
        };
        let text = format!("what is {said} for?");
        check(UpstreamKind::Remote(remote), &text, "what is *** for?");
    }
}

fn stdio(args: &[&str], env: &[(&str, &str)]) -> Secrets {
    Secrets::of_stdio(&StdioSettings {
        command: "x".into(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: None,
        framing: Framing::Newline,
    })
}

#[test]
fn secret_looking_environment_values_are_detected() {
    for (name, value, said, expected) in [
        ("DB_PASS", "S3cZq9", "S3cZq9", "***"),
        ("MYSQL_PWD", "S3cZq9", "S3cZq9", "***"),
        ("GITHUB_PAT", "S3cZq9", "S3cZq9", "***"),
        ("AUTH", "S3cZq9", "S3cZq9", "***"),
        ("AUTH", "Bearer S3cZq9", "Bearer S3cZq9", "Bearer ***"),
        ("SENTRY_DSN", "S3cZq9", "S3cZq9", "***"),
        ("AWS_CREDENTIALS", "S3cZq9", "S3cZq9", "***"),
        ("PRIVATE_VALUE", "S3cZq9", "S3cZq9", "***"),
        (
            "CONNECTION_STRING",
            "Server=h;Password=S3cZq9;",
            "is S3cZq9",
            "is ***",
        ),
        ("ANY", "Server=h;Password=S3cZq9;", "is S3cZq9", "is ***"),
        ("ANY", "host=h pwd=S3cZq9", "is S3cZq9", "is ***"),
        (
            "DATABASE_URL",
            "postgres://u:S3cZq9@h/d",
            "is S3cZq9",
            "is ***",
        ),
        ("ANY", "https://h/?api_key=S3cZq9&v=1", "S3cZq9", "***"),
        ("ANY", r#"{"a":[{"apiKey":"S3cZq9"}]}"#, "S3cZq9", "***"),
        ("ANY", "hf_S3cZq9", "hf_S3cZq9", "***"),
        // The secret is escaped in JSON.
        (
            "A_SECRET",
            "S3c\"\\Zq9",
            r#"{"a":"S3c\"\\Zq9"}"#,
            r#"{"a":"***"}"#,
        ),
        // These do not look like secrets.
        ("PATH", "/usr/bin", "/usr/bin", "/usr/bin"),
        ("GIT_AUTHOR", "Jane Roe", "Jane Roe", "Jane Roe"),
        ("AUTH_TYPE", "bearer", "bearer", "bearer"),
        ("CONNECTION_MS", "300000", "300000", "300000"),
        ("LANG", "en_GB.UTF-8", "en_GB.UTF-8", "en_GB.UTF-8"),
    ] {
        let secrets = stdio(&[], &[(name, value)]);
        assert_eq!(secrets.redact(said.to_owned()), expected, "{name}={value}");
    }
}

#[test]
fn secret_looking_arguments_are_detected() {
    for args in [
        &["--auth", "S3cZq9"][..],
        &["--bearer", "S3cZq9"],
        &["--pat", "S3cZq9"],
        &["--access-token", "S3cZq9"],
        &["--env=GITHUB_TOKEN=S3cZq9"],
        &["-e", "GITHUB_TOKEN=S3cZq9"],
        &["--header=Authorization: Bearer S3cZq9"],
        &["--header=X-Auth-Token: S3cZq9"],
        &["-H", "X-Api-Key:S3cZq9"],
        &["https://h/x?token=S3cZq9&a=1"],
        &["https://h/x?a=1&api_key=S3cZq9"],
        &["--url=https://h/x?token=S3cZq9"],
        &["--dsn=postgres://u:S3cZq9@h/d"],
        &["--any=postgres://u:S3cZq9@h/d"],
        &["--connection-string", "Server=x;Password=S3cZq9;"],
        &["--any", "Server=x;pwd=S3cZq9"],
        &[r#"{"apiKey":"S3cZq9"}"#],
        &[r#"--json={"a":{"password":"S3cZq9"}}"#],
    ] {
        let said = stdio(args, &[]).redact("said S3cZq9.".to_owned());
        assert_eq!(said, "said ***.", "{args:?}");
    }
    for token in [
        "sk-S3cZq9",
        "ghp_S3cZq9",
        "ghs_S3cZq9",
        "hf_S3cZq9",
        "xapp-S3cZq9",
        "AIzaS3cZq9",
        "eyJhbGciOi.S3cZq9.x",
    ] {
        let said = stdio(&[token], &[]).redact(format!("said {token}."));
        assert_eq!(said, "said ***.", "{token}");
    }
    let random = stdio(&["-p", "S3cZq9S3cZq9"], &[]);
    assert_eq!(random.redact("S3cZq9S3cZq9".to_owned()), "***");
}

#[test]
fn ordinary_arguments_are_not_redacted() {
    for (args, said) in [
        (&["-p", "my-project"][..], "my-project"),
        (&["-p", "8080-8090"], "8080-8090"),
        (&["--auth", "bearer"], "bearer"),
        (&["--token", "--other", "folder2"], "--other folder2"),
        (&["--root=/home/me/keys:/data/x"], "/data/x"),
        (
            &["mcp-server@latest", "https://h/path?page=next10"],
            "next10",
        ),
        (&["sk-learn"], "sk-learn"),
    ] {
        let secrets = stdio(args, &[]);
        assert_eq!(secrets.redact(said.to_owned()), said, "{args:?}");
    }
}

#[test]
fn overlapping_secrets_are_redacted_completely() {
    let secrets = stdio(&[], &[("A_KEY", "abcdef"), ("B_KEY", "abcdef-ghijkl")]);
    assert_eq!(secrets.redact("is abcdef-ghijkl".to_owned()), "is ***");
}

#[test]
fn user_info_becomes_a_header_for_every_scheme() {
    for scheme in ["http", "https", "ws", "wss"] {
        let url = format!("{scheme}://me:pw@h/ws").parse().expect("a URL");
        let header = user_info(&url).expect("a header");
        assert_eq!(header, "Basic bWU6cHc=", "{scheme}");
    }
    assert_eq!(user_info(&Uri::from_static("ws://h/")), None);
}
