//! The checks that the fuzzers run, one file for each target.

pub(crate) mod budget;
pub(crate) mod digest;
pub(crate) mod mask;
pub(crate) mod prune;
pub(crate) mod query;
pub(crate) mod search;
pub(crate) mod toon;
pub(crate) mod typescript;
