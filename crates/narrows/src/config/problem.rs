//! Problems in a configuration, with enough detail to correct them.
//!
//! A message names file, line, column, path and server. It never contains a value of `env`,
//! `headers` or `args`, and only those parts of a URL that `check::address` permits, because these
//! values hold secrets and messages end up in logs and bug reports.

use std::fmt;
use std::path::Path;

use crate::terminal::plain;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Nothing runs with this configuration.
    Error,
    /// One part must be left out. This is an error for `check`; other commands run without that
    /// part. It is either a server that cannot be started because a variable is unset or needs user
    /// input, or everything that a preset with an invalid file would allow.
    LeftOut,
    Warning,
    Note,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Severity::Error | Severity::LeftOut => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) place: Option<ProblemPlace>,
    pub(crate) server: Option<String>,
    /// The problem, without its place and server.
    pub(crate) what: String,
    /// The suggested correction.
    pub(crate) help: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct ProblemPlace {
    pub(crate) file: String,
    /// Line and column, both starting at 1. `None` if the file could not be read.
    pub(crate) position: Option<(usize, usize)>,
    /// Keys and indices from the top. Empty for the file as a whole.
    pub(crate) path: String,
}

impl Problem {
    /// Creates an error about the file itself.
    pub(crate) fn with_file(file: &str, what: String, help: Option<String>) -> Problem {
        Problem::with_whole(Severity::Error, file, what, help)
    }

    /// Creates a warning about a file that is not required.
    pub(crate) fn warn_of_file(file: &str, what: String, help: Option<String>) -> Problem {
        Problem::with_whole(Severity::Warning, file, what, help)
    }

    fn with_whole(severity: Severity, file: &str, what: String, help: Option<String>) -> Problem {
        let place = ProblemPlace {
            file: file.to_owned(),
            position: None,
            path: String::new(),
        };
        Problem {
            severity,
            place: Some(place),
            server: None,
            what,
            help,
        }
    }

    /// Formats the problem in one line for the log.
    pub(crate) fn line(&self) -> String {
        let mut line = self.headline();
        if let Some(path) = self.path() {
            line.push_str(&format!(" ({path})"));
        }
        if let Some(help) = &self.help {
            line.push_str(&format!("; {}", plain(help)));
        }
        line
    }

    fn headline(&self) -> String {
        let mut line = String::new();
        if let Some(place) = &self.place {
            line.push_str(&plain(&place.file));
            if let Some((row, column)) = place.position {
                line.push_str(&format!(":{row}:{column}"));
            }
            line.push_str(": ");
        }
        if let Some(server) = &self.server {
            line.push_str(&format!("server '{}': ", plain(server)));
        }
        line.push_str(&plain(&self.what));
        line
    }

    fn path(&self) -> Option<String> {
        let path = &self.place.as_ref()?.path;
        (!path.is_empty()).then(|| plain(path).into_owned())
    }
}

/// Prints up to three lines: the problem with its position, the path, and the help.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.as_str(), self.headline())?;
        if let Some(path) = self.path() {
            write!(f, "\n  path: {path}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {}", plain(help))?;
        }
        Ok(())
    }
}

/// The name and text of a configuration file, used to convert offsets to lines and columns.
pub(crate) struct Source<'a> {
    pub(crate) name: String,
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &Path, text: &'a str) -> Self {
        Source {
            name: path.display().to_string(),
            // Some editors write a byte order mark at the start.
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
        }
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..offset.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let row = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        (row, before[line_start..].chars().count() + 1)
    }
}

/// A position in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) offset: usize,
    pub(crate) path: String,
}

impl At {
    /// Returns the path of a member. Keys that are not plain words are quoted.
    pub(crate) fn member(&self, key: &str, offset: usize) -> At {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
        let path = if key.is_empty() || !key.chars().all(is_word) {
            format!("{}[{key:?}]", self.path)
        } else if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        At { offset, path }
    }

    pub(crate) fn element(&self, index: usize, offset: usize) -> At {
        At {
            offset,
            path: format!("{}[{index}]", self.path),
        }
    }
}

/// Collects problems while a file is read and checked, so that all are reported together.
pub(crate) struct Problems<'a> {
    source: &'a Source<'a>,
    /// The server that is being read. All problems found meanwhile are attributed to it.
    pub(crate) server: Option<String>,
    list: Vec<Problem>,
    /// Problems in other files that this file names, in order.
    of_others: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(source: &'a Source<'a>) -> Self {
        Problems {
            source,
            server: None,
            list: Vec::new(),
            of_others: Vec::new(),
        }
    }

    /// The file name as shown in messages.
    pub(crate) fn file(&self) -> &Path {
        Path::new(&self.source.name)
    }

    pub(crate) fn error(&mut self, at: &At, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Error, at, what.into(), help.into());
    }

    pub(crate) fn left_out(&mut self, at: &At, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::LeftOut, at, what.into(), help.into());
    }

    pub(crate) fn warn(&mut self, at: &At, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, at, what.into(), help.into());
    }

    pub(crate) fn note(&mut self, at: &At, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Note, at, what.into(), help.into());
    }

    /// Adds the problems of a file that this file names.
    pub(crate) fn add_of_other(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.of_others.extend(problems);
    }

    /// Returns all problems in the order of the file, errors and warnings mixed, so that problems
    /// in the same place appear together. Those of other files come last.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        self.list
            .sort_by_key(|problem| problem.place.as_ref().and_then(|place| place.position));
        self.list.append(&mut self.of_others);
        self.list
    }

    pub(crate) fn add(&mut self, severity: Severity, at: &At, what: String, help: String) {
        let place = ProblemPlace {
            file: self.source.name.clone(),
            position: Some(self.source.position(at.offset)),
            path: at.path.clone(),
        };
        self.list.push(Problem {
            severity,
            place: Some(place),
            server: self.server.clone(),
            what,
            help: (!help.is_empty()).then_some(help),
        });
    }
}
