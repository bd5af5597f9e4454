//! Errors for requests that failed, in lines that help.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;

use super::{AdminClient, TokenSource, Trouble};
use crate::exit::Exit;

/// What the API says about an error.
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
    /// The gateway has answered with an error.
    pub(super) fn refused(&self, status: StatusCode, text: &str) -> Trouble {
        let site = &self.site;
        let told = serde_json::from_str::<ErrorAnswer>(text);
        let told = told.ok().map(|answer| answer.error);
        if status == StatusCode::UNAUTHORIZED {
            let source = &self.source;
            let help = match source {
                TokenSource::Run(_) => "was it started anew just now? then try once more",
                _ => "a gateway of yours on this machine is found without it",
            };
            return Trouble::failed(format!("{site} does not accept {source}")).with_help(help);
        }
        let Some(told) = told else {
            let number = status.as_u16();
            let what = format!("{site} has answered {number}, and not as a gateway does");
            let help = match status.is_redirection() {
                true => "give the address itself; a token is not sent where others point to",
                false => "is it `narrows serve`, and as new as this program?",
            };
            return Trouble::failed(what).with_help(help);
        };
        let exit = match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
            _ => Exit::Failed,
        };
        let help = match (status, told.code.as_str()) {
            (_, "exists") => Some("--replace puts another in its place"),
            (_, "no_file") => Some(
                "start the gateway with --config FILE; without --save the change lasts until it ends",
            ),
            (_, "disabled") => Some("`narrows servers enable` switches it on"),
            (StatusCode::FORBIDDEN, _) => {
                Some("it answers its own machine alone, unless its `admin.remote` is true")
            }
            (StatusCode::TOO_MANY_REQUESTS, _) => Some("wait a little, and look at the token"),
            _ => None,
        };
        let mut trouble = Trouble::new(told.message.clone(), exit);
        if let Some(help) = help {
            trouble = trouble.with_help(help);
        }
        // One problem alone is often the message itself.
        let mut problems = told.problems.unwrap_or_default();
        problems.retain(|problem| *problem != told.message);
        trouble.with_details(problems)
    }

    /// There is no connection, or it ended before an answer came.
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
                Trouble::failed(format!("no gateway runs at {site}"))
                    .with_help("start one with `narrows serve`")
            }
            Some(io::ErrorKind::TimedOut) => {
                Trouble::failed(format!("there is no connection to {site} within 5 s"))
            }
            _ => Trouble::failed(format!("there is no connection to {site}: {reason}")),
        }
    }

    pub(super) fn broken_off(&self, method: &Method) -> Trouble {
        let site = &self.site;
        let trouble = Trouble::failed(format!(
            "the connection to {site} ended before the answer did"
        ));
        match method.is_safe() {
            true => trouble,
            false => trouble.with_help("it may have been done; look with `narrows servers`"),
        }
    }

    pub(super) fn too_slow(&self) -> Trouble {
        let (site, limit) = (&self.site, self.timeout.as_secs());
        Trouble::failed(format!("{site} has not answered within {limit} s"))
            .with_help("--timeout S waits longer")
    }

    pub(super) fn silent(&self, limit: Duration) -> Trouble {
        let (site, limit) = (&self.site, limit.as_secs());
        Trouble::failed(format!("nothing has come from {site} for {limit} s"))
    }

    pub(super) fn not_understood(&self, why: &str) -> Trouble {
        let site = &self.site;
        Trouble::failed(format!("the answer of {site} cannot be understood: {why}"))
            .with_help("is it `narrows serve`, and as new as this program?")
    }
}

/// What is at the bottom of an error.
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
