//! The settings of endpoints that do not list all tools.

use narrows_policy::preset::Pattern;

/// The way in which unlisted tools are described and called.
#[derive(Debug, Clone, PartialEq)]
pub struct FacadeSettings {
    /// The level of detail at which the description of `inspect` lists tools on lazy endpoints.
    pub listing: ListingDetail,
    /// The maximum length of that description in characters. Longer ones are shortened.
    pub listing_max_chars: usize,
    /// True if the description contains the parameters of each tool.
    pub signatures: bool,
    /// Tools that are listed in addition to the gateway's own.
    pub pin: Vec<Pattern>,
    /// The encoding of results of `inspect`, `exec` and `search_tools`.
    pub encoding: Encoding,
    /// True to describe schemas as TypeScript instead of JSON Schema.
    pub typescript: bool,
    /// The maximum length of descriptions inside schemas.
    pub max_description_len: usize,
    /// True if TypeScript includes constraints and defaults.
    pub constraints: bool,
    /// The minimum number of items or keys for which data is encoded as TOON.
    pub toon_min_size: usize,
}

impl Default for FacadeSettings {
    fn default() -> Self {
        FacadeSettings {
            listing: ListingDetail::Capped,
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

/// The level of detail of tool descriptions, in descending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListingDetail {
    /// The full description.
    Full,
    /// The beginning of the description.
    Capped,
    /// Only the names.
    Names,
    /// Only the servers, without their tools.
    Servers,
}

/// The encoding of data as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// TOON or compact JSON, whichever is shorter.
    Shorter,
    Toon,
    Json,
}
