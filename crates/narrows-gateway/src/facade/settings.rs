//! The settings of endpoints that do not list all tools.

use narrows_policy::preset::Pattern;

/// How tools are told of where they are not listed.
#[derive(Debug, Clone, PartialEq)]
pub struct FacadeSettings {
    /// How much of each tool the description of `inspect` tells, on lazy endpoints.
    pub listing: Telling,
    /// The longest that this description may get before it tells less.
    pub listing_max_chars: usize,
    /// True if it names the parameters of each tool.
    pub signatures: bool,
    /// Tools that are listed all the same.
    pub pin: Vec<Pattern>,
    /// The form of what `inspect`, `exec` and `search_tools` answer.
    pub encoding: Encoding,
    /// Schemas as TypeScript, not as JSON Schema.
    pub typescript: bool,
    /// Descriptions inside of schemas are cut here.
    pub max_description_len: usize,
    /// True if TypeScript tells constraints and defaults.
    pub constraints: bool,
    /// The fewest items or keys of data that are worth TOON.
    pub toon_min_size: usize,
}

impl Default for FacadeSettings {
    fn default() -> Self {
        FacadeSettings {
            listing: Telling::Capped,
            listing_max_chars: 10_000,
            signatures: true,
            pin: Vec::new(),
            encoding: Encoding::Shorter,
            typescript: true,
            max_description_len: 300,
            constraints: false,
            toon_min_size: 1,
        }
    }
}

/// How much is told of every tool, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    /// Its whole description.
    Full,
    /// The beginning of it.
    Capped,
    /// Its name.
    Names,
    /// Nothing; only servers are told.
    Servers,
}

/// The form of data in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// TOON or compact JSON, whichever is shorter.
    Shorter,
    Toon,
    Json,
}
