//! Reads and checks the arguments of a tool, with error messages that tell a model what to write
//! instead.

use std::ops::RangeInclusive;

use narrows_wire::{Kind, Raw};

/// The arguments of one call. Errors are texts for the model: they go into a result with `isError`
/// (MCP 2025-11-25, tools, error handling).
pub(crate) struct Arguments<'a> {
    tool: &'a str,
    raw: Raw,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call. Refuses unknown names, because a misspelt argument that is
    /// ignored would change the meaning of the call.
    pub(crate) fn read(tool: &'a str, raw: Option<Raw>, known: &[&str]) -> Result<Self, String> {
        let raw = raw.unwrap_or_else(Raw::empty_object);
        if raw.kind() != Kind::Object {
            return Err(format!("The arguments of '{tool}' must be an object"));
        }
        let mut seen = Vec::new();
        for (name, _) in raw.members() {
            if !known.contains(&&*name) {
                let takes = if known.is_empty() {
                    "no arguments".into()
                } else {
                    known.join(", ")
                };
                return Err(format!("Unknown argument '{name}': '{tool}' takes {takes}"));
            }
            if seen.contains(&name) {
                return Err(format!("Argument '{name}' is given twice"));
            }
            seen.push(name);
        }
        drop(seen);
        Ok(Arguments { tool, raw })
    }

    /// Returns a required string.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        let text: String =
            self.required(name, "a string", |value| value.as_text().map(Into::into))?;
        // A lone surrogate cannot be represented in a Rust string; decoding replaces it with
        // U+FFFD.
        let is_whole = |name| self.raw.member(name)?.decode::<String>().ok();
        if text.contains(char::REPLACEMENT_CHARACTER) && is_whole(name).is_none() {
            return Err(format!(
                "Argument '{name}' contains half of a surrogate pair"
            ));
        }
        Ok(text)
    }

    /// Returns a required boolean.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        self.required(name, "true or false", Raw::as_bool)
    }

    /// Returns a required number from 0 to 1.
    pub(crate) fn share(&self, name: &str) -> Result<f64, String> {
        self.required(name, "a number from 0 to 1", |value| {
            let number: f64 = value.decode().ok()?;
            (0.0..=1.0).contains(&number).then_some(number)
        })
    }

    /// Returns a required whole number of at least `least`. Larger numbers than `i64::MAX` are
    /// treated as `i64::MAX`.
    pub(crate) fn at_least(&self, name: &str, least: u64) -> Result<u64, String> {
        let wanted = format!("a whole number of at least {least}");
        self.required(name, &wanted, |value| {
            let number = u64::try_from(signed_whole(value)?).ok()?;
            (number >= least).then_some(number)
        })
    }

    /// Returns a required whole number, limited to the range of `i64`.
    pub(crate) fn whole(&self, name: &str) -> Result<i64, String> {
        self.required(name, "a whole number", signed_whole)
    }

    /// Returns a required object that has no members other than the known ones.
    pub(crate) fn object(&self, name: &str, known: &[&str]) -> Result<Arguments<'a>, String> {
        let value = self.required(name, "an object", |value| {
            (value.kind() == Kind::Object).then(|| value.clone())
        })?;
        Arguments::read(self.tool, Some(value), known)
    }

    /// Returns a required array of objects that have no members other than the known ones.
    pub(crate) fn objects(&self, name: &str, known: &[&str]) -> Result<Vec<Arguments<'a>>, String> {
        let values = self.required(name, "an array of objects", |value| {
            let values: Vec<Raw> =
                (value.kind() == Kind::Array).then(|| value.elements().collect())?;
            let objects = values.iter().all(|value| value.kind() == Kind::Object);
            objects.then_some(values)
        })?;
        let read = |value| Arguments::read(self.tool, Some(value), known);
        values.into_iter().map(read).collect()
    }

    /// Returns a whole number within bounds, or the default if the argument is missing.
    pub(crate) fn number(
        &self,
        name: &str,
        bounds: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, String> {
        let Some(value) = self.raw.member(name) else {
            return Ok(default);
        };
        let number = signed_whole(&value).and_then(|number| u64::try_from(number).ok());
        number
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| {
                let (least, most) = (bounds.start(), bounds.end());
                wrong(
                    name,
                    &format!("a whole number from {least} to {most}"),
                    &value,
                )
            })
    }

    fn required<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&Raw) -> Option<T>,
    ) -> Result<T, String> {
        let value = self.raw.member(name);
        let value = value.ok_or_else(|| format!("Missing argument '{name}' of '{}'", self.tool))?;
        read(&value).ok_or_else(|| wrong(name, wanted, &value))
    }
}

fn wrong(name: &str, wanted: &str, value: &Raw) -> String {
    format!("Argument '{name}' must be {wanted}, not {}", shown(value))
}

/// Returns a whole number, limited to the range of `i64`. Accepts `5.0` and `5e0`, which are whole
/// numbers in JSON Schema too.
fn signed_whole(value: &Raw) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number: f64 = value.decode().ok()?;
        // `as` saturates.
        (number.fract() == 0.0).then_some(number as i64)
    })
}

fn shown(value: &Raw) -> String {
    let text = value.as_str();
    if text.chars().count() > 40 {
        return text.chars().take(37).chain("...".chars()).collect();
    }
    text.to_owned()
}
