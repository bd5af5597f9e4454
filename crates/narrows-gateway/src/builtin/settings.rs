//! The settings of the built-in servers.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrunerSettings {
    /// The longest text that is pruned, in characters. Longer texts are returned unchanged.
    pub max_input_chars: usize,
}

impl Default for PrunerSettings {
    fn default() -> Self {
        PrunerSettings {
            max_input_chars: 2_000_000,
        }
    }
}
