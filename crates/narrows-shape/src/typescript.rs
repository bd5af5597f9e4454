//! JSON Schema in, one line of TypeScript out: what a tool takes, in the form
//! that models read best and that costs the fewest tokens.
//!
//! `{path: string /* File path */; mode?: string}`: a comment follows the type
//! it is about. References are resolved in place. Only what cannot be written
//! so gets a name: a type that contains itself, and one that is used so often
//! that repeating it would make the text explode. Names are declared behind
//! the type, `{root: Node}; type Node = {next?: Node}`, so that `type Input = `
//! before the line makes it valid TypeScript.
//!
//! Every schema gives a type; where it says nothing, contradicts itself, is
//! nested deeper than 64 levels or is more work than any honest schema, the
//! type is `unknown` at that place. Time and output are bounded for hostile
//! ones: about linear in the schema's size.

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

/// How a type is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeScriptOptions {
    /// Whether descriptions come as comments.
    pub descriptions: bool,
    /// The longest description in characters; of a longer one, three less are
    /// kept, and `...` stands at its end.
    pub max_description_len: usize,
    /// Whether defaults and constraints come as comments: `/* =30; 1..100 */`.
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

/// A type and the names it needs. Its `Display` is the line for models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeScript {
    /// The type expression, on one line.
    pub expression: String,
    /// Named types that it needs, each a name and a type expression.
    pub declarations: Vec<(String, String)>,
    /// Names of what the schema refers to and does not contain. They tell a
    /// model what is meant, but nobody declares them.
    pub unresolved: Vec<String>,
}

impl TypeScript {
    /// Statements that declare the type as `name`, and all that it needs, on
    /// one line. They stand alone in a module or a namespace of their own:
    /// another type may need the same names for something else.
    pub fn declaration(&self, name: &str) -> String {
        let mut text = format!("type {name} = {self};");
        for name in &self.unresolved {
            text.push_str(&format!(" type {name} = unknown;"));
        }
        text
    }
}

/// One line; names follow the type as `; type Node = …`.
impl fmt::Display for TypeScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)?;
        for (name, expression) in &self.declarations {
            write!(f, "; type {name} = {expression}")?;
        }
        Ok(())
    }
}

/// The TypeScript of a schema.
pub fn typescript(schema: &Value, options: &TypeScriptOptions) -> TypeScript {
    render::Renderer::new(schema, options).run()
}

/// The same from a schema's text. Nesting that is too deep for any reader is
/// JSON nevertheless: what lies below becomes `unknown`.
pub fn typescript_of_text(
    schema: &str,
    options: &TypeScriptOptions,
) -> Result<TypeScript, NotJson> {
    Ok(typescript(&read::schema(schema)?, options))
}
