//! A server at an address: what its `url` and its `type` say together.

use http::{HeaderName, HeaderValue, Uri};
use narrows_gateway::settings::{RemoteProtocol, RemoteSettings, Transport};

use super::address::{Schemes, mended, wrong_port};
use super::server_check::{ServerCheck, pairs};
use crate::config::expand::Forms;
use crate::config::problem::At;
use crate::config::raw::{RawServer, SharingWord};

/// Stands for the URL of a server that is not started and names a variable
/// that is not set.
const NOT_STARTED: &str = "http://not-started.invalid/";

/// What carries the messages of a server whose file names only its URL.
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
        // The scheme may have been in a variable.
        let by_url = text.as_deref().map(implied).or(self.transport);
        let transport = self.said.or(by_url)?;
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
            let what = "the url ends in /rpc, and /rpc is appended to it";
            self.problems.warn(at, what, "leave /rpc out of the url");
        }
        Some(RemoteSettings {
            url,
            headers: headers?,
            protocol: match (transport, self.said) {
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
            let help = "it has no sessions, so that all clients share it";
            let sharing = server.sharing.given();
            let sharing = sharing.filter(|given| given.value != SharingWord::Shared);
            self.pointless(sharing.map(|given| &given.at), "sharing", help);
            self.pointless(server.max_links.at(), "max_links", help);
        }
    }

    /// The URL, with the scheme that the transport has.
    fn url(&mut self, at: &At, text: &str, transport: Transport) -> Option<Uri> {
        if !self.enabled && text.contains("${") {
            return Some(Uri::from_static(NOT_STARTED));
        }
        let Schemes { plain, secure } = schemes(transport);
        if text.trim() != text {
            let what = "there is a space or a line break at an end of the url";
            self.problems.error(at, what, "leave it out");
            return None;
        }
        let Some(scheme) = scheme_of(text) else {
            let help = match mended(text, &schemes(transport)) {
                Some(url) => format!("write \"{url}\""),
                None => format!("it starts with {plain} or {secure}"),
            };
            self.problems.error(at, "the url has no scheme", help);
            return None;
        };
        // A scheme may be written in capitals; whoever reads it later knows small letters.
        let text = format!("{scheme}{}", &text[scheme.len()..]);
        let url = match text.parse::<Uri>() {
            Ok(url) => url,
            Err(error) => {
                let what = format!("the url cannot be read: {error}");
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
                ("the url names no host".to_owned(), help)
            }
            ("ws" | "wss", Transport::WebSocket) => return Some(url),
            (scheme @ ("http" | "https"), Transport::WebSocket) => {
                let meant = scheme.replace("http", "ws");
                let what = format!("{scheme}:// is taken as {meant}:// here, as the type is ws");
                let help = format!("write {meant}:// in the url");
                self.problems.warn(at, what, help);
                let meant = text.replacen(scheme, &meant, 1).parse();
                return Some(meant.expect("only the scheme is another one"));
            }
            ("http" | "https", _) => return Some(url),
            (scheme @ ("ws" | "wss"), _) => {
                let word = transport.as_str();
                let what = format!("a server of type {word} has no url of scheme `{scheme}`");
                let http = scheme.replace("ws", "http");
                let help = format!("say \"type\": \"ws\" if it is a WebSocket, or write {http}://");
                (what, help)
            }
            (scheme, _) => {
                let what = format!("a url of scheme `{scheme}` is not supported");
                (what, format!("it starts with {plain} or {secure}"))
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
                let what = format!("`{}` is no name for a header", name.value);
                self.problems
                    .error(&name.at, what, "letters, digits and dashes");
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
                let help = "headers carry visible ASCII only; is there a line break at its end?";
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

/// In small letters. What is no scheme must not pass for one: it may be a secret.
fn scheme_of(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once("://")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(fits)).then(|| scheme.to_ascii_lowercase())
}
