//! The arguments of the gateway's own tools.

use bytes::Bytes;
use narrows_wire::{Kind, Raw};

/// The arguments of one call, by name. `null` counts as missing, because some clients send `null`
/// for every optional argument.
pub(super) struct ToolArguments<const N: usize> {
    tool: &'static str,
    names: [&'static str; N],
    values: [Option<Raw>; N],
}

impl<const N: usize> ToolArguments<N> {
    /// Reads the arguments of a call. Refuses unknown names, because a misspelt argument that is
    /// ignored would change the meaning of the call.
    pub(super) fn read(
        tool: &'static str,
        names: [&'static str; N],
        arguments: Option<&Raw>,
    ) -> Result<Self, String> {
        let given = arguments.filter(|given| given.kind() != Kind::Null);
        let mut values = [const { None }; N];
        let Some(given) = given else {
            return Ok(ToolArguments {
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
                    true => "; put the tool's own arguments into 'arguments'",
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
        Ok(ToolArguments {
            tool,
            names,
            values,
        })
    }

    /// Returns the value of an argument.
    pub(super) fn value(&self, name: &str) -> Option<&Raw> {
        let slot = self.names.iter().position(|known| *known == name)?;
        self.values[slot].as_ref()
    }

    /// Returns a required text.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        let text = self.value(name).and_then(Raw::as_text);
        text.map(Into::into)
            .ok_or_else(|| format!("{} needs '{name}' as a string", self.tool))
    }

    /// Returns an optional text. An empty text counts as missing, because models send one for that.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.value(name).map(|_| self.text(name)) {
            None => Ok(None),
            Some(text) => text.map(|text| Some(text).filter(|text| !text.is_empty())),
        }
    }

    /// Returns an object, or `{}` if the argument is missing. Also accepts a string that contains
    /// an object, because models send that too.
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

/// Limits the length of a name from a client, for use in messages.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
