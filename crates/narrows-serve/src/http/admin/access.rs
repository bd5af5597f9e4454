//! Access control of the admin API: an admin token is required, and the client must be on this
//! machine unless remote access is enabled.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderValue};

use super::AdminState;
use super::refusal::Refusal;
use crate::admin::TokenOrigin;
use crate::http::entry::RequestOrigin;

#[cfg(test)]
mod tests;

/// Authenticates a request and passes it to its route, with the [`TokenOrigin`] of its token.
pub(super) async fn check(
    State(admin): State<Arc<AdminState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get().copied();
    let mut answer = match admit(&admin, peer, request.headers()).await {
        Ok(origin) => {
            request.extensions_mut().insert(origin);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    // The response is for the holder of the token only, and soon out of date.
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().insert(CACHE_CONTROL, no_store);
    answer
}

async fn admit(
    admin: &AdminState,
    peer: Option<RequestOrigin>,
    headers: &HeaderMap,
) -> Result<TokenOrigin, Refusal> {
    if !peer.is_some_and(|peer| admin.auth.admits_others() || peer.is_local) {
        return Err(Refusal::NotLocal);
    }
    let token = bearer(headers)?;
    if let Some(origin) = admin.auth.recognise(token) {
        return Ok(origin);
    }
    // The delay slows down guessing. The semaphore limits the number of requests that wait.
    let Ok(_place) = admin.waiting.try_acquire() else {
        return Err(Refusal::TooManyWrongTokens);
    };
    tokio::time::sleep(admin.auth.wrong_token_delay).await;
    Err(Refusal::WrongToken)
}

/// Returns the token of a request. A request with two `Authorization` headers is refused, because
/// it is unclear which one counts.
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err(Refusal::NoToken);
    };
    let text = value.to_str().map_err(|_| Refusal::NoToken)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Refusal::NoToken),
    }
}
