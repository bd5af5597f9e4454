use std::sync::Arc;

use narrows_policy::preset::Preset;
use narrows_wire::ItemKind;

use super::not_allowed;
use crate::error::Error;

#[test]
fn long_names_are_truncated_in_refusals() {
    let denial = Arc::new(Preset::nothing("p").denies_unknowable());
    let Error::NotAllowed { name, .. } = not_allowed(ItemKind::Tool, &"ä".repeat(1_000), &denial)
    else {
        panic!("it is a refusal");
    };
    assert_eq!(name, "ä".repeat(200));
}
