/// The place and the reason at which a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct Error {
    pub offset: usize,
    pub reason: &'static str,
}
