//! Why a receipt could not be read as a resource.

/// A variant exists because a caller answers it differently. Failures of the
/// tool `recover_text` are results, which models read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The store holds no text under this receipt, or the URI names none.
    #[error("no text is stored under {0}")]
    UnknownReceipt(String),
    #[error("Lines are counted from 1 to {lines}, and the last does not come before the first")]
    LineRange { lines: usize },
}
