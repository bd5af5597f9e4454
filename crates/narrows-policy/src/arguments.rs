//! Validation of a call's arguments against the schema of the tool.
//!
//! A [`ArgumentChecker`] belongs to one tool and compiles the schema on first use, because most listed
//! tools are never called. It refuses the arguments that the schema refuses, and also top-level
//! names that the schema does not define: if a misspelt argument were silently ignored, the result
//! would answer a different question. The messages tell a model how to correct the call.
//!
//! Schemas come from untrusted servers. A schema that cannot be used is not enforced: the server
//! validates its calls anyway, and a tool that returns its own error is more useful than one that
//! cannot be called.

mod effort;
mod explain;
mod keywords;
mod message;
mod names;
mod read;
mod schema;
mod validator;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use narrows_wire::Raw;
use serde_json::Value;

use self::explain::Problem;
use self::read::{ParsedArguments, ReadError};
use self::schema::CompiledSchema;

/// The maximum number of reported problems per call.
const MAX_REPORTED: usize = 20;

/// The maximum number of schemas applied to the arguments of one call.
const MAX_EFFORT: u64 = 10_000_000;

/// Above this effort, only the first problem is reported: the validator collects all problems
/// before any is reported, and each value may have several.
const MAX_EXPLAINED: u64 = 100_000;

/// Up to these limits (bytes of the schema, number of applied schemas), a check is fast enough to
/// run on an async thread.
const QUICK_SCHEMA: usize = 64 * 1024;
const QUICK_EFFORT: u64 = 1_000_000;

/// The maximum length in bytes of arguments that are matched against patterns. The cost of a
/// pattern grows with its length times theirs.
const MAX_FOR_PATTERNS: usize = 256 * 1024;

/// Checks the arguments of one tool. Clones share the compiled schema. A checker without a schema
/// does nothing.
#[derive(Clone, Default)]
pub struct ArgumentChecker(Option<Arc<ToolSchema>>);

struct ToolSchema {
    schema: Raw,
    /// The inner value is `None` if the schema cannot be enforced.
    compiled: OnceLock<Option<CompiledSchema>>,
}

/// The start of the error message of a refused call.
pub const FAILED: &str = "Argument validation failed: ";

/// The reasons why a call is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The first problem as a sentence for the model.
    pub message: String,
    /// All problems, the most useful first: a JSON pointer into the arguments and a message.
    pub errors: Vec<(String, String)>,
}

impl ArgumentChecker {
    /// Creates a checker. Without a schema, all arguments pass.
    pub fn new(schema: Option<&Raw>) -> ArgumentChecker {
        let shared = |schema: &Raw| ToolSchema {
            schema: schema.clone(),
            compiled: OnceLock::new(),
        };
        ArgumentChecker(schema.map(shared).map(Arc::new))
    }

    /// Returns true if arguments of this length are checked quickly: the schema is already
    /// compiled, and both are small.
    pub fn is_quick(&self, length: usize) -> bool {
        let Some(shared) = &self.0 else {
            return true;
        };
        match shared.compiled.get() {
            None => false,
            Some(None) => true,
            Some(Some(compiled)) => {
                // Every value has at least one byte.
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
            tracing::debug!("arguments are not checked: they are too long to match patterns");
            return Ok(());
        }
        let most = MAX_EFFORT / compiled.visits();
        let read = match read::arguments(arguments, most) {
            Ok(read) => read,
            Err(ReadError::GivenTwice(problem)) => return Err(rejection(vec![problem])),
            Err(ReadError::Left(reason)) => {
                tracing::debug!(%reason, "arguments are not checked");
                return Ok(());
            }
        };
        if read.depth > compiled.deepest() {
            tracing::debug!(
                depth = read.depth,
                "arguments are not checked: at this depth the schema may take too long"
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
            // The call passes if the regular expression engine gave up.
            true => Ok(()),
            false => Err(rejection(problems)),
        }
    }

    /// Returns the schema, if there is one and it can be enforced.
    fn enforced(&self) -> Option<(&Raw, &CompiledSchema)> {
        let ToolSchema { schema, compiled } = &**self.0.as_ref()?;
        let compile = || match CompiledSchema::new(schema) {
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

impl fmt::Debug for ArgumentChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}

/// A checker is derived from the tool definition that contains it, so it never makes two
/// definitions differ.
impl PartialEq for ArgumentChecker {
    fn eq(&self, _: &ArgumentChecker) -> bool {
        true
    }
}

impl Eq for ArgumentChecker {}

/// Returns the problems of arguments that the schema refuses.
fn explained(schema: &Raw, compiled: &CompiledSchema, read: &ParsedArguments) -> Vec<Problem> {
    // The schema is parsed only for refused arguments.
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
        // Even for a single error, the validator collects the errors of every alternative.
        (true, false) => vec![explain::unexplained()],
        // A pattern may have been undecided, so the call passes.
        (true, true) => Vec::new(),
    }
}

/// Builds the rejection. `problems` must not be empty.
fn rejection(mut problems: Vec<Problem>) -> Rejection {
    problems.sort_by(Problem::by_use);
    // The schema may also refuse a name that was already found to be unknown.
    let mut errors: Vec<(String, String)> = Vec::new();
    let mut seen: HashSet<(String, Option<String>)> = HashSet::new();
    for problem in problems {
        let pointer = message::pointer(&problem.pointer);
        let message = (!problem.is_unknown()).then(|| problem.message.clone());
        if errors.len() < MAX_REPORTED && seen.insert((pointer.clone(), message)) {
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
