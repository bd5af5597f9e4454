//! The MCP revisions.

use std::fmt;

/// A protocol revision. Revisions are ordered by date and can be compared:
/// `revision >= Revision::V2025_06_18`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The newest revision that starts with `initialize`.
    pub const LATEST_LEGACY: Revision = Revision::V2025_11_25;

    pub fn parse(text: &str) -> Option<Revision> {
        Revision::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns true if the revision starts with `initialize` and has sessions.
    pub fn is_legacy(self) -> bool {
        self <= Revision::LATEST_LEGACY
    }

    /// Returns true if the revision has JSON-RPC batches: only 2025-03-26 does.
    pub fn has_batches(self) -> bool {
        self == Revision::V2025_03_26
    }

    /// Returns the revision that a server answers to an `initialize` request for `asked`: the same
    /// one if it is a known legacy revision, otherwise the newest legacy revision (MCP 2025-11-25,
    /// lifecycle, version negotiation).
    pub fn negotiate(asked: &str) -> Revision {
        Revision::parse(asked)
            .filter(|revision| revision.is_legacy())
            .unwrap_or(Revision::LATEST_LEGACY)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
