//! What must not be told of an upstream's settings. A server may repeat a
//! secret that it was given, in an error or on stderr; whatever of that is
//! logged or shown passes through here.

use std::ffi::OsString;

use super::Failure;
use super::web::user_info;
use crate::events::looks_secret;
use crate::settings::{RemoteSettings, StdioSettings, UpstreamKind};

/// Shorter values are too likely to be ordinary words.
const SHORTEST: usize = 6;

#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn of(kind: &UpstreamKind) -> Secrets {
        let mut values: Vec<String> = match kind {
            UpstreamKind::Stdio(settings) => return Secrets::of_stdio(settings),
            UpstreamKind::Remote(settings) => of_remote(settings),
            UpstreamKind::Builtin(_) => Vec::new(),
        };
        values.retain(|value| value.len() >= SHORTEST);
        Secrets(values)
    }

    pub(crate) fn of_stdio(settings: &StdioSettings) -> Secrets {
        let secret = |name: &OsString| looks_secret(name.as_encoded_bytes());
        let values = settings.env.iter().filter(|(name, _)| secret(name));
        let values = values.filter_map(|(_, value)| value.to_str());
        let values = values.chain(secret_arguments(&settings.args));
        let values = values.filter(|value| value.len() >= SHORTEST);
        Secrets(values.map(str::to_owned).collect())
    }

    pub(crate) fn blot(&self, text: String) -> String {
        self.0
            .iter()
            .fold(text, |text, secret| match text.contains(secret.as_str()) {
                true => text.replace(secret.as_str(), "***"),
                false => text,
            })
    }

    pub(crate) fn blot_failure(&self, failure: &Failure) -> Failure {
        Failure {
            kind: failure.kind,
            detail: self.blot(failure.detail.clone()),
            stderr: failure
                .stderr
                .iter()
                .map(|line| self.blot(line.clone()))
                .collect(),
            speaks: failure.speaks,
        }
    }
}

/// Returns the values of arguments that look secret: `--token VALUE`,
/// `--token=VALUE`, `API_KEY=VALUE`, `Authorization: Bearer VALUE`, the password
/// of a URL, and words with the prefix of a known kind of token.
fn secret_arguments(args: &[String]) -> Vec<&str> {
    let mut secrets = Vec::new();
    let mut named = false;
    for arg in args {
        let is_flag = arg.starts_with('-');
        let (name, value) = match arg.split_once(['=', ':']) {
            Some((name, value)) => (name, Some(value)),
            None => (arg.as_str(), None),
        };
        let is_secret = looks_secret(name.as_bytes());
        match value {
            Some(value) if is_secret => {
                secrets.extend(
                    value
                        .split_ascii_whitespace()
                        .filter(|word| !is_scheme(word)),
                );
            }
            _ if named && !is_flag => secrets.push(arg),
            _ => secrets.extend(password(arg)),
        }
        if TOKEN_PREFIXES.iter().any(|prefix| arg.starts_with(prefix)) {
            secrets.push(arg);
        }
        named = is_flag && is_secret && value.is_none();
    }
    secrets
}

/// Prefixes by which providers mark their tokens.
const TOKEN_PREFIXES: [&str; 9] = [
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "npm_",
];

/// Returns the password of a URL with `user:password@`.
fn password(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// Anything in a configured header, in the query or in the user info of the URL
/// may be a secret, and so may its parts (`Bearer …`).
pub(super) fn of_remote(settings: &RemoteSettings) -> Vec<String> {
    let headers = settings.headers.iter();
    let values: Vec<String> = headers
        .filter_map(|(_, value)| value.to_str().ok())
        .chain(settings.url.query())
        .chain(settings.url.path().split('/').filter(|part| is_token(part)))
        .map(str::to_owned)
        .collect();
    let authority = settings.url.authority().map(|it| it.as_str());
    if let Some((user, _)) = authority.and_then(|it| it.rsplit_once('@')) {
        let password = user.split_once(':').map_or(user, |(_, it)| it);
        // Whole: a password may hold any character.
        let mut whole = vec![password.to_owned(), decoded(password)];
        let header = user_info(&settings.url);
        whole.extend(words(
            header.as_ref().and_then(|it| it.to_str().ok()).as_slice(),
        ));
        whole.extend(words(&values));
        return whole;
    }
    words(&values)
}

/// Some hosted servers carry their token in the path.
pub(super) fn is_token(part: &str) -> bool {
    part.len() >= 20 && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// The words of these values that are worth hiding. Short ones are no secrets,
/// and would riddle the text with stars.
pub(super) fn words(values: &[impl AsRef<str>]) -> Vec<String> {
    let parts = |value: &str| -> Vec<String> {
        // The scheme of credentials is no secret, and says what a server wants.
        let value = match value.split_once(' ') {
            Some((scheme, credentials)) if is_scheme(scheme) => credentials,
            _ => value,
        };
        let parts = value.split([' ', ',', ';', '&', '=']);
        let parts = parts.filter(|part| part.len() >= SHORTEST);
        parts.map(str::to_owned).collect()
    };
    values
        .iter()
        .flat_map(|value| parts(value.as_ref()))
        .collect()
}

/// Returns true if a word names a way to authenticate: those registered for
/// HTTP, and two that are in use besides.
fn is_scheme(word: &str) -> bool {
    const SCHEMES: [&str; 12] = [
        "apikey",
        "basic",
        "bearer",
        "digest",
        "dpop",
        "gnap",
        "hoba",
        "mutual",
        "negotiate",
        "oauth",
        "privatetoken",
        "token",
    ];
    SCHEMES
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Without percent signs, as a server sees it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::RemoteManner;
    use narrows_wire::frame::Framing;

    #[track_caller]
    fn check(kind: UpstreamKind, text: &str, expected: &str) {
        assert_eq!(Secrets::of(&kind).blot(text.to_owned()), expected);
    }

    #[test]
    fn secrets_that_a_server_repeats_are_blotted_out() {
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
            manner: RemoteManner::Http,
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
    fn secrets_in_arguments_are_blotted_out() {
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
    fn whatever_a_url_confides_is_one() {
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
                manner: RemoteManner::Http,
                url: url.parse().expect("a URL"),
                headers: Vec::new(),
            };
            let text = format!("what is {said} for?");
            check(UpstreamKind::Remote(remote), &text, "what is *** for?");
        }
    }
}
