//! Checks `clients` and `admin`.
//!
//! Errors about a token do not quote it, because the text may be the token itself.

use std::collections::HashMap;

use narrows_gateway::settings::{
    AllowedEntrypoints, ClientSettings, EndpointSettings, EntrypointName, Rate, TokenDigest,
};
use narrows_wire::text::hex;

use super::presets::{PresetTable, ServerIds};
use crate::config::problem::{At, Problems};
use crate::config::raw::{RateChoice, RawAdmin, RawClient, RawFile};
use crate::config::read::{Field, Given};
use crate::nearest::nearest;

/// The maximum number of clients. A larger number suggests individual users, who belong in a
/// directory service.
const MAX_CLIENTS: usize = 1_000;

/// The maximum length of a client name.
const MAX_NAME: usize = 64;

/// The maximum rate. No client needs more, and the interval between requests stays measurable.
const MAX_PER_MINUTE: usize = 1_000_000;

const DIGEST: &str = "sha256:";

/// The checked `admin` settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AdminChecked {
    /// A configured token, in addition to the one created at every start.
    pub(crate) token: Option<TokenDigest>,
    /// True if other machines may use the admin API.
    pub(crate) remote: bool,
    /// True if anyone may read the metrics.
    pub(crate) open_metrics: bool,
}

/// The endpoints, servers and presets that clients may be granted.
pub(super) struct KnownNames<'a> {
    pub(super) endpoints: &'a [EndpointSettings],
    pub(super) servers: &'a ServerIds<'a>,
    pub(super) presets: &'a PresetTable,
}

/// Returns true if a text is a valid client name.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits)
}

/// Formats a digest as in the configuration.
pub(crate) fn written(digest: &TokenDigest) -> String {
    format!("{DIGEST}{}", hex(&digest.0))
}

pub(super) fn check_all(
    raw: &RawFile,
    known: &KnownNames<'_>,
    problems: &mut Problems<'_>,
) -> (Vec<ClientSettings>, AdminChecked) {
    let mut clients = Vec::new();
    let mut tokens = HashMap::new();
    if let Some(given) = raw.clients.given() {
        let all = &given.value.0;
        if all.is_empty() {
            let what = "`clients` is empty, so anyone who can reach the gateway may use it";
            problems.warn(
                &given.at,
                what,
                "`narrows token NAME` creates a token for a client",
            );
        }
        if let Some((name, _)) = all.get(MAX_CLIENTS) {
            let what = format!("there are more than {MAX_CLIENTS} clients");
            problems.error(&name.at, what, "");
        }
        for (name, client) in all.iter().take(MAX_CLIENTS) {
            clients.push(check_client(name, client, known, &mut tokens, problems));
        }
    }
    let admin = raw.admin.value();
    let admin = admin.map_or_else(AdminChecked::default, |raw| {
        admin_of(raw, &tokens, problems)
    });
    (clients, admin)
}

/// The tokens so far, with their clients.
type Tokens<'a> = HashMap<[u8; 32], &'a str>;

fn check_client<'a>(
    name: &'a Given<String>,
    given: &Given<RawClient>,
    known: &KnownNames<'_>,
    tokens: &mut Tokens<'a>,
    problems: &mut Problems<'_>,
) -> ClientSettings {
    let raw = &given.value;
    if !is_name(&name.value) {
        let help = format!("use 1 to {MAX_NAME} letters, digits, dots, underscores or dashes");
        problems.error(&name.at, "this is not a valid client name", help);
    }
    let mut settings = ClientSettings::named(&name.value);
    let is_anonymous = name.value == ClientSettings::ANONYMOUS;
    match &raw.token {
        Field::Given(token) if is_anonymous => {
            let what = "`anonymous` stands for clients without a token, so it cannot have one";
            problems.error(&token.at, what, "give the client another name");
        }
        Field::Given(token) => {
            settings.token = digest(token, problems);
            if let Some(digest) = &settings.token
                && let Some(other) = tokens.insert(digest.0, &name.value)
            {
                let what = format!("client `{other}` has the same token");
                let help = "give each client its own token; `narrows token` creates one";
                problems.error(&token.at, what, help);
            }
        }
        Field::Absent if !is_anonymous => {
            let what = "a client needs a token";
            let help = "`narrows token NAME` creates one; only `anonymous` has none";
            problems.error(&name.at, what, help);
        }
        Field::Absent | Field::Bad => {}
    }
    settings.entrypoints = match &raw.endpoints {
        Field::Absent => AllowedEntrypoints::All,
        Field::Given(endpoints) => {
            AllowedEntrypoints::These(entrypoints(endpoints, known, problems))
        }
        Field::Bad => AllowedEntrypoints::These(Vec::new()),
    };
    if let Some(preset) = raw.preset.given() {
        known
            .presets
            .check_named(&preset.value, &preset.at, problems);
        settings.preset = Some(preset.value.clone());
    }
    settings.rate = raw.rate.given().and_then(|given| rate(given, problems));
    settings.max_calls = at_least_one(&raw.max_calls, problems);
    settings.max_sessions = at_least_one(&raw.max_sessions, problems);
    settings
}

