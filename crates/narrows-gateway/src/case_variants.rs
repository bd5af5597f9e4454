//! JSON keys that differ from known keys only in case.
//!
//! A server that ignores case reads `Name` as `name`, and may act on another
//! item than the one that was checked here. Such keys are refused where a
//! request names what it wants to use.

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
            let told: String = member.chars().take(50).collect();
            return Err(Error::BadParams(format!(
                "'{told}' may be taken for another member; write it in lower case or leave it out"
            )));
        }
    }
    Ok(())
}

/// Refuses such keys in the params of a request, where they name an item.
pub(crate) fn refuse_in_params(params: &Raw, names: &[&str]) -> Result<(), Error> {
    refuse(params, names)?;
    match params.member("ref") {
        Some(reference) => refuse(&reference, &["type", "name", "uri"]),
        None => Ok(()),
    }
}

/// In lower case, the long s and the sign for Kelvin included, which some fold
/// into letters as well.
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
    fn case_variants_are_refused_and_nothing_else_is() {
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
