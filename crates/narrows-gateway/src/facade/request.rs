//! What a client asked one of the gateway's own tools, read from its arguments.

use bytes::Bytes;
use narrows_wire::{Kind, Raw};

/// The arguments of one call, by name. What is given as `null` is not given:
/// some clients write down every argument there is.
pub(super) struct Asked<const N: usize> {
    tool: &'static str,
    names: [&'static str; N],
    values: [Option<Raw>; N],
}

impl<const N: usize> Asked<N> {
    /// Refuses names that the tool does not know: a misspelt one that is
    /// silently ignored gives an answer to another question.
    pub(super) fn read(
        tool: &'static str,
        names: [&'static str; N],
        arguments: Option<&Raw>,
    ) -> Result<Self, String> {
        let given = arguments.filter(|given| given.kind() != Kind::Null);
        let mut values = [const { None }; N];
        let Some(given) = given else {
            return Ok(Asked {
                tool,
                names,
                values,
            });
        };
        if given.kind() != Kind::Object {
            return Err(format!("The arguments of '{tool}' must be an object"));
        }
        let mut seen = [false; N];
        for (name, value) in given.members() {
            let Some(slot) = names.iter().position(|known| *known == name) else {
                let (name, takes) = (shortened(&name), names.join(", "));
                let inside = match names.contains(&"arguments") {
                    true => "; what the tool itself takes goes into 'arguments'",
                    false => "",
                };
                return Err(format!(
                    "Unknown argument '{name}': '{tool}' takes {takes}{inside}"
                ));
            };
            if std::mem::replace(&mut seen[slot], true) {
                return Err(format!("Argument '{name}' is given twice"));
            }
            values[slot] = Some(value).filter(|value| value.kind() != Kind::Null);
        }
        Ok(Asked {
            tool,
            names,
            values,
        })
    }

    /// The value of one of the names.
    pub(super) fn value(&self, name: &str) -> Option<&Raw> {
        let slot = self.names.iter().position(|known| *known == name)?;
        self.values[slot].as_ref()
    }

    /// A text that must be there.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        let text = self.value(name).and_then(Raw::as_text);
        text.map(Into::into)
            .ok_or_else(|| format!("{} needs '{name}' as text", self.tool))
    }

    /// A text that may be left out, which models also do by giving an empty one.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.value(name).map(|_| self.text(name)) {
            None => Ok(None),
            Some(text) => text.map(|text| Some(text).filter(|text| !text.is_empty())),
        }
    }

    /// An object, `{}` where it is left out. Models also give one as a text
    /// that holds it.
    pub(super) fn object(&self, name: &str) -> Result<Raw, String> {
        let Some(given) = self.value(name) else {
            return Ok(Raw::empty_object());
        };
        let held = |text: &str| Raw::parse(Bytes::copy_from_slice(text.as_bytes())).ok();
        let value = match given.as_text() {
            Some(text) => held(&text),
            None => Some(given.clone()),
        };
        value
            .filter(|value| value.kind() == Kind::Object)
            .ok_or_else(|| format!("{} needs '{name}' as an object", self.tool))
    }
}

/// A name that may be anything, as it is told back.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
