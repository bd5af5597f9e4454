//! Values derived from a server's lists and stored with them.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A value that is computed on first use and lives as long as the list or item that it is derived
/// from. It is ignored when items are compared.
#[derive(Clone, Default)]
pub struct Derived(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Derived {
    /// Returns the value, computing it on first use. All callers must request the same type.
    pub fn get_or_init<T: Any + Send + Sync>(&self, init: impl FnOnce() -> T) -> &T {
        let value = self.0.get_or_init(|| Arc::new(init()));
        value
            .downcast_ref()
            .expect("all callers request the same type")
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}

impl PartialEq for Derived {
    fn eq(&self, _: &Derived) -> bool {
        true
    }
}

impl Eq for Derived {}
