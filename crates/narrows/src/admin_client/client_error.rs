//! The errors of commands that talk to a gateway.

use std::fmt;
use std::io;

use crate::exit::Exit;
use crate::terminal::{eprint_line, plain};

/// The reason why a command failed, with details and a hint.
#[derive(Debug)]
pub(crate) struct AdminClientError {
    what: String,
    details: Vec<String>,
    help: Option<String>,
    exit: Exit,
}

impl AdminClientError {
    pub(crate) fn failed(what: impl Into<String>) -> AdminClientError {
        AdminClientError::new(what.into(), Exit::Failed)
    }

    /// Creates an error for wrong usage or an invalid configuration.
    pub(crate) fn usage(what: impl Into<String>) -> AdminClientError {
        AdminClientError::new(what.into(), Exit::Usage)
    }

    pub(super) fn new(what: String, exit: Exit) -> AdminClientError {
        AdminClientError {
            what,
            details: Vec::new(),
            help: None,
            exit,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> AdminClientError {
        self.help = Some(help.into());
        self
    }

    /// Adds lines between the message and the hint.
    pub(super) fn with_details(mut self, details: Vec<String>) -> AdminClientError {
        self.details = details;
        self
    }
}

impl fmt::Display for AdminClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", plain(&self.what))?;
        for detail in &self.details {
            write!(f, "\n  {}", plain(detail))?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {}", plain(help)),
            None => Ok(()),
        }
    }
}

/// A failure to write to stdout.
impl From<io::Error> for AdminClientError {
    fn from(error: io::Error) -> AdminClientError {
        AdminClientError::failed(format!("cannot write to stdout: {error}"))
    }
}

/// Prints the error, if any, and returns the exit code.
pub(crate) fn report_outcome(result: Result<Exit, AdminClientError>) -> Exit {
    result.unwrap_or_else(|client_error| {
        eprint_line(&client_error);
        client_error.exit
    })
}
