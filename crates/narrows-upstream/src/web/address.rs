//! The address of a server: its URL, the configured headers, and a form of the URL without secrets.

use std::sync::Arc;

use ::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, LOCATION, PROXY_AUTHORIZATION,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::Full;

use super::client::{ConnectionPool, HttpClient, SendError};
use super::connect::{ConnectError, Route, WebOrigin};
use super::error::HttpError;
use super::response::HttpResponse;
use crate::failure::{Failure, FailureKind};
use crate::secrets;
use crate::settings::RemoteSettings;

const MAX_REDIRECTS: usize = 3;

pub(crate) struct Address {
    pub(crate) pool: Arc<ConnectionPool>,
    /// The URL without user info, query and token-like path segments, for logs and errors.
    pub(crate) shown: String,
    /// Secrets in the configured headers and the URL.
    pub(crate) secrets: Vec<String>,
    /// The headers sent with every request.
    pub(crate) headers: HeaderMap,
    /// The target of requests as written in the request line.
    target: ArcSwap<Uri>,
}

/// The reason why a reference does not lead to another address on the same site.
pub(crate) enum InvalidReference {
    /// The reference is not a valid address.
    Unresolvable,
    /// The reference leads to another site. Contains its address without secrets.
    WebOrigin(String),
}

impl Address {
    /// Creates an address. `below` is appended to the path of the configured URL.
    pub(crate) fn new(
        client: &HttpClient,
        settings: &RemoteSettings,
        below: &str,
    ) -> Result<Address, Failure> {
        let no_url = || {
            let detail = "its URL is invalid or has an unsupported scheme";
            Failure::new(FailureKind::Connect, detail)
        };
        let origin = WebOrigin::of(&settings.url).ok_or_else(no_url)?;
        let pool = client.pool(&origin);
        let path = path_below(&settings.url, below);
        let target = pool.write_target(&path);
        let mut headers = common_headers(settings, &pool);
        headers.insert(MARK, client.marks().clone());
        Ok(Address {
            shown: show(&origin, &path),
            secrets: configured_secrets(settings, &headers),
            target: ArcSwap::from_pointee(target),
            headers,
            pool,
        })
    }

    /// Resolves a relative or absolute reference from an event or a header to an address on the
    /// same site.
    pub(crate) fn sibling(&self, reference: &str) -> Result<Address, InvalidReference> {
        let origin = self.pool.origin();
        let from = self.target.load();
        let to = resolve(origin, from.path(), reference).ok_or(InvalidReference::Unresolvable)?;
        let to_origin = WebOrigin::of(&to).ok_or(InvalidReference::Unresolvable)?;
        if to_origin != *origin {
            return Err(InvalidReference::WebOrigin(show(&to_origin, to.path())));
        }
        let path = to.path_and_query().map_or("/", |path| path.as_str());
        let mut secrets = self.secrets.clone();
        secrets.extend(secrets::words(to.query().as_slice()));
        Ok(Address {
            pool: self.pool.clone(),
            shown: show(origin, path),
            secrets,
            headers: self.headers.clone(),
            target: ArcSwap::from_pointee(self.pool.write_target(path)),
        })
    }

    /// Sends a request, following redirects on the same site. Responses with any status are
    /// returned. Sets `sent` to true when the server may have seen the request.
    pub(crate) async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Bytes,
        sent: &mut bool,
    ) -> Result<HttpResponse, HttpError> {
        let mut repeated = false;
        let mut redirects = 0;
        loop {
            let target = self.target.load_full();
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = (*target).clone();
            *request.headers_mut() = headers.clone();
            let mut response = match self.pool.send(request, sent).await {
                Ok((response, pooled)) => HttpResponse::new(response, pooled),
                Err(SendError::Unreachable(ConnectError { reason, late })) => {
                    let detail = format!("no connection to {}: {reason}", self.shown);
                    let failure = Arc::new(Failure::new(FailureKind::Connect, detail));
                    return Err(HttpError::Unreachable { failure, late });
                }
                // The server may already have closed this connection. A GET can be repeated safely.
                Err(SendError::Lost(error))
                    if *method == Method::GET && !repeated && !error.is_parse() =>
                {
                    repeated = true;
                    continue;
                }
                Err(SendError::Lost(error)) => return Err(lost(&error)),
            };
            if !response.status().is_redirection() {
                return Ok(response);
            }
            let followed = match redirects {
                MAX_REDIRECTS => Err(HttpError::NotMcp("it redirects too many times".to_owned())),
                _ => self.follow(&response),
            };
            if let Err(error) = followed {
                response.misdirected = Some(error);
                return Ok(response);
            }
            redirects += 1;
            Box::pin(response.discard(&self.pool)).await;
        }
    }

    /// Stores the target of a redirect. Only 307 and 308 preserve the method of a POST, and the
    /// configured headers must not be sent to another site.
    fn follow(&self, response: &HttpResponse) -> Result<(), HttpError> {
        let status = response.status();
        let location = response.header(&LOCATION).unwrap_or_default();
        let keeps_method = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let shown = match self.sibling(location) {
            Ok(to) if keeps_method => {
                self.target.store(to.target.load_full());
                return Ok(());
            }
            Ok(to) => to.shown,
            Err(InvalidReference::WebOrigin(shown)) => shown,
            Err(InvalidReference::Unresolvable) => {
                let detail = format!("it redirects with HTTP {status} to an invalid location");
                return Err(HttpError::NotMcp(detail));
            }
        };
        Err(HttpError::NotMcp(format!(
            "it redirects with HTTP {status} to {shown}; configure that URL if it is correct"
        )))
    }
}

