//! Deadline checks that cost less than the work between them.

use super::error::Refused;
use crate::prune::Deadline;

/// The bytes of work between two checks.
const STRIDE: usize = 4 * 1024;

/// The bytes that each line or row counts in addition to its length.
const OVERHEAD: usize = 32;

pub(super) struct Pace<'a> {
    pub(super) deadline: &'a Deadline<'a>,
    spent: usize,
}

impl<'a> Pace<'a> {
    pub(super) fn new(deadline: &'a Deadline<'a>) -> Pace<'a> {
        Pace { deadline, spent: 0 }
    }

    /// Counts work on `bytes` bytes and checks the deadline from time to time.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Refused> {
        self.spent += bytes + OVERHEAD;
        if self.spent > STRIDE {
            self.spent = 0;
            self.deadline.check()?;
        }
        Ok(())
    }
}
