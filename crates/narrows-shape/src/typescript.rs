//! Converts JSON Schema to one line of TypeScript: the parameters of a tool in the form that models
//! read best and that costs the fewest tokens.
//!
//! In `{path: string /* File path */; mode?: string}`, a comment follows the type that it
//! describes. References are resolved inline. Only types that cannot be written inline get a name:
//! types that contain themselves, and types that are used so often that repeating them would make
//! the text explode. Named types are declared after the type, as in `{root: Node}; type Node =
//! {next?: Node}`, so that the line becomes valid TypeScript when `type Input = ` is put before it.
//!
//! Every schema gives a type. Where a schema contains no type, contradicts itself, is nested deeper
//! than 64 levels or needs too much work, the type is `unknown`. Time and output are bounded for
//! hostile schemas and approximately linear in the size of the schema.

mod comment;
mod facets;
mod name;
mod read;
mod render;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use serde_json::Value;

use crate::error::NotJson;

/// Options for the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeScriptOptions {
    /// Includes descriptions as comments.
    pub descriptions: bool,
    /// The longest description in characters. A longer one is cut to this length and ends with
    /// `...`.
    pub max_description_len: usize,
    /// Includes defaults and constraints as comments: `/* =30; 1..100 */`.
    pub constraints: bool,
}

impl Default for TypeScriptOptions {
    fn default() -> Self {
        Self {
            descriptions: true,
            max_description_len: 300,
            constraints: false,
        }
    }
}

/// A type and the named types it needs. Its `Display` is the line for models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeScript {
    /// The type expression, on one line.
    pub expression: String,
    /// The named types that the expression needs, each as a name and a type expression.
    pub declarations: Vec<(String, String)>,
    /// The names of references that the schema does not contain. They help a model to understand
    /// the schema, but have no declaration.
    pub unresolved: Vec<String>,
}

impl TypeScript {
    /// Returns statements on one line that declare the type as `name`, and everything it needs.
    /// They must be in a module or namespace of their own, because other types may use the same
    /// names differently.
    pub fn declaration(&self, name: &str) -> String {
        let mut text = format!("type {name} = {self};");
        for name in &self.unresolved {
            text.push_str(&format!(" type {name} = unknown;"));
        }
        text
    }
}

/// Writes the type on one line, followed by named types as `; type Node = …`.
impl fmt::Display for TypeScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)?;
        for (name, expression) in &self.declarations {
            write!(f, "; type {name} = {expression}")?;
        }
        Ok(())
    }
}

/// Converts a schema to TypeScript.
pub fn typescript(schema: &Value, options: &TypeScriptOptions) -> TypeScript {
    render::Renderer::new(schema, options).run()
}

/// Converts the text of a schema to TypeScript. Excessive nesting is still valid JSON: the parts
/// below the limit become `unknown`.
pub fn typescript_of_text(
    schema: &str,
    options: &TypeScriptOptions,
) -> Result<TypeScript, NotJson> {
    Ok(typescript(&read::schema(schema)?, options))
}
