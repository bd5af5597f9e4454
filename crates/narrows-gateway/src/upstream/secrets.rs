//! What must not be told of an upstream's settings. A server may repeat a
//! secret that it was given, in an error or on stderr; whatever of that is
//! logged or shown passes through here.

use std::ffi::OsString;

use super::Failure;
use crate::events::looks_secret;
use crate::settings::{StdioSettings, UpstreamKind};

/// Shorter values are too likely to be ordinary words.
const SHORTEST: usize = 6;

#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn of(kind: &UpstreamKind) -> Secrets {
        let mut values: Vec<String> = match kind {
            UpstreamKind::Stdio(settings) => return Secrets::of_stdio(settings),
            UpstreamKind::Remote(settings) => {
                let headers = settings.headers.iter();
                let headers = headers.filter_map(|(_, value)| value.to_str().ok());
                let query = settings.url.query().into_iter();
                let query = query.flat_map(|query| query.split('&'));
                let query = query.filter_map(|pair| Some(pair.split_once('=')?.1));
                let words = headers.flat_map(str::split_whitespace).chain(query);
                words.map(str::to_owned).collect()
            }
            UpstreamKind::Builtin(_) => Vec::new(),
        };
        values.retain(|value| value.len() >= SHORTEST);
        Secrets(values)
    }

    pub(crate) fn of_stdio(settings: &StdioSettings) -> Secrets {
        let secret = |name: &OsString| looks_secret(name.as_encoded_bytes());
        let values = settings.env.iter().filter(|(name, _)| secret(name));
        let values = values.filter_map(|(_, value)| value.to_str());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{RemoteManner, RemoteSettings};
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
            "*** *** is wrong, and so is token=*** of v2",
        );
    }
}
