//! The chain of gateways that started each other.
//!
//! A gateway whose configuration starts Narrows with that same configuration
//! would start processes without end. So every child process gets the chain of
//! the gateways above it in [`CHAIN`], and a gateway that finds itself in the
//! chain starts no server. A wrapper may clear the environment, so a gateway
//! without the variable looks for it in the processes above.
//!
//! Over HTTP the marks of the chain travel in a header, by which a gateway
//! recognises its own requests. Gateways that use each other by URL are
//! recognised by the marks on what they pass on ([`via`]).

#[cfg(test)]
mod tests;
pub mod via;

use std::fmt;
use std::path::Path;

use http::HeaderValue;
use narrows_wire::text::hex;
use sha2::{Digest, Sha256};

use crate::process::variable_above;

/// The environment variable that carries the chain to child processes.
pub const CHAIN: &str = "NARROWS_CHAIN";

/// Returns the value of [`CHAIN`] that the nearest process above was started
/// with, for a process that was started with a cleared environment.
pub fn chain_above() -> Option<Box<str>> {
    variable_above(CHAIN)
}

/// Gateways that may start each other, or that a request or a list item may
/// pass. Configurations that are generated anew for each gateway are never the
/// same, and still come to an end.
const DEEPEST: usize = 8;

/// The position of a gateway below others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ancestry {
    /// The outermost first.
    above: Vec<Ancestor>,
    /// The digest of the configuration file's path; none for the built-in
    /// default, which starts no process.
    configuration: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Ancestor {
    /// Unique to the running gateway.
    mark: String,
    configuration: Option<String>,
}

/// The reason why a gateway must not start its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recursion {
    /// A gateway above has the same configuration.
    SameConfiguration,
    /// There are too many gateways above.
    TooDeep,
}

impl Recursion {
    /// `data.code` of the error that a gateway answers on stdio in this case.
    pub const CODE: &str = "recursion";
    /// The same over HTTP.
    pub const OWN_SERVER: &str = "own_server";
}

impl Ancestry {
    /// Reads the value of [`CHAIN`]. `file` is the configuration file.
    pub fn new(chain: Option<&str>, file: Option<&Path>) -> Ancestry {
        let items = chain.unwrap_or_default().split(',');
        let items = items.filter(|item| !item.is_empty());
        Ancestry {
            // One more than are allowed is enough to know that there are too many.
            above: items.take(DEEPEST + 1).map(Ancestor::parse).collect(),
            configuration: file.map(identity),
        }
    }

    pub fn recursion(&self) -> Option<Recursion> {
        let same = |above: &Ancestor| above.configuration == self.configuration;
        if self.configuration.is_some() && self.above.iter().any(same) {
            return Some(Recursion::SameConfiguration);
        }
        (self.above.len() >= DEEPEST).then_some(Recursion::TooDeep)
    }

    /// The value of [`CHAIN`] for the children of the gateway with this mark.
    pub fn for_children(&self, mark: &str) -> String {
        let own = Ancestor {
            mark: mark.to_owned(),
            configuration: self.configuration.clone(),
        };
        let all = self.above.iter().chain([&own]);
        let all: Vec<String> = all.map(Ancestor::to_string).collect();
        all.join(",")
    }

    /// The header of requests of the gateway with this mark.
    pub fn header(&self, mark: &str) -> HeaderValue {
        let above = self.above.iter().map(|above| above.mark.as_str());
        let marks: Vec<&str> = above.chain([mark]).collect();
        HeaderValue::from_str(&marks.join(",")).expect("marks hold letters and digits only")
    }
}

/// Returns the header of a plain request that is passed on: the marks that it
/// came with, followed by those of this gateway. `None` if it must not be passed
/// on, because it has been here, has passed too many gateways, or its marks
/// cannot be read.
pub fn passed_on(came_with: &HeaderValue, mark: &str, own: &HeaderValue) -> Option<HeaderValue> {
    let marks = came_with.to_str().ok()?;
    if via::leads_back(marks, mark) {
        return None;
    }
    let all = via::extended(Some(marks), own.to_str().ok()?);
    HeaderValue::from_str(&all).ok()
}

/// Returns true if a header lists this mark.
pub fn lists(header: &HeaderValue, mark: &str) -> bool {
    let mut marks = header.as_bytes().split(|byte| *byte == b',');
    marks.any(|item| item.trim_ascii() == mark.as_bytes())
}

impl Ancestor {
    /// Anything can be in the environment, so only what fits a header is kept.
    fn parse(item: &str) -> Ancestor {
        let (mark, configuration) = match item.split_once('.') {
            Some((mark, configuration)) => (mark, Some(plain(configuration))),
            None => (item, None),
        };
        Ancestor {
            mark: plain(mark),
            configuration,
        }
    }
}

impl fmt::Display for Ancestor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.configuration {
            Some(configuration) => write!(f, "{}.{configuration}", self.mark),
            None => f.write_str(&self.mark),
        }
    }
}

impl fmt::Display for Recursion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recursion::SameConfiguration => f.write_str(
                "this entry starts Narrows with a configuration that is already running further \
                 up, so the two would start each other without end. Remove the entry, or give \
                 Narrows another --config there",
            ),
            Recursion::TooDeep => write!(
                f,
                "this entry starts Narrows below {DEEPEST} other gateways, each started by the \
                 one before. Remove the entry that starts the next one"
            ),
        }
    }
}

/// Returns the characters that fit a mark.
fn plain(text: &str) -> String {
    let fits = text.chars().filter(char::is_ascii_alphanumeric);
    fits.take(64).collect()
}

/// A digest of the file's canonical path. A file that does not exist yet is
/// identified by its absolute path.
fn identity(file: &Path) -> String {
    let path = file.canonicalize();
    let path = path.or_else(|_| std::path::absolute(file));
    let path = path.as_deref().unwrap_or(file);
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hex(&digest[..8])
}
