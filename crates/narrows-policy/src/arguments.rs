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
mod keywords;
mod names;
mod read;
mod schema;
mod told;
mod validator;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use narrows_wire::Raw;
use serde_json::Value;

use self::explain::Problem;
use self::read::{Read, Unread};
use self::schema::Compiled;

/// The most problems of one call that are told.
const MAX_TOLD: usize = 20;

/// The most schemas that are applied to the arguments of one call.
const MAX_EFFORT: u64 = 10_000_000;

/// Beyond so many the first problem is told alone: the validator collects them
/// all before any is told, and each value may have several.
const MAX_EXPLAINED: u64 = 100_000;

/// With no more to do than this a check is over in no time: bytes of the
/// schema, and schemas that are applied.
const QUICK_SCHEMA: usize = 64 * 1024;
const QUICK_EFFORT: u64 = 1_000_000;

/// Longer arguments, in bytes, are not held against patterns: what one takes
/// grows with its own length times theirs.
const MAX_FOR_PATTERNS: usize = 256 * 1024;

/// The check of one tool's arguments. Clones share what was compiled; one
/// without a schema costs nothing.
#[derive(Clone, Default)]
pub struct Checker(Option<Arc<Shared>>);

struct Shared {
    schema: Raw,
    /// `None` inside if the schema cannot be enforced.
    compiled: OnceLock<Option<Compiled>>,
}

/// How the error of a refused call begins.
pub const FAILED: &str = "Argument validation failed: ";

/// Why a call is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The first problem, as a sentence for the model.
    pub message: String,
    /// All of them, the most useful first: where, as a JSON pointer into the
    /// arguments, and what.
    pub errors: Vec<(String, String)>,
}

impl Checker {
    /// Without a schema everything passes.
    pub fn new(schema: Option<&Raw>) -> Checker {
        let shared = |schema: &Raw| Shared {
            schema: schema.clone(),
            compiled: OnceLock::new(),
        };
        Checker(schema.map(shared).map(Arc::new))
    }

    /// Returns true if arguments of so many bytes are checked in no time: the
    /// schema is compiled already, and neither is much to look at.
    pub fn is_quick(&self, length: usize) -> bool {
        let Some(shared) = &self.0 else {
            return true;
        };
        match shared.compiled.get() {
            None => false,
            Some(None) => true,
            Some(Some(compiled)) => {
                // No value is shorter than a byte.
                let effort = compiled.visits().saturating_mul(length as u64);
                shared.schema.len() <= QUICK_SCHEMA && effort <= QUICK_EFFORT
            }
        }
    }

    pub fn check(&self, arguments: &Raw) -> Result<(), Rejection> {
        let Some((schema, compiled)) = self.enforced() else {
            return Ok(());
        };
        if compiled.has_patterns() && arguments.len() > MAX_FOR_PATTERNS {
            tracing::debug!(
                "arguments are not checked: they are long, and patterns may take their time"
            );
            return Ok(());
        }
        let most = MAX_EFFORT / compiled.visits();
        let read = match read::arguments(arguments, most) {
            Ok(read) => read,
            Err(Unread::GivenTwice(problem)) => return Err(rejection(vec![problem])),
            Err(Unread::Left(reason)) => {
                tracing::debug!(%reason, "arguments are not checked");
                return Ok(());
            }
        };
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
        let mut problems = compiled.names().unknown(members);
        if !compiled.validator().is_valid(&read.value) {
            problems.extend(explained(schema, compiled, &read));
        }
        match problems.is_empty() {
            // What the engine of regular expressions gave up on is not refused.
            true => Ok(()),
            false => Err(rejection(problems)),
        }
    }

    /// The schema, if there is one that can be enforced.
    fn enforced(&self) -> Option<(&Raw, &Compiled)> {
        let Shared { schema, compiled } = &**self.0.as_ref()?;
        let compile = || match Compiled::new(schema) {
            Ok(compiled) => Some(compiled),
            Err(reason) => {
                tracing::debug!(%reason, "arguments are not checked: the schema cannot be enforced");
                None
            }
        };
        let compiled = compiled.get_or_init(compile).as_ref()?;
        Some((schema, compiled))
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

/// What is wrong with arguments that the schema refuses.
fn explained(schema: &Raw, compiled: &Compiled, read: &Read) -> Vec<Problem> {
    // Only what is refused needs the schema as a tree.
    let schema = schema.decode().unwrap_or_default();
    let validator = compiled.validator();
    let effort = compiled.visits().saturating_mul(read.values);
    if effort <= MAX_EXPLAINED {
        return explain::problems(validator.iter_errors(&read.value), &schema, &read.value);
    }
    match (compiled.has_choices(), compiled.has_patterns()) {
        (false, _) => {
            let first = validator.validate(&read.value).err();
            explain::problems(first.into_iter(), &schema, &read.value)
        }
        // Why none of several forms fits is collected for each of them, in this
        // way too.
        (true, false) => vec![explain::unexplained()],
        // Perhaps a pattern was given up on, and that is not refused.
        (true, true) => Vec::new(),
    }
}

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
        message: format!("{FAILED}{first}"),
        errors,
    }
}

#[cfg(test)]
mod tests;
