//! A tool's arguments, checked one by one, with errors that tell a model what
//! to write instead.

use std::ops::RangeInclusive;

use narrows_wire::{Kind, Raw};

/// The arguments of one call. What is wrong with them is a text for the model:
/// it goes into a result with `isError` (MCP 2025-11-25, tools, error handling).
pub(crate) struct Arguments<'a> {
    tool: &'a str,
    raw: Raw,
}

impl<'a> Arguments<'a> {
    /// Refuses names that the tool does not know: a misspelt one that is
    /// silently ignored gives an answer to another question.
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

    /// A string that must be there.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        let text: String =
            self.required(name, "a string", |value| value.as_text().map(Into::into))?;
        // Half a character has no place in a text: it would come back as another.
        let is_whole = |name| self.raw.member(name)?.decode::<String>().ok();
        if text.contains(char::REPLACEMENT_CHARACTER) && is_whole(name).is_none() {
            return Err(format!("Argument '{name}' holds half of a surrogate pair"));
        }
        Ok(text)
    }

    /// `true` or `false`, which must be there.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        self.required(name, "true or false", Raw::as_bool)
    }

    /// A number from 0 to 1 that must be there.
    pub(crate) fn share(&self, name: &str) -> Result<f64, String> {
        self.required(name, "a number from 0 to 1", |value| {
            let number: f64 = value.decode().ok()?;
            (0.0..=1.0).contains(&number).then_some(number)
        })
    }

    /// A whole number that must be there, of at least `least`. What is larger
    /// than a number can be here counts as the largest.
    pub(crate) fn at_least(&self, name: &str, least: u64) -> Result<u64, String> {
        let wanted = format!("a whole number of at least {least}");
        self.required(name, &wanted, |value| {
            let number = u64::try_from(signed_whole(value)?).ok()?;
            (number >= least).then_some(number)
        })
    }

    /// Any whole number, which must be there; very large ones count as the
    /// largest that can be.
    pub(crate) fn whole(&self, name: &str) -> Result<i64, String> {
        self.required(name, "a whole number", signed_whole)
    }

    /// An object that must be there, with no other members than the known ones.
    pub(crate) fn object(&self, name: &str, known: &[&str]) -> Result<Arguments<'a>, String> {
        let value = self.required(name, "an object", |value| {
            (value.kind() == Kind::Object).then(|| value.clone())
        })?;
        Arguments::read(self.tool, Some(value), known)
    }

    /// An array of objects that must be there.
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

    /// A whole number within bounds, or the default.
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

/// `5.0` and `5e0` are whole numbers to JSON Schema too. Those that do not fit
/// count as the largest or smallest that do.
fn signed_whole(value: &Raw) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number: f64 = value.decode().ok()?;
        // The conversion saturates.
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
