//! Errors of reading a receipt as a resource.

/// Each variant gets a different response. Failures of the tool `recover_text` are not errors but
/// results, so that models can read them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The store has no text for this receipt, or the URI does not contain one.
    #[error("no text is stored under {0}")]
    UnknownReceipt(String),
    #[error("Lines must be between 1 and {lines}, and end must not be before start")]
    LineRange { lines: usize },
}
