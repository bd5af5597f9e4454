//! A tool's arguments, checked one by one, with errors that tell a model what
//! to write instead.

use std::ops::RangeInclusive;

use narrows_wire::{Kind, Raw};

/// The arguments of one call. What is wrong with them is a text for the model:
/// it goes into a result with `isError` (MCP 2025-11-25, tools, error handling).
pub(super) struct Arguments<'a> {
    tool: &'a str,
    raw: Raw,
}

impl<'a> Arguments<'a> {
    /// Refuses names that the tool does not know: a misspelt one that is
    /// silently ignored gives an answer to another question.
    pub(super) fn read(tool: &'a str, raw: Option<Raw>, known: &[&str]) -> Result<Self, String> {
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
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        let value = self.raw.member(name);
        let value = value.ok_or_else(|| format!("Missing argument '{name}' of '{}'", self.tool))?;
        let text = value.as_text().map(Into::into);
        text.ok_or_else(|| format!("Argument '{name}' must be a string, not {}", shown(&value)))
    }

    /// A whole number within bounds, or the default.
    pub(super) fn number(
        &self,
        name: &str,
        bounds: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, String> {
        let Some(value) = self.raw.member(name) else {
            return Ok(default);
        };
        whole(&value)
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| {
                let (least, most) = (bounds.start(), bounds.end());
                format!(
                    "Argument '{name}' must be a whole number from {least} to {most}, not {}",
                    shown(&value)
                )
            })
    }
}

/// `5.0` and `5e0` are whole numbers to JSON Schema too.
fn whole(value: &Raw) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number: f64 = value.decode().ok()?;
        // Beyond 2^53 not every whole number has a form.
        (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
    })
}

fn shown(value: &Raw) -> String {
    let text = value.as_str();
    if text.chars().count() > 40 {
        return text.chars().take(37).chain("...".chars()).collect();
    }
    text.to_owned()
}
