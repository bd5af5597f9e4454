//! Whether the arguments of a call are what the tool's own schema wants.
