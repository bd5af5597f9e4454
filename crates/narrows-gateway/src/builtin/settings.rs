//! The settings of the built-in servers.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrunerSettings {
    /// Longer texts are passed on as they are.
    pub max_input_chars: usize,
}

impl Default for PrunerSettings {
    fn default() -> Self {
        PrunerSettings {
            max_input_chars: 2_000_000,
        }
    }
}
