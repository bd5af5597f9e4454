//! Invalid arguments of `recover_text`, with the corrected call.

use serde_json::Value;

/// The error for invalid arguments, with a correction if possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    pub message: String,
    /// All arguments in corrected form.
    pub corrected: Option<Value>,
    /// True if the condition is invalid. The field names of the rows then help to correct it.
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
    /// Returns the error for a value of an unexpected form.
    pub(super) fn of_value(name: &str, expected: &str, value: &Value) -> ArgumentError {
        let shown = value.to_string();
        let shown: String = match shown.chars().count() {
            0..=60 => shown,
            _ => shown.chars().take(57).chain("...".chars()).collect(),
        };
        ArgumentError::from(format!("Argument '{name}' must be {expected}, not {shown}"))
    }
}
