//! `GET /metrics`: who may read what the gateway measures, and in which of the
//! two formats of Prometheus it is written (`text`).

mod text;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};

use self::text::Format;
use super::entry::RequestOrigin;
use super::{Edge, answer};
use crate::error::Refused;

/// How long who brings a wrong token waits for the answer.
const WRONG_TOKEN: Duration = Duration::from_millis(250);

/// Who may read `/metrics`. What is counted there names servers and endpoints,
/// and no client, tool or text.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum MetricsAccess {
    /// Nobody; the path is not there.
    Off,
    /// Peers on this machine.
    #[default]
    Loopback,
    /// Whoever reaches the door.
    Open,
    /// Whoever brings a token that passes.
    Token(TokenCheck),
}

/// Says whether a token is one that may read.
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
    /// Whether a peer may read, with the token that it brings.
    fn check(&self, from_here: bool, token: Option<&str>) -> Result<(), Refused> {
        match self {
            MetricsAccess::Off => Err(Refused::UnknownPath),
            MetricsAccess::Open => Ok(()),
            MetricsAccess::Loopback if from_here => Ok(()),
            MetricsAccess::Loopback => Err(Refused::NotLocal),
            MetricsAccess::Token(check) if token.is_some_and(|token| (check.0)(token)) => Ok(()),
            MetricsAccess::Token(_) if token.is_none() => Err(Refused::NoToken),
            MetricsAccess::Token(_) => Err(Refused::WrongToken),
        }
    }
}

pub(super) async fn metrics(
    State(edge): State<Arc<Edge>>,
    request: Request,
) -> Response<axum::body::Body> {
    let peer = request.extensions().get::<RequestOrigin>();
    let from_here = peer.is_some_and(|peer| peer.from_here);
    let access = &edge.settings.metrics;
    if let Err(refused) = access.check(from_here, bearer(request.headers())) {
        // Whoever tries tokens waits for each of them, as at the admin API.
        if refused == Refused::WrongToken {
            let Ok(_place) = edge.wrong_tokens.try_acquire() else {
                let after = WRONG_TOKEN;
                return refuse(&Refused::TooManyTokens { after });
            };
            tokio::time::sleep(WRONG_TOKEN).await;
        }
        return refuse(&refused);
    }
    let format = Format::asked_for(request.headers().get_all(ACCEPT));
    let gateway = edge.gateway.clone();
    // It reads /proc, and the recovery store may have it wait.
    let written = tokio::task::spawn_blocking(move || format.write(&gateway.measure())).await;
    let mut answer = match written {
        Ok(text) => Response::new(axum::body::Body::from(text)),
        Err(_) => {
            let mut failed = Response::new(axum::body::Body::empty());
            *failed.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return failed;
        }
    };
    let content_type = HeaderValue::from_static(format.content_type());
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

fn refuse(refused: &Refused) -> Response<axum::body::Body> {
    answer::refused_page(refused).map(axum::body::Body::new)
}

/// The token of `Authorization: Bearer`; the scheme is in any case (RFC 9110,
/// section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    is_bearer.then(|| token.trim())
}

#[cfg(test)]
mod tests;
