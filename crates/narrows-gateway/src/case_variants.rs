//! JSON keys that differ from known keys only in case.
//!
//! A server that ignores case reads `Name` as `name` and may act on a different item than the
//! gateway checked. The gateway refuses such keys in the params that name an item.

use narrows_wire::{Kind, Raw};

use crate::error::Error;

/// Refuses keys that differ from one of `names` only in case.
pub(crate) fn refuse(object: &Raw, names: &[&str]) -> Result<(), Error> {
    if object.kind() != Kind::Object {
        return Ok(());
    }
    for (member, _) in object.members() {
        let is_variant = |name: &&str| *name != member && folded(&member).eq(name.chars());
        if names.iter().any(is_variant) {
            let shown_member: String = member.chars().take(50).collect();
            return Err(Error::BadParams(format!(
                "'{shown_member}' differs from a known member only in case. Use lower case or leave it out"
            )));
        }
    }
    Ok(())
}

/// Refuses such keys in the params of a request and in their `ref`.
pub(crate) fn refuse_in_params(params: &Raw, names: &[&str]) -> Result<(), Error> {
    refuse(params, names)?;
    match params.member("ref") {
        Some(reference) => refuse(&reference, &["type", "name", "uri"]),
        None => Ok(()),
    }
}

/// Returns the text in lower case. Also maps the long s and the Kelvin sign, which some
/// case-insensitive comparisons treat as letters.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(|letter| {
        let letter = match letter {
            'ſ' => 's',
            'K' => 'k',
            letter => letter,
        };
        letter.to_lowercase()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_case_variants_are_rejected() {
        for (object, refused) in [
            (r#"{"name":1,"arguments":{"Name":2}}"#, false),
            (r#"{"names":1,"nam":1,"_meta":{}}"#, false),
            (r#"{"name":1,"Name":2}"#, true),
            (r#"{"NAME":2}"#, true),
            (r#"{"\u004eame":2}"#, true),
            (r#"{"argumentſ":2}"#, true),
            ("[1]", false),
        ] {
            let raw = Raw::parse(object.to_owned().into()).expect("a test's JSON");
            let found = refuse(&raw, &["name", "arguments"]).is_err();
            assert_eq!(found, refused, "{object}");
        }
    }
}
