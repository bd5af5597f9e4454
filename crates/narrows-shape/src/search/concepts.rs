//! The concepts that tools deal with: the parsed table `concepts.txt`.

use std::sync::LazyLock;

use crate::terms::ConceptTable;

pub(super) static CONCEPTS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("concepts.txt")));

#[cfg(test)]
mod tests;
