//! `GET /metrics`: access control and format negotiation. Module `text` writes the two Prometheus
//! formats.

mod text;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};

use self::text::Format;
use super::body::Body;
use super::{Edge, answer};
use crate::error::Refused;

/// The delay before a request with a wrong token is answered.
const WRONG_TOKEN: Duration = Duration::from_millis(250);

/// Access to `/metrics`. The metrics name servers and endpoints, but no clients, tools or content.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum MetricsAccess {
    /// Disabled; the path does not exist.
    Off,
    /// Only clients on this machine.
    #[default]
    Loopback,
    /// Every client that can connect.
    Open,
    /// Clients with a token that passes the check.
    Token(TokenCheck),
}

/// A predicate for tokens that may read the metrics.
#[derive(Clone)]
pub struct TokenCheck(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl TokenCheck {
    pub fn new(check: impl Fn(&str) -> bool + Send + Sync + 'static) -> TokenCheck {
        TokenCheck(Arc::new(check))
    }
}

impl fmt::Debug for TokenCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCheck")
    }
}

impl PartialEq for TokenCheck {
    fn eq(&self, other: &TokenCheck) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl MetricsAccess {
    /// Checks whether a client may read the metrics with its token.
    fn check(&self, is_local: bool, token: Option<&str>) -> Result<(), Refused> {
        match self {
            MetricsAccess::Off => Err(Refused::UnknownPath),
            MetricsAccess::Open => Ok(()),
            MetricsAccess::Loopback if is_local => Ok(()),
            MetricsAccess::Loopback => Err(Refused::NotLocal),
            MetricsAccess::Token(check) if token.is_some_and(|token| (check.0)(token)) => Ok(()),
            MetricsAccess::Token(_) if token.is_none() => Err(Refused::NoToken),
            MetricsAccess::Token(_) => Err(Refused::WrongToken),
        }
    }
}

/// Answers a request for the metrics.
pub(super) async fn metrics(edge: &Edge, headers: &HeaderMap, is_local: bool) -> Response<Body> {
    let access = &edge.settings.metrics;
    if let Err(refused) = access.check(is_local, bearer(headers)) {
        // The delay slows down guessing, as in the admin API.
        if refused == Refused::WrongToken {
            let Ok(_place) = edge.wrong_tokens.try_acquire() else {
                let after = WRONG_TOKEN;
                return answer::refused_page(&Refused::TooManyTokens { after });
            };
            tokio::time::sleep(WRONG_TOKEN).await;
        }
        return answer::refused_page(&refused);
    }
    let format = Format::asked_for(headers.get_all(ACCEPT));
    let gateway = edge.gateway.clone();
    // Measuring reads /proc and may wait for the recovery store.
    let written = tokio::task::spawn_blocking(move || format.write(&gateway.measure())).await;
    let Ok(text) = written else {
        return answer::empty(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut answer = Response::new(Body::whole(text.into()));
    let content_type = HeaderValue::from_static(format.content_type());
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// Returns the token of `Authorization: Bearer`; the scheme is case-insensitive (RFC 9110, section
/// 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim())
}

#[cfg(test)]
mod tests;
