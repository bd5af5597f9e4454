//! Checks remote servers, whose transport depends on both `url` and `type`.

use http::{HeaderName, HeaderValue, Uri};
use narrows_gateway::settings::{RemoteProtocol, RemoteSettings, Transport};

use super::address::{Schemes, with_scheme, wrong_port};
use super::server_check::{ServerCheck, pairs};
use crate::config::expand::Forms;
use crate::config::problem::At;
use crate::config::raw::{RawServer, SharingWord};

/// Replaces the URL of a disabled server if the URL names an unset variable.
const NOT_STARTED: &str = "http://not-started.invalid/";

/// Returns the transport of a server that has only a URL.
pub(super) fn implied(url: &str) -> Transport {
    match scheme_of(url).as_deref() {
        Some("ws" | "wss") => Transport::WebSocket,
        _ => Transport::Http,
    }
}

impl ServerCheck<'_, '_> {
    pub(super) fn remote(&mut self, at: &At, server: &RawServer) -> Option<RemoteSettings> {
        let headers = self.headers(server);
        let given = server.url.given();
        let text = given.and_then(|given| self.text(given, Forms::Dollar));
        // The scheme may come from a variable.
        let by_url = text.as_deref().map(implied).or(self.transport);
        let transport = self.declared.or(by_url)?;
        self.transport = Some(transport);
        self.warn_of_pointless_keys(server, transport);
        if server.url.is_absent() {
            let what = format!("a server of type {} needs a `url`", transport.as_str());
            let help = format!("add \"url\": \"{}...\"", schemes(transport).secure);
            self.problems.error(at, what, help);
        }
        let at = &given?.at;
        let url = self.url(at, &text?, transport)?;
        if transport == Transport::Rpc && url.path().trim_end_matches('/').ends_with("/rpc") {
            let what = "the url ends in /rpc, but /rpc is appended to it";
            self.problems.warn(at, what, "remove /rpc from the url");
        }
        Some(RemoteSettings {
            url,
            headers: headers?,
            protocol: match (transport, self.declared) {
                (Transport::Sse, _) => RemoteProtocol::Sse,
                (Transport::WebSocket, _) => RemoteProtocol::WebSocket,
                (Transport::Rpc, _) => RemoteProtocol::Rpc,
                (_, Some(_)) => RemoteProtocol::Http,
                (_, None) => RemoteProtocol::HttpOrSse,
            },
        })
    }

    fn warn_of_pointless_keys(&mut self, server: &RawServer, transport: Transport) {
        self.pointless(server.command.at(), "command", "");
        self.pointless(server.args.at(), "args", "");
        self.pointless(server.env_file.at(), "envFile", "");
        self.pointless(server.stdio_mode.at(), "stdio_mode", "");
        if transport == Transport::Rpc {
            let help = "it has no sessions, so all clients share it";
            let sharing = server.sharing.given();
            let sharing = sharing.filter(|given| given.value != SharingWord::Shared);
            self.pointless(sharing.map(|given| &given.at), "sharing", help);
            self.pointless(server.max_links.at(), "max_links", help);
        }
    }

    /// Parses the URL and gives it a scheme of the transport.
    fn url(&mut self, at: &At, text: &str, transport: Transport) -> Option<Uri> {
        if !self.enabled && text.contains("${") {
            return Some(Uri::from_static(NOT_STARTED));
        }
        let Schemes { plain, secure } = schemes(transport);
        if text.trim() != text {
            let what = "the url starts or ends with white space";
            self.problems.error(at, what, "remove it");
            return None;
        }
        let Some(scheme) = scheme_of(text) else {
            let help = match with_scheme(text, &schemes(transport)) {
                Some(url) => format!("write \"{url}\""),
                None => format!("it must start with {plain} or {secure}"),
            };
            self.problems.error(at, "the url has no scheme", help);
            return None;
        };
        // Schemes may be in upper case, but later code expects lower case.
        let text = format!("{scheme}{}", &text[scheme.len()..]);
        let url = match text.parse::<Uri>() {
            Ok(url) => url,
            Err(error) => {
                let what = format!("the url is invalid: {error}");
                let help = format!("write \"{secure}host/path\"");
                self.problems.error(at, what, help);
                return None;
            }
        };
        if let Some(what) = url.authority().and_then(wrong_port) {
            self.problems.error(at, what, "");
            return None;
        }
        let (what, help) = match (scheme.as_str(), transport) {
            _ if url.host().is_none_or(str::is_empty) => {
                let help = format!("write \"{secure}host/path\"");
                ("the url has no host".to_owned(), help)
            }
            ("ws" | "wss", Transport::WebSocket) => return Some(url),
            (scheme @ ("http" | "https"), Transport::WebSocket) => {
                let meant = scheme.replace("http", "ws");
                let what =
                    format!("{scheme}:// is read as {meant}:// here, because the type is ws");
                let help = format!("write {meant}:// in the url");
                self.problems.warn(at, what, help);
                let meant = text.replacen(scheme, &meant, 1).parse();
                return Some(meant.expect("only the scheme is another one"));
            }
            ("http" | "https", _) => return Some(url),
            (scheme @ ("ws" | "wss"), _) => {
                let word = transport.as_str();
                let what =
                    format!("a server of type {word} cannot have a url with the scheme `{scheme}`");
                let http = scheme.replace("ws", "http");
                let help = format!("set \"type\": \"ws\" if it is a WebSocket, or write {http}://");
                (what, help)
            }
            (scheme, _) => {
                let what = format!("the url scheme `{scheme}` is not supported");
                (what, format!("it must start with {plain} or {secure}"))
            }
        };
        self.problems.error(at, what, help);
        None
    }

    fn headers(&mut self, server: &RawServer) -> Option<Vec<(HeaderName, HeaderValue)>> {
        let mut headers = Some(Vec::new());
        for (name, value) in pairs(server.headers.value()) {
            let parsed = HeaderName::from_bytes(name.value.as_bytes());
            if parsed.is_err() {
                let what = format!("`{}` is not a valid header name", name.value);
                self.problems
                    .error(&name.at, what, "use letters, digits and dashes");
            }
            let text = self.text(value, Forms::DollarAndBare);
            let content = text.and_then(|text| self.header_value(&value.at, &text));
            match (parsed, content, &mut headers) {
                (Ok(name), Some(content), Some(headers)) => headers.push((name, content)),
                _ => headers = None,
            }
        }
        headers
    }

    fn header_value(&mut self, at: &At, text: &str) -> Option<HeaderValue> {
        match HeaderValue::from_str(text) {
            Ok(mut value) => {
                value.set_sensitive(true);
                Some(value)
            }
            Err(_) => {
                let help =
                    "headers allow only visible ASCII characters; does it end with a line break?";
                self.problems
                    .error(at, "this value cannot be sent in a header", help);
                None
            }
        }
    }
}

fn schemes(transport: Transport) -> Schemes {
    let (plain, secure) = match transport {
        Transport::WebSocket => ("ws://", "wss://"),
        _ => ("http://", "https://"),
    };
    Schemes { plain, secure }
}

/// Returns the scheme in lower case. Other text must not pass as a scheme, because it may be a
/// secret.
fn scheme_of(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once("://")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(fits)).then(|| scheme.to_ascii_lowercase())
}
