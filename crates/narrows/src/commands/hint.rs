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
        (UpstreamKind::Stdio(stdio), FailureKind::Process) if never_ran(failure) => {
            not_started(stdio, failure)
        }
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
        (UpstreamKind::Http(http), FailureKind::WrongTransport)
            if http.url.path().trim_end_matches('/').ends_with("/sse") =>
        {
            let text = "this looks like the older HTTP+SSE transport, which this version does not \
                        speak yet; the same server may also sit at /mcp";
            Some(text.to_owned())
        }
        (UpstreamKind::Http(_), FailureKind::WrongTransport | FailureKind::Protocol) => {
            Some(WRONG_URL.to_owned())
        }
        (UpstreamKind::Http(_), FailureKind::Refused) if is_web_page(failure) => {
            Some(WRONG_URL.to_owned())
        }
        // Whoever waits longer for the connection than for all of it knows less.
        (UpstreamKind::Http(http), FailureKind::TimedOut)
            if settings.connect_timeout >= settings.startup_timeout =>
        {
            Some(no_connection(http))
        }
        (UpstreamKind::Http(_), FailureKind::TimedOut) => {
            Some("the server accepted the connection and did not answer".to_owned())
        }
        (_, FailureKind::TimedOut) => Some(format!(
            "the first start may download something; try again, or set startup_timeout_s above {}",
            settings.startup_timeout.as_secs_f64()
        )),
        _ => None,
    }
}

const WRONG_URL: &str = "is this the right URL? MCP servers often sit at /mcp";

/// The gateway says so in its own words; there is no kind for it.
fn is_web_page(failure: &Failure) -> bool {
    failure.detail.ends_with(": a web page")
}

/// Whether the process could not even be started, also in the gateway's words.
fn never_ran(failure: &Failure) -> bool {
    failure.detail.starts_with("cannot start '")
}

fn not_started(stdio: &StdioSettings, failure: &Failure) -> Option<String> {
    if stdio.cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) {
        let text = "look at `cwd`; a relative one starts at the folder of the configuration file";
        return Some(text.to_owned());
    }
    let denied = failure.detail.contains("Permission denied");
    denied.then(|| "may you run it? chmod +x makes a file a program".to_owned())
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
