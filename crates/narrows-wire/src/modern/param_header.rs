//! Tool arguments that HTTP headers repeat, as the annotation `x-mcp-header` in a tool's input
//! schema says.

use std::collections::HashSet;

use memchr::memmem;

use crate::modern::header;
use crate::{Kind, Raw};

const ANNOTATION: &str = "x-mcp-header";

/// The depth to which schemas are searched. An annotation below it makes a tool invalid.
const MAX_DEPTH: usize = 64;

/// The largest integer that headers may carry, either way from zero.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// A tool argument that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// The name of the header in lower case, with its prefix.
    pub header: String,
    /// The keys that lead to the value in the arguments.
    pub path: Vec<String>,
}

/// A violation of the rules for annotations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnnotation {
    #[error("x-mcp-header must be a non-empty HTTP field name, not {0}")]
    Name(String),
    #[error("x-mcp-header \"{0}\" occurs twice")]
    Twice(String),
    #[error("x-mcp-header \"{0}\" needs a parameter of type string, integer or boolean")]
    Type(String),
    #[error("x-mcp-header must be on a property that the root of the schema reaches directly")]
    Unreachable,
}

/// Returns the headers that an input schema asks for, or the first violation of the rules.
pub fn param_headers(schema: &Raw) -> Result<Vec<ParamHeader>, BadAnnotation> {
    let text = schema.as_bytes();
    // Nearly every schema ends here. An escape may hide the name.
    if memmem::find(text, ANNOTATION.as_bytes()).is_none() && memmem::find(text, b"\\u").is_none() {
        return Ok(Vec::new());
    }
    let mut search = Search::default();
    search.todo.push(Place {
        value: schema.clone(),
        path: Some(Vec::new()),
        is_map: false,
        depth: 0,
    });
    while let Some(place) = search.todo.pop() {
        search.visit(&place)?;
    }
    search.found.reverse();
    Ok(search.found)
}

/// A search for annotations in a schema.
#[derive(Default)]
struct Search {
    todo: Vec<Place>,
    found: Vec<ParamHeader>,
    names: HashSet<String>,
}

/// A part of a schema.
struct Place {
    value: Raw,
    /// The keys that lead to the value it describes; `None` if these are not only `properties`.
    path: Option<Vec<String>>,
    /// The members are names of properties or definitions, each with a schema.
    is_map: bool,
    depth: usize,
}

impl Search {
    fn visit(&mut self, place: &Place) -> Result<(), BadAnnotation> {
        if place.depth > MAX_DEPTH {
            let deep = place.value.as_bytes();
            return match memmem::find(deep, ANNOTATION.as_bytes()) {
                Some(_) => Err(BadAnnotation::Unreachable),
                None => Ok(()),
            };
        }
        let depth = place.depth + 1;
        for value in place.value.elements() {
            self.push(value, None, false, depth);
        }
        for (key, value) in place.value.members() {
            if place.is_map {
                let path = place.path.as_ref().map(|path| {
                    let mut path = path.clone();
                    path.push(key.into_owned());
                    path
                });
                self.push(value, path, false, depth);
                continue;
            }
            match &*key {
                ANNOTATION => self.annotation(place, &value)?,
                "properties" => self.push(value, place.path.clone(), true, depth),
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    self.push(value, None, true, depth);
                }
                // Data, not schemas.
                "const" | "default" | "enum" | "example" | "examples" => {}
                _ => self.push(value, None, false, depth),
            }
        }
        Ok(())
    }

    fn push(&mut self, value: Raw, path: Option<Vec<String>>, is_map: bool, depth: usize) {
        if matches!(value.kind(), Kind::Object | Kind::Array) {
            self.todo.push(Place {
                value,
                path,
                is_map,
                depth,
            });
        }
    }

    fn annotation(&mut self, place: &Place, value: &Raw) -> Result<(), BadAnnotation> {
        let name = value.as_text().unwrap_or_default();
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return Err(BadAnnotation::Name(value.as_str().to_owned()));
        }
        let path = match &place.path {
            Some(path) if !path.is_empty() => path.clone(),
            _ => return Err(BadAnnotation::Unreachable),
        };
        let kind = place.value.member("type");
        let kind = kind.as_ref().and_then(Raw::as_text);
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(BadAnnotation::Type(name.into_owned()));
        }
        let lower = name.to_ascii_lowercase();
        if !self.names.insert(lower.clone()) {
            return Err(BadAnnotation::Twice(name.into_owned()));
        }
        self.found.push(ParamHeader {
            header: format!("{}{lower}", header::PARAM_PREFIX),
            path,
        });
        Ok(())
    }
}

impl ParamHeader {
    /// Returns the value in the arguments of a call; `None` if it is absent or null.
    pub fn value(&self, arguments: &Raw) -> Option<Raw> {
        let mut value = arguments.clone();
        for key in &self.path {
            value = value.member(key)?;
        }
        (value.kind() != Kind::Null).then_some(value)
    }

    /// Returns the header's value for a call; `None` if it has no value that a header may carry.
    pub fn encode(&self, arguments: &Raw) -> Option<String> {
        let value = self.value(arguments)?;
        match value.kind() {
            Kind::String => value
                .as_text()
                .map(|text| header::encode(&text).into_owned()),
            Kind::Bool | Kind::Number => Some(value.as_str().to_owned()),
            _ => None,
        }
    }

    /// Returns true if the header of a call agrees with its arguments. Integers are compared as
    /// numbers.
    pub fn agrees(&self, header: Option<&[u8]>, arguments: Option<&Raw>) -> bool {
        let value = arguments.and_then(|arguments| self.value(arguments));
        let (header, value) = match (header, value) {
            (None, None) => return true,
            (Some(header), Some(value)) => (header, value),
            _ => return false,
        };
        let Some(header) = header::decode(header) else {
            return false;
        };
        match value.kind() {
            Kind::String => value.as_text().is_some_and(|text| text == header),
            Kind::Bool => value.as_str() == header,
            Kind::Number => same_number(&header, value.as_str()),
            _ => false,
        }
    }
}

fn same_number(one: &str, two: &str) -> bool {
    if one == two {
        return true;
    }
    let number = |text: &str| {
        Raw::parse(bytes::Bytes::copy_from_slice(text.as_bytes()))
            .ok()
            .and_then(|raw| raw.as_i64())
            .filter(|number| number.unsigned_abs() <= MAX_INTEGER as u64)
    };
    matches!((number(one), number(two)), (Some(one), Some(two)) if one == two)
}

/// Returns true for the bytes of a token (RFC 9110, 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
