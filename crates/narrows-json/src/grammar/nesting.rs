//! The open objects and arrays.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Array,
    Object,
}

/// The open containers as a stack of bits, innermost last. A set bit is an object. The newest word
/// is stored outside the vector, so that shallow texts allocate nothing.
#[derive(Default)]
pub(super) struct Nesting {
    depth: usize,
    newest: u64,
    older: Vec<u64>,
}

impl Nesting {
    #[inline(always)]
    pub(super) fn push(&mut self, container: Container) {
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.older.push(self.newest);
        }
        self.newest = self.newest << 1 | u64::from(container == Container::Object);
        self.depth += 1;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.newest >>= 1;
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.newest = self.older.pop().expect("one word for every 64 levels");
        }
    }

    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline(always)]
    pub(super) fn top(&self) -> Option<Container> {
        match (self.depth, self.newest & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Array),
            _ => Some(Container::Object),
        }
    }
}
