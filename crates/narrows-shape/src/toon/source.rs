//! Parses JSON into a tree only if nothing would be lost.

use std::fmt;

use narrows_json::Place;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{Loss, NotEncodable};
use crate::error::NotJson;
use crate::json::string_end;
use crate::mask;

/// TOON decoders and the tree parser stop at 128 levels. One level of JSON is one level of TOON.
const MAX_LEVELS: usize = 127;

/// Returns the tree of a JSON text that TOON can represent unchanged.
pub(super) fn lossless(json: &str) -> Result<Value, NotEncodable> {
    mask::check(json)?;
    if let Some((what, offset)) = loss(json) {
        let Place { line, column, .. } = Place::of(json.as_bytes(), offset);
        return Err(NotEncodable::Lossy { what, line, column });
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    Tree { unique: true }
        .deserialize(&mut reader)
        .map_err(|error| {
            let NotJson { line, column, .. } = NotJson::new(&error, json);
            let what = match error.is_data() {
                true => Loss::DuplicateKey,
                // The parser that does not decode strings accepted it as JSON.
                false => Loss::Surrogate,
            };
            NotEncodable::Lossy { what, line, column }
        })
}

/// A value without numbers that JSON cannot represent.
pub(super) struct Finite(pub(super) Value);

impl<'de> de::Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tree { unique: false }.deserialize(deserializer).map(Finite)
    }
}

/// Returns the first nesting or number in valid JSON that would be lost, and its position.
fn loss(json: &str) -> Option<(Loss, usize)> {
    let bytes = json.as_bytes();
    let (mut at, mut levels) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, start),
            b'[' | b'{' => {
                levels += 1;
                if levels > MAX_LEVELS {
                    return Some((Loss::Depth, start));
                }
            }
            b']' | b'}' => levels = levels.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += bytes[at..].iter().take_while(is_part).count();
                let number = &json[start..at];
                if !is_kept(number) {
                    return Some((Loss::Number(number.to_owned()), start));
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns `true` if converting the number to a 64-bit integer or a double preserves it.
fn is_kept(number: &str) -> bool {
    if number.len() <= 15 && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    match number.parse::<f64>() {
        Ok(double) if double.is_finite() => {
            DecimalDigits::of(number) == DecimalDigits::of(&format!("{double:e}"))
        }
        _ => false,
    }
}

/// A number by its digits, without leading and trailing zeros, and the power of ten of the last
/// digit.
#[derive(PartialEq)]
struct DecimalDigits {
    digits: String,
    exponent: i64,
}

impl DecimalDigits {
    /// Parses a number without its sign, which reading a double never changes.
    fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
        let shown = digits.trim_end_matches('0');
        let dropped = i64::try_from(digits.len() - shown.len()).ok()?;
        let shown = shown.trim_start_matches('0');
        let places = i64::try_from(fraction.len()).ok()?;
        Some(Self {
            exponent: match shown {
                "" => 0,
                _ => exponent.checked_add(dropped)?.checked_sub(places)?,
            },
            digits: shown.to_owned(),
        })
    }
}

/// Builds a tree. With `unique`, duplicate keys are an error.
#[derive(Clone, Copy)]
struct Tree {
    unique: bool,
}

impl<'de> DeserializeSeed<'de> for Tree {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        self.deserialize(inner)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        // TOON 4 writes and reads zero without a sign.
        let value = if value == 0.0 { 0.0 } else { value };
        match serde_json::Number::from_f64(value) {
            Some(number) => Ok(number.into()),
            None => Err(E::custom("a number too large")),
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            array.push(element);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.insert(key, value).is_some() && self.unique {
                return Err(de::Error::custom("a duplicate key"));
            }
        }
        Ok(object.into())
    }
}
