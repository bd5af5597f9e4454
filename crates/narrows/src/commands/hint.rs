//! What to do about a server that does not start.

use narrows_gateway::settings::{HttpSettings, StdioSettings, UpstreamKind, UpstreamSettings};
use narrows_gateway::{Failure, FailureKind};

/// The stable word for programs.
pub(super) fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotFound => "not_found",
        FailureKind::Process => "process",
        FailureKind::Connect => "connect",
        FailureKind::SignIn => "sign_in",
        FailureKind::WrongTransport => "wrong_transport",
        FailureKind::TimedOut => "timed_out",
        FailureKind::Protocol => "protocol",
        FailureKind::Refused => "refused",
        FailureKind::Closed => "closed",
    }
}

/// What a person could try next. It holds no value of `args`, `env`, `headers`
/// or of a URL's path: those may be secrets.
pub(super) fn hint(failure: &Failure, settings: &UpstreamSettings) -> Option<String> {
    match (&settings.kind, failure.kind) {
        (UpstreamKind::Stdio(stdio), FailureKind::NotFound) => Some(not_found(stdio)),
        // What it wrote to stderr says more than we could.
        (UpstreamKind::Stdio(_), FailureKind::Process) if failure.stderr.is_empty() => {
            Some("run the command by hand to see more".to_owned())
        }
        (UpstreamKind::Stdio(_), FailureKind::Protocol | FailureKind::WrongTransport) => {
            let text = "stdout is for messages only: does it print something else there?";
            Some(text.to_owned())
        }
        (UpstreamKind::Http(http), FailureKind::Connect) => Some(no_connection(http)),
        (_, FailureKind::SignIn) => {
            let text =
                "it wants credentials: \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}";
            Some(text.to_owned())
        }
        (UpstreamKind::Http(_), FailureKind::WrongTransport | FailureKind::Protocol) => {
            let text = "is this the right URL? MCP servers often sit at /mcp";
            Some(text.to_owned())
        }
        (_, FailureKind::TimedOut) => Some(format!(
            "the first start may download something; try again, or set startup_timeout_s above {}",
            settings.startup_timeout.as_secs_f64()
        )),
        _ => None,
    }
}

fn not_found(stdio: &StdioSettings) -> String {
    match stdio.command.as_str() {
        command @ ("npx" | "node") => {
            format!("{command} comes with Node.js; install it, or mend PATH")
        }
        command @ ("uvx" | "uv") => format!("{command} comes with uv; install it, or mend PATH"),
        command if command.contains('/') => "look at the path of the command".to_owned(),
        _ => "install it, write its whole path, or mend PATH".to_owned(),
    }
}

fn no_connection(http: &HttpSettings) -> String {
    let host = http.url.host().unwrap_or_default();
    match http.url.port() {
        Some(port) => format!("is the server running, at {host} on port {port}?"),
        None => format!("is the server running, and can {host} be reached from here?"),
    }
}
