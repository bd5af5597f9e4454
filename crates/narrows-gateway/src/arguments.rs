//! Whether the arguments of a call are what the tool's own schema wants.
//!
//! A [`Checker`] belongs to one tool and is compiled when it is first used:
//! most listed tools are never called. It refuses what the schema refuses, and
//! besides top-level names that the schema does not speak of: a misspelt
//! argument that is silently ignored gives an answer to another question. What
//! it says is for a model, which should know from it what to write instead.
//!
//! Schemas come from servers that nobody vouched for. One that cannot be used,
//! for whatever reason, is not enforced: the server judges its calls anyway,
//! and a tool that cannot be called at all is worse than one that answers with
//! its own error.

mod effort;
mod explain;
mod names;
mod read;
mod schema;
mod told;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use narrows_wire::Raw;
use serde_json::Value;

use self::explain::Problem;
use self::schema::Compiled;

/// The most problems of one call that are told.
const MAX_TOLD: usize = 20;

/// The check of one tool's arguments. Clones share what was compiled.
#[derive(Clone, Default)]
pub(crate) struct Checker(Arc<Shared>);

#[derive(Default)]
struct Shared {
    schema: Option<Raw>,
    /// `None` inside if the schema cannot be enforced.
    compiled: OnceLock<Option<Compiled>>,
}

/// Why a call is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// The first problem, as a sentence for the model.
    pub(crate) message: String,
    /// All of them, the most useful first: where, as a JSON pointer into the
    /// arguments, and what.
    pub(crate) errors: Vec<(String, String)>,
}

impl Checker {
    /// Without a schema everything passes.
    pub(crate) fn new(schema: Option<&Raw>) -> Checker {
        Checker(Arc::new(Shared {
            schema: schema.cloned(),
            compiled: OnceLock::new(),
        }))
    }

    pub(crate) fn check(&self, arguments: &Raw) -> Result<(), Rejection> {
        let Some(schema) = &self.0.schema else {
            return Ok(());
        };
        let Some(compiled) = self.compiled(schema) else {
            return Ok(());
        };
        let read = read::arguments(arguments).map_err(|problem| rejection(vec![problem]))?;
        if read.depth > compiled.deepest() {
            tracing::debug!(
                depth = read.depth,
                "arguments are not checked: at this depth their schema could take too long"
            );
            return Ok(());
        }
        let Value::Object(members) = &read.value else {
            return Err(rejection(vec![explain::not_an_object(&read.value)]));
        };
        let unknown = compiled.names().unknown(members);
        if unknown.is_empty() && compiled.validator().is_valid(&read.value) {
            return Ok(());
        }
        // Only what is refused needs the schema as a tree.
        let schema = schema.decode().unwrap_or_default();
        let mut problems: Vec<Problem> = unknown;
        problems.extend(explain::problems(
            compiled.validator().iter_errors(&read.value),
            &schema,
            &read.value,
        ));
        match problems.is_empty() {
            // What the engine of regular expressions gave up on is not refused.
            true => Ok(()),
            false => Err(rejection(problems)),
        }
    }

    fn compiled(&self, schema: &Raw) -> Option<&Compiled> {
        let compile = || match Compiled::new(schema) {
            Ok(compiled) => Some(compiled),
            Err(reason) => {
                tracing::debug!(%reason, "arguments are not checked: the schema cannot be enforced");
                None
            }
        };
        self.0.compiled.get_or_init(compile).as_ref()
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}

/// A checker follows from the listed tool it belongs to, so it never tells two
/// tools apart.
impl PartialEq for Checker {
    fn eq(&self, _: &Checker) -> bool {
        true
    }
}

impl Eq for Checker {}

/// `problems` has at least one.
fn rejection(mut problems: Vec<Problem>) -> Rejection {
    problems.sort_by(Problem::by_use);
    // The schema may refuse a name that was found unknown already.
    let mut errors: Vec<(String, String)> = Vec::new();
    let mut seen: HashSet<(String, Option<String>)> = HashSet::new();
    for problem in problems {
        let pointer = told::pointer(&problem.pointer);
        let message = (!problem.is_unknown()).then(|| problem.message.clone());
        if errors.len() < MAX_TOLD && seen.insert((pointer.clone(), message)) {
            errors.push((pointer, problem.message));
        }
    }
    let first = errors.first().map_or("", |(_, message)| message);
    Rejection {
        message: format!("Argument validation failed: {first}"),
        errors,
    }
}

#[cfg(test)]
mod tests;
