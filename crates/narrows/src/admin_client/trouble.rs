//! What went wrong between an operator and a gateway, in lines that help.

use std::fmt;
use std::io;

use crate::exit::Exit;
use crate::terminal::{plain, say};

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Trouble {
    what: String,
    details: Vec<String>,
    help: Option<String>,
    exit: Exit,
}

impl Trouble {
    pub(crate) fn failed(what: impl Into<String>) -> Trouble {
        Trouble::new(what.into(), Exit::Failed)
    }

    /// Wrong usage, or a configuration that would be wrong.
    pub(crate) fn usage(what: impl Into<String>) -> Trouble {
        Trouble::new(what.into(), Exit::Usage)
    }

    pub(super) fn new(what: String, exit: Exit) -> Trouble {
        Trouble {
            what,
            details: Vec::new(),
            help: None,
            exit,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Trouble {
        self.help = Some(help.into());
        self
    }

    /// Lines between what it is and what helps.
    pub(super) fn with_details(mut self, details: Vec<String>) -> Trouble {
        self.details = details;
        self
    }
}

impl fmt::Display for Trouble {
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

/// The answer cannot be written.
impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::failed(format!("stdout cannot be written to: {error}"))
    }
}

/// How a command ended, after what went wrong was told.
pub(crate) fn told(result: Result<Exit, Trouble>) -> Exit {
    result.unwrap_or_else(|trouble| {
        say(&trouble);
        trouble.exit
    })
}
