//! Members that some readers take for others.
//!
//! Not everybody minds the case of names: who reads `Name` as `name` may act on
//! another thing than the one that was judged here. Where it matters what a
//! request names, such a member beside, or in place of, the right one is
//! refused.

use narrows_wire::{Kind, Raw};

use crate::error::Error;

/// Refuses members that are one of `names` but for their case.
pub(crate) fn refuse(object: &Raw, names: &[&str]) -> Result<(), Error> {
    if object.kind() != Kind::Object {
        return Ok(());
    }
    for (member, _) in object.members() {
        let is_twin = |name: &&str| *name != member && folded(&member).eq(name.chars());
        if names.iter().any(is_twin) {
            let told: String = member.chars().take(50).collect();
            return Err(Error::BadParams(format!(
                "'{told}' may be taken for another member; write it in lower case or leave it out"
            )));
        }
    }
    Ok(())
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
    fn twins_are_refused_and_nothing_else_is() {
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
