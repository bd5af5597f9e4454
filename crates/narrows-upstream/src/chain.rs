//! Detection of gateways that start or call each other in a loop.
//!
//! If a configuration starts Narrows with that same configuration, processes would be started
//! without end. To prevent this, every child process receives the chain of the gateways above it in
//! [`CHAIN`], and a gateway that finds its own configuration in the chain starts no servers. A
//! wrapper may clear the environment, so a gateway without the variable reads it from its ancestor
//! processes.
//!
//! Over HTTP, a header carries the marks of the chain, so that a gateway recognises its own
//! requests. Gateways that use each other by URL are detected by the marks on the items and
//! messages that they forward ([`via`]).

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

/// Returns the value of [`CHAIN`] from the nearest ancestor process that has it. Used when this
/// process was started with a cleared environment.
pub fn chain_above() -> Option<Box<str>> {
    variable_above(CHAIN)
}

/// The maximum number of gateways that may start each other, or that a request or a list item may
/// pass through. The limit also stops loops in which a new configuration is generated for each
/// gateway, where comparing configurations does not help.
const MAX_CHAIN_LENGTH: usize = 8;

/// The position of a gateway in the chain of gateways that started it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ancestry {
    /// The gateways above this one, outermost first.
    above: Vec<Ancestor>,
    /// The digest of the configuration file's path. `None` for the built-in default, which starts
    /// no processes.
    configuration: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Ancestor {
    /// Unique identifier of the running gateway.
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
    /// The `data.code` of the error that a gateway returns on stdio in this case.
    pub const CODE: &str = "recursion";
    /// The `data.code` of the error that a gateway returns over HTTP in this case.
    pub const OWN_SERVER: &str = "own_server";
}

impl Ancestry {
    /// Parses the value of [`CHAIN`]. `file` is the path of the configuration file.
    pub fn new(chain: Option<&str>, file: Option<&Path>) -> Ancestry {
        let items = chain.unwrap_or_default().split(',');
        let items = items.filter(|item| !item.is_empty());
        Ancestry {
            // One more than the limit is enough to detect that there are too many.
            above: items
                .take(MAX_CHAIN_LENGTH + 1)
                .map(Ancestor::parse)
                .collect(),
            configuration: file.map(identity),
        }
    }

    pub fn recursion(&self) -> Option<Recursion> {
        let same = |above: &Ancestor| above.configuration == self.configuration;
        if self.configuration.is_some() && self.above.iter().any(same) {
            return Some(Recursion::SameConfiguration);
        }
        (self.above.len() >= MAX_CHAIN_LENGTH).then_some(Recursion::TooDeep)
    }

    /// Returns the value of [`CHAIN`] for the child processes of the gateway with this mark.
    pub fn for_children(&self, mark: &str) -> String {
        let own = Ancestor {
            mark: mark.to_owned(),
            configuration: self.configuration.clone(),
        };
        let all = self.above.iter().chain([&own]);
        let all: Vec<String> = all.map(Ancestor::to_string).collect();
        all.join(",")
    }

    /// Returns the header for requests that the gateway with this mark sends.
    pub fn header(&self, mark: &str) -> HeaderValue {
        let above = self.above.iter().map(|above| above.mark.as_str());
        let marks: Vec<&str> = above.chain([mark]).collect();
        HeaderValue::from_str(&marks.join(",")).expect("marks contain only letters and digits")
    }
}

/// Returns the header for a plain JSON-RPC request that is forwarded: the marks that it arrived
/// with, followed by those of this gateway. Returns `None` if the request must not be forwarded,
/// because it has already passed through this gateway or through too many gateways, or because its
/// marks cannot be read.
pub fn passed_on(came_with: &HeaderValue, mark: &str, own: &HeaderValue) -> Option<HeaderValue> {
    let marks = came_with.to_str().ok()?;
    if via::is_looped(marks, mark) {
        return None;
    }
    let all = via::extended(Some(marks), own.to_str().ok()?);
    HeaderValue::from_str(&all).ok()
}

/// Returns true if the header contains this mark.
pub fn lists(header: &HeaderValue, mark: &str) -> bool {
    let mut marks = header.as_bytes().split(|byte| *byte == b',');
    marks.any(|item| item.trim_ascii() == mark.as_bytes())
}

impl Ancestor {
    /// Parses one item of [`CHAIN`]. The environment can contain anything, so only characters that
    /// are valid in a header are kept.
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
                "this entry starts Narrows with a configuration that a gateway above already uses, \
                 so they would start each other without end. Remove the entry, or give it another \
                 --config",
            ),
            Recursion::TooDeep => write!(
                f,
                "this entry starts Narrows below {MAX_CHAIN_LENGTH} other gateways, each started by the \
                 previous one. Remove the entry"
            ),
        }
    }
}

/// Removes all characters that are not allowed in a mark, and limits its length.
fn plain(text: &str) -> String {
    let fits = text.chars().filter(char::is_ascii_alphanumeric);
    fits.take(64).collect()
}

/// Returns a digest of the file's canonical path, or of its absolute path if the file does not
/// exist yet.
fn identity(file: &Path) -> String {
    let path = file.canonicalize();
    let path = path.or_else(|_| std::path::absolute(file));
    let path = path.as_deref().unwrap_or(file);
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hex(&digest[..8])
}
