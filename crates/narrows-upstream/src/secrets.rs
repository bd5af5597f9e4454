//! Redaction of an upstream's settings. A server may repeat a secret that it
//! was given, in an error or on stderr; whatever of that is logged or shown
//! passes through here. [`find`] decides which values look secret.

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

/// Of longer messages only the beginning is searched. Events show less.
const LONGEST_SHOWN: usize = 64 * 1024;

/// Shorter values are too likely to be ordinary words.
const SHORTEST: usize = 6;

#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

/// A message without secrets, or the beginning of one.
pub struct Redacted<'a> {
    pub text: Cow<'a, str>,
    /// The length of the message if `text` is only its beginning.
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

    /// Returns a message of the server as the log may show it. Only the
    /// beginning of a long message is searched and returned.
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
        }
    }
}

/// Anything in a configured header, in the query or in the user info of the URL
/// may be a secret, and so may its parts (`Bearer …`).
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
        // Whole: a password may hold any character.
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

/// `user:password@` of a URL as a header. The proxy matcher is asked because
/// it does exactly this, percent signs included, for the URLs of proxies.
pub(crate) fn user_info(url: &Uri) -> Option<HeaderValue> {
    url.authority()?.as_str().contains('@').then_some(())?;
    // It knows no WebSocket.
    let http = match url.scheme_str() {
        Some("ws" | "wss") => url.to_string().replacen("ws", "http", 1).parse().ok()?,
        _ => url.clone(),
    };
    let matcher = Matcher::builder().all(http.to_string()).build();
    matcher.intercept(&http)?.basic_auth().cloned()
}

/// Returns values in the order in which they are looked for, without those that
/// are too short. Each is looked for as it stands in JSON, too. Longer ones come
/// first, so that a value inside of another one leaves no rest of it.
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

/// Some hosted servers carry their token in the path.
pub(crate) fn is_token(part: &str) -> bool {
    part.len() >= 20 && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// The words of these values that are worth hiding. Short ones are no secrets,
/// and would riddle the text with stars.
pub(crate) fn words(values: &[impl AsRef<str>]) -> Vec<String> {
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
    narrows_wire::text::percent_decoded(text).into_owned()
}
