//! The params of a request on its way, and the members of them that the call
//! path reads.

use std::sync::OnceLock;

use narrows_wire::{Kind, Raw};

use super::MAX_NAME;
use crate::error::Error;

/// Params whose members are found in one pass, when the first of them is asked
/// for. Every member would be another pass over the arguments otherwise.
pub(crate) struct Params {
    raw: Option<Raw>,
    /// `None` inside if a member occurs twice. Only the members that a call
    /// needs must be unique, so each is looked for by itself then.
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

    /// Returns a member; an error if it occurs twice.
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

    /// Returns a member that few methods have; an error if it occurs twice.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Raw>, Error> {
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let [value] = picked(raw, [name])?;
        Ok(value)
    }
}

/// Checks that a member of a method's params is a text of usual length.
pub(crate) fn text(name: &str, value: Option<Raw>, method: &str) -> Result<Raw, Error> {
    let wrong = match value {
        None => format!("{method} needs '{name}' in its params"),
        Some(value) if value.kind() != Kind::String => {
            format!("{method} needs '{name}' as text")
        }
        Some(value) if value.len() > MAX_NAME => {
            format!("'{name}' is longer than {MAX_NAME} bytes")
        }
        Some(value) => return Ok(value),
    };
    Err(Error::BadParams(wrong))
}

/// Returns the progress token in the `_meta` of a request. A token that occurs
/// twice is refused: the one that is not replaced might be another client's on
/// the same link.
pub(super) fn progress_token(meta: &Raw) -> Result<Option<Raw>, Error> {
    let [token] = picked(meta, ["progressToken"])?;
    Ok(token.filter(|token| matches!(token.kind(), Kind::String | Kind::Number)))
}

/// Picks members that must not occur twice.
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
    fn only_the_member_that_occurs_twice_is_refused() {
        let params = params(r#"{"uri":"a","name":"b","uri":"c"}"#);
        assert_eq!(found(&params, Member::Name).as_deref(), Some("\"b\""));
        assert!(params.member(Member::Uri).is_err());
    }

    #[test]
    fn new_params_have_new_members() {
        let mut params = params(r#"{"name":"a"}"#);
        assert_eq!(found(&params, Member::Name).as_deref(), Some("\"a\""));
        assert!(params.take().is_some());
        assert_eq!(found(&params, Member::Name), None);
    }
}
