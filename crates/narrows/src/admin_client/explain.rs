//! Turns failed requests into errors with a hint on what to do.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;

use super::{AdminClient, AdminClientError, TokenSource};
use crate::exit::Exit;

/// The body of an error response.
#[derive(Deserialize)]
struct ErrorAnswer {
    error: ErrorBody,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: String,
    message: String,
    #[serde(default)]
    problems: Option<Vec<String>>,
}

impl AdminClient {
    /// Converts an error response of the gateway.
    pub(super) fn refused(&self, status: StatusCode, text: &str) -> AdminClientError {
        let gateway_url = &self.gateway_url;
        let error_body = serde_json::from_str::<ErrorAnswer>(text);
        let error_body = error_body.ok().map(|answer| answer.error);
        if status == StatusCode::UNAUTHORIZED {
            let source = &self.source;
            let help = match source {
                TokenSource::Run(_) => "if the gateway has just restarted, try again",
                _ => "for your own gateway on this machine, leave the token out",
            };
            return AdminClientError::failed(format!("{gateway_url} does not accept {source}"))
                .with_help(help);
        }
        let Some(error_body) = error_body else {
            let number = status.as_u16();
            let what = format!(
                "{gateway_url} returned HTTP {number}, which is not a response of a Narrows gateway"
            );
            let help = match status.is_redirection() {
                true => "use the final address; tokens are not sent to redirect targets",
                false => "check that it is `narrows serve` in the same version as this program",
            };
            return AdminClientError::failed(what).with_help(help);
        };
        let exit = match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
            _ => Exit::Failed,
        };
        let help = match (status, error_body.code.as_str()) {
            (_, "exists") => Some("use --replace to replace it"),
            (_, "no_file") => Some(
                "start the gateway with --config FILE; without --save the change lasts until it ends",
            ),
            (_, "disabled") => Some("`narrows servers enable` enables it"),
            (StatusCode::FORBIDDEN, _) => Some(
                "it accepts requests only from its own machine unless its `admin.remote` is true",
            ),
            (StatusCode::TOO_MANY_REQUESTS, _) => Some("wait a moment and check the token"),
            _ => None,
        };
        let mut client_error = AdminClientError::new(error_body.message.clone(), exit);
        if let Some(help) = help {
            client_error = client_error.with_help(help);
        }
        // A single problem often repeats the message.
        let mut problems = error_body.problems.unwrap_or_default();
        problems.retain(|problem| *problem != error_body.message);
        client_error.with_details(problems)
    }

    /// Converts a failure to connect, or a connection that closed before the response arrived.
    pub(super) fn no_answer(
        &self,
        method: &Method,
        error: &hyper_util::client::legacy::Error,
    ) -> AdminClientError {
        let gateway_url = &self.gateway_url;
        let inner = error.source().and_then(|inner| inner.downcast_ref());
        if inner.is_some_and(hyper::Error::is_parse) {
            return self.not_understood("it is not HTTP");
        }
        if !error.is_connect() {
            return self.broken_off(method);
        }
        let (kind, reason) = root_of(error);
        match kind {
            Some(io::ErrorKind::ConnectionRefused) => {
                AdminClientError::failed(format!("no gateway is running at {gateway_url}"))
                    .with_help("start one with `narrows serve`")
            }
            Some(io::ErrorKind::TimedOut) => {
                AdminClientError::failed(format!("could not connect to {gateway_url} within 5 s"))
            }
            _ => AdminClientError::failed(format!("could not connect to {gateway_url}: {reason}")),
        }
    }

    pub(super) fn broken_off(&self, method: &Method) -> AdminClientError {
        let gateway_url = &self.gateway_url;
        let client_error = AdminClientError::failed(format!(
            "the connection to {gateway_url} closed before the response was complete"
        ));
        match method.is_safe() {
            true => client_error,
            false => client_error
                .with_help("the change may have been made; check with `narrows servers`"),
        }
    }

    pub(super) fn too_slow(&self) -> AdminClientError {
        let (gateway_url, limit) = (&self.gateway_url, self.timeout.as_secs());
        AdminClientError::failed(format!("{gateway_url} did not respond within {limit} s"))
            .with_help("use --timeout S to wait longer")
    }

    pub(super) fn silent(&self, limit: Duration) -> AdminClientError {
        let (gateway_url, limit) = (&self.gateway_url, limit.as_secs());
        AdminClientError::failed(format!("received nothing from {gateway_url} for {limit} s"))
    }

    pub(super) fn not_understood(&self, why: &str) -> AdminClientError {
        let gateway_url = &self.gateway_url;
        AdminClientError::failed(format!("the response of {gateway_url} is invalid: {why}"))
            .with_help("check that it is `narrows serve` in the same version as this program")
    }
}

/// Returns the root cause of an error.
fn root_of(error: &(dyn Error + 'static)) -> (Option<io::ErrorKind>, String) {
    let mut kind = None;
    let mut reason = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            kind = Some(error.kind());
        }
        reason = error.to_string();
        next = error.source();
    }
    (kind, reason)
}