fn path_below(url: &Uri, below: &str) -> String {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    if below.is_empty() {
        return path.to_owned();
    }
    let query = url.query().map(|query| format!("?{query}"));
    let folder = url.path().trim_end_matches('/');
    format!("{folder}{below}{}", query.unwrap_or_default())
}

/// The header that carries the marks of gateways.
pub(crate) const MARK: HeaderName = HeaderName::from_static("narrows-gateway");

/// Returns the headers of every request: the configured ones, except those that concern the
/// connection or are set for each request, and the defaults.
fn common_headers(settings: &RemoteSettings, pool: &ConnectionPool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE].contains(name) {
            let mut value = value.clone();
            value.set_sensitive(true);
            headers.append(name, value);
        }
    }
    let mut default = |name: HeaderName, value: Option<HeaderValue>| {
        if let Some(value) = value {
            headers.entry(name).or_insert(value);
        }
    };
    default(
        HOST,
        HeaderValue::from_str(pool.origin().authority().as_str()).ok(),
    );
    let agent = concat!("narrows/", env!("CARGO_PKG_VERSION"));
    default(USER_AGENT, Some(HeaderValue::from_static(agent)));
    default(AUTHORIZATION, secrets::user_info(&settings.url));
    if let Route::Forward { auth, .. } = pool.route() {
        default(PROXY_AUTHORIZATION, auth.clone());
    }
    headers
}

/// Returns the secrets in the settings and in the headers derived from them.
fn configured_secrets(settings: &RemoteSettings, headers: &HeaderMap) -> Vec<String> {
    let made = headers.values().filter(|value| value.is_sensitive());
    let made: Vec<&str> = made.filter_map(|value| value.to_str().ok()).collect();
    let mut all = secrets::of_remote(settings);
    all.extend(secrets::words(&made));
    all
}

fn show(origin: &WebOrigin, path: &str) -> String {
    let whole = origin.uri(path);
    let scheme = whole.scheme_str().unwrap_or_default();
    let parts = whole.path().split('/');
    let parts: Vec<&str> = parts
        .map(|part| if secrets::is_token(part) { "***" } else { part })
        .collect();
    format!("{scheme}://{}{}", origin.authority(), parts.join("/"))
}

/// Resolves a reference to an absolute URL.
fn resolve(origin: &WebOrigin, from: &str, reference: &str) -> Option<Uri> {
    // A colon in the first segment follows a scheme (RFC 3986, 4.2).
    let first_segment = reference.split(['/', '?', '#']).next().unwrap_or_default();
    let to: Uri = if reference.starts_with("//") {
        let scheme = if origin.is_https() { "https" } else { "http" };
        format!("{scheme}:{reference}").parse().ok()?
    } else if reference.starts_with('/') {
        let path = reference.split('#').next().unwrap_or(reference);
        path.parse::<Uri>()
            .ok()
            .map(|uri| origin.uri(uri.path_and_query().map_or("/", |p| p.as_str())))?
    } else if first_segment.contains(':') {
        reference.parse().ok()?
    } else if reference.is_empty() {
        return None;
    } else if reference.starts_with('?') {
        return resolve(origin, from, &format!("{from}{reference}"));
    } else {
        let folder = &from[..from.rfind('/').map_or(0, |slash| slash + 1)];
        let joined = format!("/{}{reference}", folder.trim_start_matches('/'));
        return resolve(origin, from, &without_dots(&joined));
    };
    to.authority().is_some().then_some(to)
}

/// Removes the `.` and `..` segments of a path (RFC 3986, 5.2.4).
fn without_dots(reference: &str) -> String {
    let (path, query) = match reference.find(['?', '#']) {
        Some(end) => reference.split_at(end),
        None => (reference, ""),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

fn lost(error: &hyper::Error) -> HttpError {
    if error.is_parse() {
        return HttpError::NotMcp(format!("its answer is not HTTP ({error})"));
    }
    HttpError::Broken(match error.is_incomplete_message() {
        true => "the connection was closed before the answer".to_owned(),
        false => "the connection broke before the answer".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, reference: &str, expected: &str) {
        let origin = WebOrigin::of(&"http://h:8/".parse().expect("a URL")).expect("a site");
        let found = resolve(&origin, from, reference).map(|uri| uri.to_string());
        assert_eq!(found.as_deref().unwrap_or("nowhere"), expected);
    }

    #[test]
    fn relative_urls_are_resolved_as_in_browsers() {
        check("/sse", "/messages?s=1", "http://h:8/messages?s=1");
        check("/a/sse", "messages?s=1", "http://h:8/a/messages?s=1");
        check("/a/sse", "../m?s=../x", "http://h:8/m?s=../x");
        check("/a/sse", "./m", "http://h:8/a/m");
        check("/sse", "../../m", "http://h:8/m");
        check("/a/sse", "?s=http://x", "http://h:8/a/sse?s=http://x");
        check("/sse", "http://h:8/m?s=1", "http://h:8/m?s=1");
        check("/sse", "m?s=http://x", "http://h:8/m?s=http://x");
        check("/a/sse", "m/http://x", "http://h:8/a/m/http://x");
        check("/sse", "//evil:8/m", "http://evil:8/m");
        check("/sse", "https://evil/m", "https://evil/m");
        check("/sse", "m#x", "http://h:8/m");
        check("/sse", "", "nowhere");
        check("/sse", "/a b", "nowhere");
    }
}
