//! Turns failed requests into errors with a hint on what to do.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;

use super::{AdminClient, TokenSource, Trouble};
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
    pub(super) fn refused(&self, status: StatusCode, text: &str) -> Trouble {
        let site = &self.site;
        let told = serde_json::from_str::<ErrorAnswer>(text);
        let told = told.ok().map(|answer| answer.error);
        if status == StatusCode::UNAUTHORIZED {
            let source = &self.source;
            let help = match source {
                TokenSource::Run(_) => "if the gateway has just restarted, try again",
                _ => "for your own gateway on this machine, leave the token out",
            };
            return Trouble::failed(format!("{site} does not accept {source}")).with_help(help);
        }
        let Some(told) = told else {
            let number = status.as_u16();
            let what = format!(
                "{site} returned HTTP {number}, which is not a response of a Narrows gateway"
            );
            let help = match status.is_redirection() {
                true => "use the final address; tokens are not sent to redirect targets",
                false => "check that it is `narrows serve` in the same version as this program",
            };
            return Trouble::failed(what).with_help(help);
        };
        let exit = match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
            _ => Exit::Failed,
        };
        let help = match (status, told.code.as_str()) {
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
        let mut trouble = Trouble::new(told.message.clone(), exit);
        if let Some(help) = help {
            trouble = trouble.with_help(help);
        }
        // A single problem often repeats the message.
        let mut problems = told.problems.unwrap_or_default();
        problems.retain(|problem| *problem != told.message);
        trouble.with_details(problems)
    }

    /// Converts a failure to connect, or a connection that closed before the response arrived.
    pub(super) fn no_answer(
        &self,
        method: &Method,
        error: &hyper_util::client::legacy::Error,
    ) -> Trouble {
        let site = &self.site;
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
                Trouble::failed(format!("no gateway is running at {site}"))
                    .with_help("start one with `narrows serve`")
            }
            Some(io::ErrorKind::TimedOut) => {
                Trouble::failed(format!("could not connect to {site} within 5 s"))
            }
            _ => Trouble::failed(format!("could not connect to {site}: {reason}")),
        }
    }

    pub(super) fn broken_off(&self, method: &Method) -> Trouble {
        let site = &self.site;
        let trouble = Trouble::failed(format!(
            "the connection to {site} closed before the response was complete"
        ));
        match method.is_safe() {
            true => trouble,
            false => {
                trouble.with_help("the change may have been made; check with `narrows servers`")
            }
        }
    }

    pub(super) fn too_slow(&self) -> Trouble {
        let (site, limit) = (&self.site, self.timeout.as_secs());
        Trouble::failed(format!("{site} did not respond within {limit} s"))
            .with_help("use --timeout S to wait longer")
    }

    pub(super) fn silent(&self, limit: Duration) -> Trouble {
        let (site, limit) = (&self.site, limit.as_secs());
        Trouble::failed(format!("received nothing from {site} for {limit} s"))
    }

    pub(super) fn not_understood(&self, why: &str) -> Trouble {
        let site = &self.site;
        Trouble::failed(format!("the response of {site} is invalid: {why}"))
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
