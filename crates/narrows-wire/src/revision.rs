//! The revisions of MCP, in their order.

use std::fmt;

/// A protocol revision. Ordered by date, so `revision >= Revision::V2025_06_18` reads as it should.
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

    /// The newest revision that opens with `initialize`.
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

    /// Whether the revision opens with `initialize` and keeps a session.
    pub fn is_legacy(self) -> bool {
        self <= Revision::LATEST_LEGACY
    }

    /// JSON-RPC batches came with 2025-03-26 and left with the next revision.
    pub fn has_batches(self) -> bool {
        self == Revision::V2025_03_26
    }

    /// What a server answers to an `initialize` that asks for `asked`: the same
    /// if it is a legacy revision we know, else the newest one we have
    /// (MCP 2025-11-25, lifecycle, version negotiation).
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
