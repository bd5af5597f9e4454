//! Known behaviour of MCP clients, by the name in their `clientInfo`.

use std::time::Duration;

use narrows_wire::Raw;

use crate::exchange::ClientHello;
use crate::settings::Settings;

/// Clients that ignore `list_changed`, so that the first list they read is the
/// only one.
const IGNORES_LIST_CHANGED: [&str; 2] = ["codex-mcp-client", "goose"];

/// The list wait for those clients. Both allow a server at least this long to
/// start.
const PATIENT_LIST_WAIT: Duration = Duration::from_secs(20);

/// Returns how long after the start of its session the lists of a client wait
/// for servers that are still starting. A client that the settings name has
/// its own limit. A `list_wait` of zero disables waiting for all others.
pub(crate) fn list_wait(settings: &Settings, client: &ClientHello) -> Duration {
    let name = client.client_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text).unwrap_or_default();
    if let Some(wait) = settings.list_wait_by_client.get(&*name) {
        return *wait;
    }
    match IGNORES_LIST_CHANGED.contains(&&*name) && !settings.list_wait.is_zero() {
        true => settings.list_wait.max(PATIENT_LIST_WAIT),
        false => settings.list_wait,
    }
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
    fn clients_that_ignore_list_changed_wait_longer_for_lists() {
        let mut settings = Settings::default();
        check(&settings, "claude-code", 4);
        check(&settings, "", 4);
        check(&settings, "codex-mcp-client", 20);
        check(&settings, "goose", 20);
        settings.list_wait = Duration::from_secs(60);
        check(&settings, "goose", 60);
        settings.list_wait = Duration::ZERO;
        check(&settings, "goose", 0);
        let own = [("goose".to_owned(), Duration::from_secs(7))];
        settings.list_wait_by_client = own.into();
        check(&settings, "goose", 7);
        check(&settings, "claude-code", 0);
    }
}
