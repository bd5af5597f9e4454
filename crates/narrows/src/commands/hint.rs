//! Hints for servers that do not start.

use narrows_gateway::settings::{
    Era, RemoteProtocol, RemoteSettings, StdioSettings, Transport, UpstreamKind, UpstreamSettings,
};
use narrows_upstream::{Failure, FailureKind};
use narrows_wire::frame::Framing;

/// Returns the stable identifier of a failure kind.
pub(super) fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotFound => "not_found",
        FailureKind::Process => "process",
        FailureKind::Connect => "connect",
        FailureKind::SignIn => "sign_in",
        FailureKind::WrongTransport => "wrong_transport",
        FailureKind::TimedOut => "timed_out",
        FailureKind::Protocol => "protocol",
        FailureKind::Refused => "refused",
        FailureKind::UnsupportedRevision => "unsupported_revision",
        FailureKind::Recursion => "recursion",
        FailureKind::Closed => "closed",
    }
}

/// Suggests a next step to the user. The hint contains no values of `args`, `env` or `headers` and
/// no URL path, because these may be secrets.
pub(super) fn hint(failure: &Failure, settings: &UpstreamSettings) -> Option<String> {
    match (&settings.kind, failure.kind) {
        // The failure message already says what to do.
        (_, FailureKind::Recursion) => None,
        (_, FailureKind::UnsupportedRevision) => {
            let text = match settings.era {
                Era::Legacy => "remove \"era\": \"legacy\"",
                Era::Auto | Era::Modern => {
                    "use a release of the server that also supports one of these revisions"
                }
            };
            Some(text.to_owned())
        }
        (UpstreamKind::Stdio(stdio), FailureKind::NotFound) => Some(not_found(stdio, failure)),
        (UpstreamKind::Stdio(stdio), FailureKind::Process) if never_ran(failure) => {
            not_started(stdio, failure)
        }
        (UpstreamKind::Stdio(_), FailureKind::Process) if failure.stderr.is_empty() => {
            Some("run the command by hand to see more".to_owned())
        }
        (UpstreamKind::Stdio(_), FailureKind::Process) => missing_part(failure),
        (UpstreamKind::Stdio(_), FailureKind::Closed) if failure.stderr.is_empty() => {
            Some("run the command by hand to see more".to_owned())
        }
        (UpstreamKind::Stdio(_), FailureKind::Protocol) if is_echo(failure) => {
            Some("check \"command\" and \"args\": they start a different program".to_owned())
        }
        (UpstreamKind::Stdio(_), FailureKind::Protocol | FailureKind::WrongTransport) => {
            let text = "stdout is reserved for messages: does the program print anything else?";
            Some(text.to_owned())
        }
        (UpstreamKind::Stdio(stdio), FailureKind::TimedOut) => Some(silent(stdio, settings)),
        (UpstreamKind::Remote(remote), FailureKind::SignIn) => Some(sign_in(failure, remote)),
        (UpstreamKind::Remote(remote), _) => of_remote(failure, remote, settings),
        _ => None,
    }
}

fn of_remote(
    failure: &Failure,
    remote: &RemoteSettings,
    settings: &UpstreamSettings,
) -> Option<String> {
    // Checked before `speaks`, because plain JSON-RPC over POST looks much like Streamable HTTP.
    let is_web = matches!(
        failure.speaks,
        None | Some(Transport::Http | Transport::Rpc)
    );
    if failure.kind == FailureKind::WrongTransport && is_web && names_rpc_twice(remote) {
        return Some("remove /rpc from the url: it is appended automatically".to_owned());
    }
    if let Some(transport) = failure.speaks {
        return Some(speaks(transport, remote));
    }
    match failure.kind {
        FailureKind::Connect if is_without_tls(failure) => Some(no_tls(remote)),
        FailureKind::Connect if never_connected(failure) => Some(no_connection(remote)),
        FailureKind::Connect => {
            Some("the server closed the connection; its log may say why".to_owned())
        }
        FailureKind::Protocol if wants_another_site(failure) => {
            let text = "set \"url\" to the host and port that the server announces, or make it announce \
                        the address used here";
            Some(text.to_owned())
        }
        FailureKind::WrongTransport | FailureKind::Protocol => Some(wrong_url(remote)),
        FailureKind::Refused if is_web_page(failure) => Some(wrong_url(remote)),
        // If connecting may take as long as the whole start, the connection may never have been
        // made.
        FailureKind::TimedOut if settings.connect_timeout >= settings.startup_timeout => {
            Some(no_connection(remote))
        }
        FailureKind::TimedOut => {
            Some("the server accepted the connection but did not respond".to_owned())
        }
        _ => None,
    }
}

fn sign_in(failure: &Failure, remote: &RemoteSettings) -> String {
    let text = "it requires credentials: set \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}";
    // Many frameworks answer a WebSocket request for an unknown path with 403.
    let is_forbidden = failure.detail.contains(" answered HTTP 403 ");
    match remote.protocol {
        RemoteProtocol::WebSocket if is_forbidden => {
            format!("{text}; or the path is wrong: WebSocket servers are often at /ws")
        }
        _ => text.to_owned(),
    }
}

