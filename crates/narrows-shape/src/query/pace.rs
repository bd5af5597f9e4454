//! Checks of the deadline that do not cost more than the work between them.

use super::error::Refused;
use crate::prune::Deadline;

/// Bytes between two checks.
const STRIDE: usize = 4 * 1024;

/// Each line or row counts as so many bytes more than it has.
const OVERHEAD: usize = 32;

pub(super) struct Pace<'a> {
    pub(super) deadline: &'a Deadline<'a>,
    spent: usize,
}

impl<'a> Pace<'a> {
    pub(super) fn new(deadline: &'a Deadline<'a>) -> Pace<'a> {
        Pace { deadline, spent: 0 }
    }

    /// Counts work on so many bytes.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Refused> {
        self.spent += bytes + OVERHEAD;
        if self.spent > STRIDE {
            self.spent = 0;
            self.deadline.check()?;
        }
        Ok(())
    }
}
