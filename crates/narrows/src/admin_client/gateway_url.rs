//! The address of a gateway: scheme, host and port only.

use std::fmt;
use std::net::IpAddr;

use http::Uri;

use super::AdminClientError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GatewayUrl {
    https: bool,
    /// Lower-case; IPv6 addresses are in brackets.
    host: String,
    port: u16,
}

impl GatewayUrl {
    /// Parses a URL. Errors do not repeat it, because user names and queries may hold secrets.
    pub(super) fn parse(text: &str) -> Result<GatewayUrl, AdminClientError> {
        let wrong = |what: &str| {
            AdminClientError::usage(format!("the gateway's URL {what}"))
                .with_help("write it as http://127.0.0.1:7420")
        };
        let whole = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        let url: Uri = whole.parse().map_err(|_| wrong("is invalid"))?;
        let (https, usual) = match url.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(wrong("has a scheme other than http and https")),
        };
        let authority = url.authority().ok_or_else(|| wrong("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("has a user name, but a token is needed"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() {
            return Err(wrong("has more than a host and a port"));
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() {
            return Err(wrong("has no host"));
        }
        let port = match (authority.port_u16(), authority.port()) {
            (Some(port), _) => port,
            (None, None) if authority.as_str().len() == host.len() => usual,
            _ => return Err(wrong("has an invalid port")),
        };
        Ok(GatewayUrl { https, host, port })
    }

    pub(super) fn is_https(&self) -> bool {
        self.https
    }

    /// Returns true if the host is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let bare = self.host.trim_matches(['[', ']']);
        self.host == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// Returns true if a user who wrote `self` means `other`: the same address, or `localhost` for
    /// a gateway on a loopback address.
    pub(super) fn matches(&self, other: &GatewayUrl) -> bool {
        let by_name = self.host == "localhost" && other.is_loopback();
        let same_host = self.host == other.host || by_name;
        same_host && (self.https, self.port) == (other.https, other.port)
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::GatewayUrl;

    #[test]
    fn gateway_urls_are_parsed_or_rejected() {
        let check = |text: &str, expected: &str| {
            let shown = match GatewayUrl::parse(text) {
                Ok(gateway_url) => gateway_url.to_string(),
                Err(client_error) => client_error.to_string(),
            };
            assert!(shown.contains(expected), "{text}: {shown}");
            assert!(!shown.contains("s3cret"), "{text}: {shown}");
        };
        check("http://127.0.0.1:7420", "http://127.0.0.1:7420");
        check("http://127.0.0.1:7420/", "http://127.0.0.1:7420");
        check("127.0.0.1:7420", "http://127.0.0.1:7420");
        check("http://[::1]:7420", "http://[::1]:7420");
        check("https://Gate.Example", "https://gate.example:443");
        check("http://user:s3cret@x", "user name");
        check("http://x/mcp", "more than");
        check("http://x?token=s3cret", "more than");
        check("http://x:99999", "URL");
        check("http://x:", "invalid port");
        check("ws://x", "scheme");
        check("http://", "URL is invalid");
        check("", "URL");
    }

    #[test]
    fn localhost_matches_only_local_gateways() {
        let gateway_url = |text: &str| GatewayUrl::parse(text).expect("it is a URL");
        let own = gateway_url("http://127.0.0.1:7420");
        assert!(gateway_url("http://localhost:7420").matches(&own));
        assert!(gateway_url("127.0.0.1:7420").matches(&own));
        for other in [
            "http://localhost:7421",
            "http://x:7420",
            "https://127.0.0.1:7420",
        ] {
            assert!(!gateway_url(other).matches(&own), "{other}");
        }
        assert!(!own.matches(&gateway_url("http://localhost:7420")));
    }
}
