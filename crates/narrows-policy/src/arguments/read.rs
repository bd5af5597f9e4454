//! The arguments as a tree.
//!
//! A duplicate member is refused: the call is forwarded unchanged, and a server may read a
//! different value than the one that was checked. Arguments that cannot be parsed here, or are too
//! large, are left to the server to validate.

use std::fmt;

use narrows_wire::Raw;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::explain::{self, Problem};

pub(super) struct ParsedArguments {
    pub(super) value: Value,
    /// The nesting depth of objects and arrays.
    pub(super) depth: usize,
    /// The total number of values.
    pub(super) values: u64,
}

/// The reason why the arguments were not parsed.
pub(super) enum ReadError {
    /// A member occurs twice.
    GivenTwice(Problem),
    /// The arguments are left to the server, for this reason: they are too many or too deep, or a
    /// number or text in them cannot be represented.
    Left(String),
}

/// Parses arguments with at most `most` values. serde_json limits the depth to 127 levels.
pub(super) fn arguments(raw: &Raw, most: u64) -> Result<ParsedArguments, ReadError> {
    let mut state = ReadState {
        most,
        ..ReadState::default()
    };
    let mut deserializer = serde_json::Deserializer::from_slice(raw.as_bytes());
    let tree = ValueSeed {
        state: &mut state,
        depth: 0,
    };
    match tree.deserialize(&mut deserializer) {
        Ok(value) => Ok(ParsedArguments {
            value,
            depth: state.depth,
            values: state.values,
        }),
        Err(error) => Err(match state.twice {
            Some(name) => ReadError::GivenTwice(explain::given_twice(&name)),
            None => ReadError::Left(error.to_string()),
        }),
    }
}

#[derive(Default)]
struct ReadState {
    depth: usize,
    values: u64,
    /// The maximum number of values.
    most: u64,
    /// The name of a member that occurs twice in its object.
    twice: Option<String>,
}

struct ValueSeed<'n> {
    state: &'n mut ReadState,
    depth: usize,
}

impl ValueSeed<'_> {
    fn inner(&mut self) -> ValueSeed<'_> {
        ValueSeed {
            state: self.state,
            depth: self.depth,
        }
    }

    fn enter(&mut self) {
        self.depth += 1;
        self.state.depth = self.state.depth.max(self.depth);
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.state.values += 1;
        if self.state.values > self.state.most {
            return Err(D::Error::custom("there are too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        self.enter();
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(self.inner())? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        self.enter();
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                self.state.twice = Some(name);
                return Err(A::Error::custom("a member occurs twice"));
            }
            let value = map.next_value_seed(self.inner())?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}