/// Suggests the configuration for a server that speaks another transport than configured.
fn speaks(transport: Transport, remote: &RemoteSettings) -> String {
    let word = transport.as_str();
    let mut text = format!("it speaks {word}: set \"type\": \"{word}\"");
    let scheme = remote.url.scheme_str().unwrap_or_default();
    let fitting = match (transport, scheme) {
        (Transport::WebSocket, "http") => Some("ws"),
        (Transport::WebSocket, "https") => Some("wss"),
        (Transport::Http | Transport::Sse | Transport::Rpc, "ws") => Some("http"),
        (Transport::Http | Transport::Sse | Transport::Rpc, "wss") => Some("https"),
        _ => None,
    };
    if let Some(fitting) = fitting {
        text.push_str(&format!(", and write {fitting}:// in the url"));
    }
    text
}

fn wrong_url(remote: &RemoteSettings) -> String {
    let usual = match remote.protocol {
        RemoteProtocol::HttpOrSse => "MCP servers are often at /mcp, older ones at /sse",
        RemoteProtocol::Http => "MCP servers are often at /mcp",
        RemoteProtocol::Sse => "HTTP+SSE servers are often at /sse",
        RemoteProtocol::WebSocket => "WebSocket servers are often at /ws",
        RemoteProtocol::Rpc => "requests go to /rpc below it",
    };
    format!("is this the right URL? {usual}")
}

/// Returns true if the URL already ends in the path that the gateway appends.
fn names_rpc_twice(remote: &RemoteSettings) -> bool {
    let path = remote.url.path().trim_end_matches('/');
    remote.protocol == RemoteProtocol::Rpc && path.ends_with("/rpc")
}

/// Returns true if the server did not answer in TLS, judging by the error text of rustls.
fn is_without_tls(failure: &Failure) -> bool {
    failure.detail.contains("InvalidContentType")
}

fn no_tls(remote: &RemoteSettings) -> String {
    let scheme = match remote.protocol {
        RemoteProtocol::WebSocket => "ws",
        _ => "http",
    };
    format!("it does not seem to speak TLS: write {scheme}:// in the url")
}

/// Recognises a web page by the gateway's error text, because no `FailureKind` stands for it.
fn is_web_page(failure: &Failure) -> bool {
    failure.detail.ends_with(": a web page")
}

/// Returns true if no connection was made, judging by the gateway's error text.
fn never_connected(failure: &Failure) -> bool {
    failure.detail.starts_with("no connection to ")
}

/// Returns true if an HTTP+SSE server names an address on another site, judging by the gateway's
/// error text.
fn wants_another_site(failure: &Failure) -> bool {
    failure.detail.ends_with("which is another site")
}

/// Returns true if the process could not be started, judging by the gateway's error text.
fn never_ran(failure: &Failure) -> bool {
    failure.detail.starts_with("cannot start '")
}

fn not_started(stdio: &StdioSettings, failure: &Failure) -> Option<String> {
    if stdio.cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) {
        let text = "check `cwd`; a relative path starts at the folder of the configuration file";
        return Some(text.to_owned());
    }
    let denied = failure.detail.contains("Permission denied");
    denied.then(|| "check its permissions: chmod +x makes a file executable".to_owned())
}

/// Returns the hint for a process that runs but has not responded. A server with another framing
/// waits for the end of the first message.
fn silent(stdio: &StdioSettings, settings: &UpstreamSettings) -> String {
    let framing = match stdio.framing {
        Framing::Newline => {
            "a server that frames messages as language servers do needs \
             \"stdio_mode\": \"content-length\""
        }
        Framing::ContentLength => "most servers do not use \"stdio_mode\": \"content-length\"",
    };
    let above = settings.startup_timeout.as_secs_f64();
    format!(
        "the first start may download something; try again, or set startup_timeout_s above \
         {above}; {framing}"
    )
}

/// Recognises a missing module or file by the stderr output of common interpreters.
fn missing_part(failure: &Failure) -> Option<String> {
    let has = |text: &str| failure.stderr.iter().any(|line| line.contains(text));
    let hint = if has("No module named") {
        "a Python module is missing: install it for the Python of \"command\", or start the \
         server with uvx, which installs its modules"
    } else if has("can't open file") || has("Cannot find module '/") {
        "check the path of the script in \"args\": a relative path starts at \"cwd\""
    } else if has("Cannot find module") || has("Cannot find package") {
        "a Node.js package is missing: run npm install in the server's folder, or start it with npx"
    } else {
        return None;
    };
    Some(hint.to_owned())
}

/// Returns true if the program echoes its input, judging by the gateway's error text.
fn is_echo(failure: &Failure) -> bool {
    failure.detail.starts_with("it sends back ")
}

fn not_found(stdio: &StdioSettings, failure: &Failure) -> String {
    if failure.detail.contains("arguments belong in 'args'") {
        let program = stdio.command.split_whitespace().next().unwrap_or_default();
        return format!("write \"command\": \"{program}\", and the rest in \"args\"");
    }
    match stdio.command.as_str() {
        command @ ("npx" | "node") => {
            format!("{command} comes with Node.js; install it, or fix PATH")
        }
        command @ ("uvx" | "uv") => format!("{command} comes with uv; install it, or fix PATH"),
        command if command.contains('/') => "check the path of the command".to_owned(),
        _ => "install it, use its full path, or fix PATH".to_owned(),
    }
}

fn no_connection(remote: &RemoteSettings) -> String {
    let host = remote.url.host().unwrap_or_default();
    match remote.url.port() {
        Some(port) => format!("is the server running, at {host} on port {port}?"),
        None => format!("is the server running, and can {host} be reached from here?"),
    }
}
