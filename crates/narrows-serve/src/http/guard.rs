//! Protection against hostile web pages: checks of `Host` and `Origin`, and CORS.
//!
//! A page of any site can send requests to a port on the user's machine, and with a name that
//! resolves to 127.0.0.1 (DNS rebinding) it can also read the responses. So the host name of a
//! request must be an allowed one, and so must its origin, if it has one.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};

use super::body::Body;
use super::head::Head;
use crate::error::Refused;

#[cfg(test)]
mod tests;

#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Allowed hosts besides loopback. An entry with a port allows that port only; one without
    /// allows any.
    hosts: Vec<String>,
    /// Allowed origins, compared as a whole and regardless of case.
    origins: Vec<String>,
}

impl Guard {
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Guard {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        Guard {
            hosts: lower(hosts),
            origins: lower(origins),
        }
    }

    /// Checks the host and origin of a request. `authority` is that of the request line, if it is
    /// in absolute form. RFC 9112, 3.2.2 gives it precedence over `Host`; here both must be
    /// allowed.
    pub(super) fn check(&self, authority: Option<&str>, head: &Head<'_>) -> Result<(), Refused> {
        let host = head.host.and_then(|value| value.to_str().ok());
        let allowed = match (authority, host) {
            (Some(authority), Some(host)) => self.allows_host(authority) && self.allows_host(host),
            (Some(named), None) | (None, Some(named)) => self.allows_host(named),
            (None, None) => false,
        };
        if !allowed {
            return Err(Refused::Host);
        }
        match head.origin {
            Some(origin) if !self.allows_origin(origin) => Err(Refused::Origin),
            _ => Ok(()),
        }
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        is_loopback(name)
            || self.hosts.iter().any(|allowed| {
                allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host)
            })
    }

    fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        if self
            .origins
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.allows_host(host))
    }
}

/// Answers `OPTIONS`. The origin has passed [`Guard::check`].
pub(super) fn preflight(head: &Head<'_>, allow: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    if head.origin.is_some() && head.cors_method.is_some() {
        let methods = HeaderValue::from_static(allow);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        if let Some(asked) = head.cors_headers {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
        }
        headers.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("3600"),
        );
    }
    answer
}

/// Allows the page at `origin` to read the response.
pub(super) fn expose(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate"),
    );
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

fn is_loopback(name: &str) -> bool {
    name == "127.0.0.1" || name == "[::1]" || name.eq_ignore_ascii_case("localhost")
}

/// Returns the host without its port; `None` if the port is not a number.
fn without_port(host: &str) -> Option<&str> {
    let name_end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(name_end);
    match port.strip_prefix(':') {
        None if port.is_empty() => Some(name),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(name),
        _ => None,
    }
}
