//! Known behaviour of MCP clients, by the name in their `clientInfo`.

use std::time::Duration;

use narrows_wire::Raw;

use crate::settings::{ModelReads, Settings};
use narrows_upstream::chain::via::THROUGH_PROXY;
use narrows_upstream::exchange::ClientHello;

/// Clients that ignore `list_changed`, so that they never read a list again.
const IGNORES_LIST_CHANGED: [&str; 2] = ["codex-mcp-client", "goose"];

/// Clients, the half of a result that their models read, and the maximum number of characters that
/// reach the model unchanged.
const RESULTS: [(&str, ModelReads, usize); 16] = [
    ("claude-code", ModelReads::Structured, 50_000),
    ("codex-mcp-client", ModelReads::Structured, 40_000),
    ("cursor-vscode", ModelReads::Structured, usize::MAX),
    ("cursor", ModelReads::Structured, usize::MAX),
    ("Visual Studio Code", ModelReads::Structured, usize::MAX),
    (
        "Visual Studio Code - Insiders",
        ModelReads::Structured,
        usize::MAX,
    ),
    ("ChatGPT", ModelReads::Structured, usize::MAX),
    ("github-copilot-developer", ModelReads::Both, 30_000),
    ("Cline", ModelReads::Both, 8_000),
    ("@cline/core", ModelReads::Both, 8_000),
    ("gemini-cli-mcp-client", ModelReads::Content, 40_000),
    ("antigravity-client", ModelReads::Content, 40_000),
    ("opencode", ModelReads::Content, 50_000),
    ("goose", ModelReads::Content, 200_000),
    ("Zed", ModelReads::Content, usize::MAX),
    ("claude-ai", ModelReads::Content, 150_000),
];

/// A client's handling of tool results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultTraits {
    /// The half of a result that the model reads. `None` for an unknown client.
    pub reads: Option<ModelReads>,
    /// The maximum length of texts that the client leaves unchanged. It cuts longer texts or moves
    /// them to a file.
    pub cap: usize,
}

impl ResultTraits {
    /// The traits of an unknown client.
    pub(crate) const UNKNOWN: ResultTraits = ResultTraits {
        reads: None,
        cap: usize::MAX,
    };
}

/// Returns a client's handling of results. The settings override the table.
pub(crate) fn results(settings: &Settings, client: &ClientHello) -> ResultTraits {
    let name = name_of(client);
    let known = RESULTS.iter().find(|(known, ..)| *known == name);
    let own = settings.model_reads_by_client.get(&name).copied();
    ResultTraits {
        reads: own.or(known.map(|(_, reads, _)| *reads)),
        cap: known.map_or(usize::MAX, |(.., cap)| *cap),
    }
}

/// The list wait for clients that ignore `list_changed`. Both allow a server at least this long to
/// start.
const PATIENT_LIST_WAIT: Duration = Duration::from_secs(20);

/// The maximum waits for clients that are gateways. Without them, two gateways that use each other
/// would both wait for the configured time.
const GATEWAY_INITIALIZE_WAIT: Duration = Duration::from_secs(1);
const GATEWAY_LIST_WAIT: Duration = Duration::from_secs(4);

/// Returns the time that `initialize` waits for servers that are still starting.
pub(crate) fn initialize_wait(settings: &Settings, client: &ClientHello) -> Duration {
    match is_gateway(client) {
        true => settings.initialize_wait.min(GATEWAY_INITIALIZE_WAIT),
        false => settings.initialize_wait,
    }
}

/// Returns the time after the start of a session for which the client's lists wait for servers that
/// are still starting. Settings for the client's name have precedence. A `list_wait` of zero
/// disables waiting for all other clients.
pub(crate) fn list_wait(settings: &Settings, client: &ClientHello) -> Duration {
    let name = name_of(client);
    if let Some(wait) = settings.list_wait_by_client.get(&name) {
        return *wait;
    }
    let is_patient = IGNORES_LIST_CHANGED.contains(&name.as_str());
    match is_patient && !settings.list_wait.is_zero() {
        _ if is_gateway(client) => settings.list_wait.min(GATEWAY_LIST_WAIT),
        true => settings.list_wait.max(PATIENT_LIST_WAIT),
        false => settings.list_wait,
    }
}

/// Returns the name of a client without the suffixes that gateways add.
fn name_of(client: &ClientHello) -> String {
    let whole = whole_name(client);
    let mut name = whole.as_str();
    while let Some(inner) = name.strip_suffix(THROUGH_PROXY) {
        name = inner;
    }
    name.to_owned()
}

fn is_gateway(client: &ClientHello) -> bool {
    whole_name(client).ends_with(THROUGH_PROXY)
}

fn whole_name(client: &ClientHello) -> String {
    let name = client.client_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text);
    name.unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: &Settings, name: &str, seconds: u64) {
        let client = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::empty_object().with_member("name", &Raw::string(name)),
        };
        let expected = Duration::from_secs(seconds);
        assert_eq!(list_wait(settings, &client), expected, "{name}");
    }

    #[test]
    fn known_clients_map_to_the_content_their_models_read() {
        let mut settings = Settings::default();
        let traits = |settings: &Settings, name: &str| {
            let client = ClientHello {
                capabilities: Raw::empty_object(),
                client_info: Raw::empty_object().with_member("name", &Raw::string(name)),
            };
            results(settings, &client)
        };
        let reads = |settings: &Settings, name: &str| traits(settings, name).reads;
        assert_eq!(
            reads(&settings, "claude-code"),
            Some(ModelReads::Structured)
        );
        let behind = "claude-code-through-proxy-through-proxy";
        assert_eq!(reads(&settings, behind), Some(ModelReads::Structured));
        assert_eq!(reads(&settings, "opencode"), Some(ModelReads::Content));
        assert_eq!(reads(&settings, "my-agent"), None);
        assert_eq!(traits(&settings, "Cline").cap, 8_000);
        let own = [
            ("my-agent".to_owned(), ModelReads::Structured),
            ("claude-code".to_owned(), ModelReads::Content),
        ];
        settings.model_reads_by_client = own.into();
        assert_eq!(reads(&settings, "my-agent"), Some(ModelReads::Structured));
        assert_eq!(reads(&settings, "claude-code"), Some(ModelReads::Content));
        assert_eq!(traits(&settings, "claude-code").cap, 50_000);
    }

    #[test]
    fn list_wait_is_longer_for_clients_without_list_changed() {
        let mut settings = Settings::default();
        check(&settings, "claude-code", 4);
        check(&settings, "", 4);
        check(&settings, "codex-mcp-client", 20);
        check(&settings, "goose", 20);
        settings.list_wait = Duration::from_secs(60);
        check(&settings, "goose", 60);
        check(&settings, "goose-through-proxy", 4);
        settings.list_wait = Duration::ZERO;
        check(&settings, "goose", 0);
        let own = [("goose".to_owned(), Duration::from_secs(7))];
        settings.list_wait_by_client = own.into();
        check(&settings, "goose", 7);
        check(&settings, "claude-code", 0);
    }
}
