//! Extractors for path segments, query parameters and bodies. Unknown parameters are refused, so
//! that a misspelt one is not silently ignored.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::request::Parts;
use narrows_upstream::memory::ClientMemory;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::AdminState;
use super::refusal::Refusal;
use crate::error::Refused;
use crate::http::body::{self, BodyLimits};
use crate::http::head::Head;

/// The maximum body length in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// The maximum length of a name in characters.
pub(super) const MAX_NAME: usize = 256;

/// The name of a server, preset or endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(pub(super) String);

/// The name in the variable segment of the path.
pub(super) struct NameSegment(pub(super) String);

/// The number in the variable segment of the path.
pub(super) struct NumberSegment(pub(super) u64);

/// The query parameters.
pub(super) struct Params<T>(pub(super) T);

/// For routes without query parameters.
pub(super) type NoParams = Params<Nothing>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// The JSON body.
pub(super) struct JsonBody<T>(pub(super) T);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(name: String) -> Result<Name, String> {
        match name.chars().count() {
            0 => Err("a name must not be empty".into()),
            1..=MAX_NAME => Ok(Name(name)),
            _ => Err(format!(
                "a name must not be longer than {MAX_NAME} characters"
            )),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NameSegment {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<NameSegment, Refusal> {
        let name = path(parts, state).await?;
        let name = Name::try_from(name).map_err(Refusal::Malformed)?;
        Ok(NameSegment(name.0))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NumberSegment {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<NumberSegment, Refusal> {
        let text = path(parts, state).await?;
        // Only the canonical spelling of a number is accepted, not `+1` or `01`.
        let number = text.parse().ok().filter(|n: &u64| n.to_string() == text);
        let number = number.filter(|number| *number > 0);
        let what = || Refusal::Malformed(format!("'{text}' is not a session number"));
        number.map(NumberSegment).ok_or_else(what)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Params<T>, Refusal> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(params)) => Ok(Params(params)),
            Err(rejection) => Err(Refusal::Malformed(rejection.body_text())),
        }
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<AdminState>> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(
        request: Request,
        admin: &Arc<AdminState>,
    ) -> Result<JsonBody<T>, Refusal> {
        if !Head::read(request.headers()).is_json() {
            return Err(Refusal::Edge(Refused::ContentType));
        }
        let memory = request.extensions().get::<ClientMemory>().cloned();
        let memory = memory.unwrap_or_else(|| admin.gateway().memory());
        let limits = BodyLimits {
            max: MAX_BODY,
            ..admin.edge.body_limits(&memory)
        };
        let bytes = body::read(request.into_body(), limits, || Ok(())).await;
        let bytes = bytes.map_err(Refusal::Edge)?;
        let value = serde_json::from_slice(&bytes);
        let value = value.map_err(|error| Refusal::Malformed(format!("invalid body: {error}")))?;
        Ok(JsonBody(value))
    }
}

async fn path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, Refusal> {
    match Path::from_request_parts(parts, state).await {
        Ok(Path(text)) => Ok(text),
        Err(rejection) => Err(Refusal::Malformed(rejection.body_text())),
    }
}
