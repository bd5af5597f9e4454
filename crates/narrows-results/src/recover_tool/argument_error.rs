//! Arguments of `recover_text` that cannot be used, and the call that would be
//! right.

use serde_json::Value;

/// Arguments that cannot be used, and how they would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    pub message: String,
    /// All arguments, corrected.
    pub corrected: Option<Value>,
    /// The rows of the text would help: the condition cannot be read.
    pub(super) is_condition: bool,
}

impl From<String> for ArgumentError {
    fn from(message: String) -> ArgumentError {
        ArgumentError {
            message,
            corrected: None,
            is_condition: false,
        }
    }
}

impl ArgumentError {
    /// The error of an argument whose value has another form than expected.
    pub(super) fn of_value(name: &str, expected: &str, value: &Value) -> ArgumentError {
        let shown = value.to_string();
        let shown: String = match shown.chars().count() {
            0..=60 => shown,
            _ => shown.chars().take(57).chain("...".chars()).collect(),
        };
        ArgumentError::from(format!("Argument '{name}' must be {expected}, not {shown}"))
    }
}
