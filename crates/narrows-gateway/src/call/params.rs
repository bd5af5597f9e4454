//! The params of a request, and the members that the call path reads.

use std::sync::OnceLock;

use narrows_wire::{Kind, Raw};

use super::MAX_NAME;
use crate::error::Error;

/// Params whose members are found in a single pass, on the first access. Looking up each member
/// separately would scan the arguments each time.
pub(crate) struct Params {
    raw: Option<Raw>,
    /// `None` inside if a member occurs twice. Only the members that a call needs must be unique,
    /// so in this case each is looked up separately.
    members: OnceLock<Option<Members>>,
}

/// A member that the call path reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member {
    Name,
    Uri,
    Arguments,
    Meta,
    Task,
}

type Members = [Option<Raw>; Member::NAMES.len()];

impl Member {
    const NAMES: [&'static str; 5] = ["name", "uri", "arguments", "_meta", "task"];

    pub(crate) fn name(self) -> &'static str {
        Member::NAMES[self as usize]
    }
}

impl Params {
    pub(crate) fn new(raw: Option<Raw>) -> Params {
        let members = OnceLock::new();
        Params { raw, members }
    }

    pub(crate) fn raw(&self) -> Option<&Raw> {
        self.raw.as_ref()
    }

    pub(crate) fn take(&mut self) -> Option<Raw> {
        self.members.take();
        self.raw.take()
    }

    /// Returns a member, or an error if it occurs twice.
    pub(crate) fn member(&self, member: Member) -> Result<Option<Raw>, Error> {
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let members = self.members.get_or_init(|| raw.pick(Member::NAMES).ok());
        match members {
            Some(members) => Ok(members[member as usize].clone()),
            None => self.find(member.name()),
        }
    }

    /// Returns a member that few methods have, or an error if it occurs twice.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Raw>, Error> {
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let [value] = picked(raw, [name])?;
        Ok(value)
    }
}

/// Checks that a member of a method's params is a string of acceptable length.
pub(crate) fn text(name: &str, value: Option<Raw>, method: &str) -> Result<Raw, Error> {
    let wrong = match value {
        None => format!("{method} needs '{name}' in its params"),
        Some(value) if value.kind() != Kind::String => {
            format!("{method} needs '{name}' as a string")
        }
        Some(value) if value.len() > MAX_NAME => {
            format!("'{name}' is longer than {MAX_NAME} bytes")
        }
        Some(value) => return Ok(value),
    };
    Err(Error::BadParams(wrong))
}

/// Returns the progress token in the `_meta` of a request. Refuses a token that occurs twice: only
/// one occurrence is replaced, and the other could equal the token of another client on the same
/// link.
pub(super) fn progress_token(meta: &Raw) -> Result<Option<Raw>, Error> {
    let [token] = picked(meta, ["progressToken"])?;
    Ok(token.filter(|token| matches!(token.kind(), Kind::String | Kind::Number)))
}

/// Returns members that must not occur twice.
pub(crate) fn picked<const N: usize>(
    raw: &Raw,
    names: [&str; N],
) -> Result<[Option<Raw>; N], Error> {
    raw.pick(names)
        .map_err(|error| Error::BadParams(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &'static str) -> Params {
        Params::new(Some(Raw::from_static(text)))
    }

    fn found(params: &Params, member: Member) -> Option<String> {
        let found = params.member(member).expect("once at most");
        found.map(|value| value.as_str().to_owned())
    }

    #[test]
    fn members_are_found_in_any_order() {
        let params = params(r#"{"task":5,"_meta":4,"arguments":{"name":0},"uri":2,"name":1}"#);
        for (member, value) in [
            (Member::Name, "1"),
            (Member::Uri, "2"),
            (Member::Arguments, r#"{"name":0}"#),
            (Member::Meta, "4"),
            (Member::Task, "5"),
        ] {
            assert_eq!(found(&params, member).as_deref(), Some(value));
        }
        assert_eq!(found(&self::params("{}"), Member::Name), None);
    }

    #[test]
    fn duplicate_members_are_rejected_individually() {
        let params = params(r#"{"uri":"a","name":"b","uri":"c"}"#);
        assert_eq!(found(&params, Member::Name).as_deref(), Some("\"b\""));
        assert!(params.member(Member::Uri).is_err());
    }

    #[test]
    fn replacing_params_clears_cached_members() {
        let mut params = params(r#"{"name":"a"}"#);
        assert_eq!(found(&params, Member::Name).as_deref(), Some("\"a\""));
        assert!(params.take().is_some());
        assert_eq!(found(&params, Member::Name), None);
    }
}
