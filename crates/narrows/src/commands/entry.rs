//! Reads a configuration entry from the command line, a file or stdin. Comments and trailing commas
//! are allowed, as in the configuration.

use std::fs::File;
use std::io::{self, Read};

use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::Value;

use crate::admin_client::AdminClientError;
use crate::config::syntax;
use crate::terminal::plain;

/// The size limit of an entry, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the text of a file, or of stdin for `-`.
pub(super) fn read_text(file: &str) -> Result<String, AdminClientError> {
    let mut text = String::new();
    let read = match file {
        "-" => io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_string(&mut text),
        file => {
            File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        }
    };
    let name = match file {
        "-" => "stdin".to_owned(),
        file => format!("'{}'", plain(file)),
    };
    read.map_err(|error| AdminClientError::usage(format!("{name} cannot be read: {error}")))?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(AdminClientError::usage(format!(
            "{name} is longer than 16 MiB"
        ))),
        false => Ok(text),
    }
}

/// Parses a JSON object. Errors give the position and do not quote the text.
pub(super) fn parse(text: &str, what: &str) -> Result<Value, AdminClientError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &syntax()).map_err(|error| {
        let before = text.get(..error.range().start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        AdminClientError::usage(format!("{what} is not valid JSON: see line {line}"))
    })?;
    match parsed.value.map(Value::from) {
        Some(value) if value.is_object() => Ok(value),
        _ => Err(AdminClientError::usage(format!(
            "{what} is not a JSON object"
        ))),
    }
}
