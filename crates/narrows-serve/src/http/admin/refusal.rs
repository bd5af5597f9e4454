//! Errors of the admin API: the only place that maps them to statuses and codes.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use narrows_gateway::SwitchError;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::JsonAnswer;
use super::{MAX_LISTENERS, MAX_WAITING};
use crate::admin::{LeftOutServer, Rejected};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The retry delay in seconds.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A refusal that is common to all entrypoints.
    Edge(Refused),
    /// An invalid body, parameter or path segment.
    Malformed(String),
    NoToken,
    WrongToken,
    /// The client is on another machine.
    NotLocal,
    TooManyWrongTokens,
    TooManyListeners,
    Unknown {
        kind: &'static str,
        name: String,
    },
    /// The server is disabled, so it cannot be restarted.
    Disabled(String),
    /// The server cannot start with its current configuration.
    LeftOut(LeftOutServer),
    Rejected(Rejected),
    /// The task that executed the change ended without a result.
    Broken,
}

/// The body of an error response.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct ErrorBody {
    error: ErrorDetail,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorDetail)]
struct ErrorDetail {
    /// Stable error code.
    #[schema(value_type = ErrorCode)]
    code: &'static str,
    /// Message for display.
    message: String,
    /// The problems of the resulting configuration, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, min_items = 1)]
    problems: Vec<String>,
}

/// The error codes of the admin API.
#[derive(ToSchema)]
#[schema(as = ErrorCode, rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "used only for the OpenAPI description; a test compares it with the actual codes"
)]
enum ErrorCode {
    Malformed,
    Unauthorized,
    Forbidden,
    Unknown,
    Method,
    TooSlow,
    Exists,
    NoFile,
    Disabled,
    LeftOut,
    TooLarge,
    ContentType,
    Invalid,
    TooMany,
    Unwritable,
    Internal,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::Edge(refused) => refused.status(),
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::NoToken | Refusal::WrongToken => StatusCode::UNAUTHORIZED,
            Refusal::NotLocal => StatusCode::FORBIDDEN,
            Refusal::TooManyWrongTokens | Refusal::TooManyListeners => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Refusal::Unknown { .. } => StatusCode::NOT_FOUND,
            Refusal::Disabled(_) | Refusal::LeftOut(_) => StatusCode::CONFLICT,
            Refusal::Rejected(rejected) => match rejected {
                Rejected::Unknown { .. } => StatusCode::NOT_FOUND,
                Rejected::Exists { .. } | Rejected::NoFile => StatusCode::CONFLICT,
                Rejected::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
                Rejected::Unwritable(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Refusal::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the stable error code.
    pub(super) fn code(&self) -> &'static str {
        match (self, self.status()) {
            (Refusal::Rejected(Rejected::NoFile), _) => "no_file",
            (Refusal::Rejected(Rejected::Unwritable(_)), _) => "unwritable",
            (Refusal::Disabled(_), _) => "disabled",
            (Refusal::LeftOut(_), _) => "left_out",
            (_, StatusCode::BAD_REQUEST) => "malformed",
            (_, StatusCode::UNAUTHORIZED) => "unauthorized",
            (_, StatusCode::FORBIDDEN) => "forbidden",
            (_, StatusCode::NOT_FOUND) => "unknown",
            (_, StatusCode::METHOD_NOT_ALLOWED) => "method",
            (_, StatusCode::REQUEST_TIMEOUT) => "too_slow",
            (_, StatusCode::CONFLICT) => "exists",
            (_, StatusCode::PAYLOAD_TOO_LARGE) => "too_large",
            (_, StatusCode::UNSUPPORTED_MEDIA_TYPE) => "content_type",
            (_, StatusCode::UNPROCESSABLE_ENTITY) => "invalid",
            (_, StatusCode::TOO_MANY_REQUESTS) => "too_many",
            _ => "internal",
        }
    }

    fn message(&self) -> Cow<'_, str> {
        let text: &'static str = match self {
            Refusal::Edge(refused) => return refused.message(),
            Refusal::Malformed(what) => return what.as_str().into(),
            Refusal::NoToken => "an admin token is required: `Authorization: Bearer nra_…`",
            Refusal::WrongToken => "the admin token is not valid",
            Refusal::NotLocal => {
                "the admin API accepts only clients on this machine (see admin.remote)"
            }
            Refusal::TooManyWrongTokens => {
                return format!(
                    "{MAX_WAITING} requests with wrong tokens are already waiting; try again later"
                )
                .into();
            }
            Refusal::TooManyListeners => {
                return format!(
                    "{MAX_LISTENERS} clients already read the event stream; try again later"
                )
                .into();
            }
            Refusal::Unknown { kind, name } => {
                return format!("there is no {kind} '{name}'").into();
            }
            Refusal::Disabled(server) => {
                return format!("server '{server}' is disabled").into();
            }
            Refusal::LeftOut(LeftOutServer { id, reason, .. }) => {
                return format!("server '{id}' cannot be started: {reason}").into();
            }
            Refusal::Rejected(Rejected::Invalid(_)) => {
                "the resulting configuration would be invalid"
            }
            Refusal::Rejected(rejected) => return rejected.to_string().into(),
            Refusal::Broken => "the change did not complete; see the log",
        };
        text.into()
    }

    fn to_body(&self) -> ErrorBody {
        let problems = match self {
            Refusal::Rejected(Rejected::Invalid(problems)) => problems.clone(),
            _ => Vec::new(),
        };
        ErrorBody {
            error: ErrorDetail {
                code: self.code(),
                message: self.message().into_owned(),
                problems,
            },
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut answer = JsonAnswer(self.status(), self.to_body()).into_response();
        let headers = answer.headers_mut();
        match self.status() {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, LATER);
            }
            _ => {}
        }
        answer
    }
}

impl From<Rejected> for Refusal {
    fn from(rejected: Rejected) -> Refusal {
        Refusal::Rejected(rejected)
    }
}

impl From<SwitchError> for Refusal {
    fn from(error: SwitchError) -> Refusal {
        let (kind, name) = match error {
            SwitchError::UnknownSession(number) => ("session", number.to_string()),
            SwitchError::UnknownPreset(id) => ("preset", id),
        };
        Refusal::Unknown { kind, name }
    }
}
