//! The report in a result's `_meta` of what was cut.

use narrows_shape::budget::CutRange;
use narrows_wire::Raw;
use serde::Serialize;
use serde_json::{Value, json};

/// The member of a result's `_meta` with the report for programs.
pub const META: &str = "narrows/receipt";

/// The maximum number of texts in a report.
pub(crate) const MAX_REPORTED_BLOCKS: usize = 32;

/// The maximum number of cuts per text in a report. The store has the full text anyway.
const MAX_REPORTED_CUTS: usize = 100;

/// The report on a shaped result.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The first receipt, for programs that expect only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune_id: Option<String>,
    pub chars: SizeChange,
    pub tokens: SizeChange,
    pub blocks: Vec<BlockReport>,
    #[serde(skip_serializing_if = "is_zero")]
    pub more_blocks: usize,
}

/// A size before and after. Tokens are estimated.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct SizeChange {
    pub before: usize,
    pub after: usize,
}

/// The report on one text of the result.
#[derive(Debug, Clone, Serialize)]
pub struct BlockReport {
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune_id: Option<String>,
    pub chars: SizeChange,
    pub tokens: SizeChange,
    pub stages: Vec<&'static str>,
    pub goal: Option<String>,
    pub source: Option<&'static str>,
    pub cuts: Vec<Value>,
    #[serde(skip_serializing_if = "is_zero")]
    pub more_cuts: usize,
}

impl Report {
    pub fn stages(&self) -> Vec<&'static str> {
        let mut all: Vec<&str> = Vec::new();
        for stage in self.blocks.iter().flat_map(|block| &block.stages) {
            if !all.contains(stage) {
                all.push(stage);
            }
        }
        all
    }

    pub fn receipts(&self) -> Vec<&str> {
        let receipts = self.blocks.iter().filter_map(|b| b.prune_id.as_deref());
        receipts.collect()
    }
}

impl Report {
    /// Creates a report on these texts. Only the first `MAX_REPORTED_BLOCKS` are listed.
    pub fn new(chars: SizeChange, tokens: SizeChange, mut blocks: Vec<BlockReport>) -> Report {
        let more_blocks = blocks.len().saturating_sub(MAX_REPORTED_BLOCKS);
        blocks.truncate(MAX_REPORTED_BLOCKS);
        Report {
            prune_id: blocks.iter().find_map(|block| block.prune_id.clone()),
            chars,
            tokens,
            blocks,
            more_blocks,
        }
    }

    /// Returns the result with this report in its `_meta`.
    pub fn sign(&self, result: &Raw) -> Raw {
        let meta = result.member("_meta").unwrap_or_else(Raw::empty_object);
        let meta = meta.with_member(META, &Raw::from_serialize(self));
        result.with_member("_meta", &meta)
    }
}

impl BlockReport {
    /// Adds the cuts. Only the first `MAX_REPORTED_CUTS` are listed.
    pub fn with_cuts(mut self, cuts: &[CutRange]) -> BlockReport {
        let reported = cuts.iter().take(MAX_REPORTED_CUTS).map(|cut| match cut {
            CutRange::Lines { first, last } => json!({ "lines": [first, last] }),
            CutRange::Chars { first, last } => json!({ "chars": [first, last] }),
        });
        self.cuts = reported.collect();
        self.more_cuts = cuts.len().saturating_sub(MAX_REPORTED_CUTS);
        self
    }
}

impl SizeChange {
    pub fn add(&mut self, other: SizeChange) {
        self.before += other.before;
        self.after += other.after;
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
