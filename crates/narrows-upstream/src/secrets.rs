//! Redacts secrets from an upstream's settings. A server may repeat a secret in an error or on
//! stderr, so everything it writes is redacted before it is logged or shown. [`find`] decides which
//! values look like secrets.

mod find;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use ::http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use narrows_wire::Raw;

use self::find::{in_arguments, in_environment};
use crate::failure::Failure;
use crate::settings::{RemoteSettings, StdioSettings, UpstreamKind};

/// The maximum number of bytes of a message that are searched and shown.
const LONGEST_SHOWN: usize = 64 * 1024;

/// The minimum length of a secret, because shorter values are often ordinary words.
const SHORTEST: usize = 6;

#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

/// A message, or its beginning, without secrets.
pub struct Redacted<'a> {
    pub text: Cow<'a, str>,
    /// The length of the full message if `text` is only its beginning.
    pub cut_from: Option<usize>,
}

impl Secrets {
    pub fn of(kind: &UpstreamKind) -> Secrets {
        match kind {
            UpstreamKind::Stdio(settings) => Secrets::of_stdio(settings),
            UpstreamKind::Remote(settings) => Secrets(of_remote(settings)),
            UpstreamKind::Builtin(_) => Secrets::default(),
        }
    }

    pub fn of_stdio(settings: &StdioSettings) -> Secrets {
        let mut values = in_environment(&settings.env);
        values.extend(in_arguments(&settings.args));
        Secrets(prepared(values))
    }

    pub fn redact(&self, text: String) -> String {
        self.0
            .iter()
            .fold(text, |text, secret| match text.contains(secret.as_str()) {
                true => text.replace(secret.as_str(), "***"),
                false => text,
            })
    }

    /// Returns a message from the server without secrets, for the log. Only the beginning of a long
    /// message is searched and returned.
    pub fn redacted<'a>(&self, raw: &'a Raw) -> Redacted<'a> {
        let text = raw.as_str();
        let start = &text[..text.floor_char_boundary(LONGEST_SHOWN)];
        let has_secret = self.0.iter().any(|secret| start.contains(secret.as_str()));
        Redacted {
            cut_from: (start.len() < text.len()).then_some(text.len()),
            text: match has_secret {
                true => Cow::Owned(self.redact(start.to_owned())),
                false => Cow::Borrowed(start),
            },
        }
    }

    pub fn redact_failure(&self, failure: &Failure) -> Failure {
        Failure {
            kind: failure.kind,
            detail: self.redact(failure.detail.clone()),
            stderr: failure
                .stderr
                .iter()
                .map(|line| self.redact(line.clone()))
                .collect(),
            speaks: failure.speaks,
            is_answer: failure.is_answer,
        }
    }
}

/// Returns the possible secrets of a remote server: the values and words of headers, of the query,
/// and of the user info in the URL (`Bearer …`).
pub(crate) fn of_remote(settings: &RemoteSettings) -> Vec<String> {
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
        // Not split, because a password may contain any character.
        let mut whole = vec![password.to_owned(), decoded(password)];
        let header = user_info(&settings.url);
        whole.extend(words(
            header.as_ref().and_then(|it| it.to_str().ok()).as_slice(),
        ));
        whole.extend(words(&values));
        return prepared(whole);
    }
    prepared(words(&values))
}

/// Returns `user:password@` of a URL as an `Authorization` value. Uses the proxy matcher, which
/// already does this for proxy URLs, including percent-decoding.
pub(crate) fn user_info(url: &Uri) -> Option<HeaderValue> {
    url.authority()?.as_str().contains('@').then_some(())?;
    // The matcher does not know the WebSocket schemes.
    let http = match url.scheme_str() {
        Some("ws" | "wss") => url.to_string().replacen("ws", "http", 1).parse().ok()?,
        _ => url.clone(),
    };
    let matcher = Matcher::builder().all(http.to_string()).build();
    matcher.intercept(&http)?.basic_auth().cloned()
}

/// Returns the values to redact, without those that are too short, and with the JSON-escaped form
/// of each. Longer values come first, so that a value inside another one leaves no remainder.
fn prepared(values: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(values.len());
    for value in values {
        if value.len() < SHORTEST {
            continue;
        }
        let quoted = Raw::string(&value);
        let quoted = quoted.as_str();
        let escaped = quoted[1..quoted.len() - 1].to_owned();
        all.extend([value, escaped]);
    }
    all.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    all.dedup();
    all
}

/// Returns true for a path segment that looks like a token, because some hosted servers expect one
/// in the path.
pub(crate) fn is_token(part: &str) -> bool {
    part.len() >= 20 && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the words of these values that must be redacted. Short words are not secrets, and
/// redacting them would make the text unreadable.
pub(crate) fn words(values: &[impl AsRef<str>]) -> Vec<String> {
    let parts = |value: &str| -> Vec<String> {
        // The authentication scheme is not a secret, and shows what the server expects.
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

/// Returns true for the name of an authentication scheme: those registered for HTTP, and common
/// others.
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

/// Decodes percent-encoding, because the server sees the decoded value.
fn decoded(text: &str) -> String {
    narrows_wire::text::percent_decoded(text).into_owned()
}