fn admin_of(raw: &RawAdmin, clients: &Tokens<'_>, problems: &mut Problems<'_>) -> AdminChecked {
    let token = raw.token.given();
    let digest = token.and_then(|given| digest(given, problems));
    if let (Some(given), Some(digest)) = (token, &digest)
        && let Some(client) = clients.get(&digest.0)
    {
        let what = format!("client `{client}` has the same token");
        let help = "`narrows token --admin` creates an admin token";
        problems.error(&given.at, what, help);
    }
    AdminChecked {
        token: digest,
        remote: raw.remote.value().copied().unwrap_or(false),
        open_metrics: raw.open_metrics.value().copied().unwrap_or(false),
    }
}

fn digest(given: &Given<String>, problems: &mut Problems<'_>) -> Option<TokenDigest> {
    let Some(digest) = given.value.strip_prefix(DIGEST).and_then(bytes) else {
        let what = "this is not the digest of a token; tokens themselves do not belong here";
        let help = "write \"sha256:\" and 64 hex digits; `narrows token --hash` prints the digest of a token";
        problems.error(&given.at, what, help);
        return None;
    };
    let digest = TokenDigest(digest);
    if digest == TokenDigest::of("") {
        let what = "this is the digest of an empty token";
        problems.error(&given.at, what, "`narrows token` creates a token");
        return None;
    }
    Some(digest)
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u32>> = hex.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2).map(|pair| match pair {
        [high, low] => (high * 16 + low) as u8,
        _ => 0,
    });
    if digits.len() != 64 {
        return None;
    }
    pairs.collect::<Vec<u8>>().try_into().ok()
}

fn entrypoints(
    given: &Given<Vec<Given<String>>>,
    known: &KnownNames<'_>,
    problems: &mut Problems<'_>,
) -> Vec<EntrypointName> {
    if given.value.is_empty() {
        let help = "leave `endpoints` out to allow all of them";
        problems.warn(&given.at, "this client may not use any endpoint", help);
    }
    let entrypoint = |given: &Given<String>| entrypoint(given, known, problems);
    given.value.iter().filter_map(entrypoint).collect()
}

fn entrypoint(
    given: &Given<String>,
    known: &KnownNames<'_>,
    problems: &mut Problems<'_>,
) -> Option<EntrypointName> {
    let text = given.value.as_str();
    let names = known
        .endpoints
        .iter()
        .map(|endpoint| endpoint.name.as_str());
    match text.strip_prefix("servers/") {
        _ if text == "rpc" => return Some(EntrypointName::Pruner),
        Some("*") => return Some(EntrypointName::AnyServer),
        Some(id) if !id.is_empty() => {
            let servers = known.servers.ids();
            if !servers.contains(&id) {
                let near = nearest(id, servers.iter().copied());
                let near = near.map(|near| format!("servers/{near}"));
                missing(
                    &given.at,
                    format!("no server is called `{id}`"),
                    near,
                    problems,
                );
            }
            return Some(EntrypointName::Server(id.to_owned()));
        }
        Some(_) => {}
        None if text.is_empty() || text.contains('/') => {}
        None => {
            if !names.clone().any(|name| name == text) {
                let near = nearest(text, names).map(str::to_owned);
                missing(
                    &given.at,
                    format!("no endpoint is called `{text}`"),
                    near,
                    problems,
                );
            }
            return Some(EntrypointName::Endpoint(text.to_owned()));
        }
    }
    let help = "write the name of an endpoint (`default` is at /mcp), servers/ID, servers/* or rpc";
    problems.error(&given.at, format!("`{text}` is not an endpoint"), help);
    None
}

/// Warns about a permission for something unknown. The permission is harmless, and the endpoint or
/// server may be added later.
fn missing(at: &At, what: String, near: Option<String>, problems: &mut Problems<'_>) {
    let help = near.map(|near| format!("did you mean `{near}`?"));
    problems.warn(at, what, help.unwrap_or_default());
}

fn rate(given: &Given<RateChoice>, problems: &mut Problems<'_>) -> Option<Rate> {
    let (per_minute, burst) = match &given.value {
        RateChoice::PerMinute(per_minute) => (*per_minute, None),
        RateChoice::Both(raw) => {
            let Some(per_minute) = raw.per_minute.value() else {
                if raw.per_minute.is_absent() {
                    let help = "write {\"per_minute\": 600, \"burst\": 60}";
                    problems.error(&given.at, "`per_minute` is missing", help);
                }
                return None;
            };
            (*per_minute, raw.burst.value().copied())
        }
    };
    let burst = burst
        .unwrap_or(per_minute / 10)
        .max(usize::from(burst.is_none()));
    let fits = |number: &usize| (1..=MAX_PER_MINUTE).contains(number);
    let number = |number: usize| u32::try_from(number).ok().filter(|_| fits(&number));
    let (Some(per_minute), Some(burst)) = (number(per_minute), number(burst)) else {
        let what = format!("a rate must be 1 to {MAX_PER_MINUTE} requests");
        problems.error(&given.at, what, "");
        return None;
    };
    Some(Rate { per_minute, burst })
}

fn at_least_one(given: &Field<usize>, problems: &mut Problems<'_>) -> Option<usize> {
    let given = given.given()?;
    if given.value == 0 {
        let help = "to lock a client out, remove it";
        problems.error(&given.at, "this limit must be at least 1", help);
    }
    Some(given.value)
}
