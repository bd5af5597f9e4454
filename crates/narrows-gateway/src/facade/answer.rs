//! The form of what `inspect`, `exec` and `search_tools` answer.
