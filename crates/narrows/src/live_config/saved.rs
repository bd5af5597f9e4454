//! Saves a change to the file when some earlier changes to the same item are unsaved.

use narrows_serve::admin::{Change, Rejected};

use super::message::rejected;
use super::overlay::Overlay;
use crate::config::{EditError, edit};

/// Returns true if enabling or disabling a server has written its whole entry, which the file did
/// not have.
pub(super) fn is_new_entry(before: &str, after: &str, change: &Change) -> bool {
    let is_switch = matches!(change, Change::EnableServer { .. });
    is_switch && before != after && matches!(edit(before, change), Err(EditError::Unknown { .. }))
}

/// Returns the text of the file with a change made, and the remaining unsaved changes. Saving
/// settles all unsaved changes to the same item.
pub(super) fn saved(
    text: &str,
    overlay: &Overlay,
    change: &Change,
) -> Result<(String, Overlay), Rejected> {
    let exists = |id: &String| Rejected::Exists {
        kind: "server",
        name: id.clone(),
    };
    match (edit(text, change), change) {
        (Ok(_), Change::AddServer { id, .. }) if overlay.added(id).is_some() => Err(exists(id)),
        (Ok(text), _) => Ok((text, overlay.without(change))),
        // The server was removed without saving, so to the user it is new.
        (Err(EditError::Exists { .. }), Change::AddServer { id, entry })
            if overlay.removed_server(id) =>
        {
            let (id, entry) = (id.clone(), entry.clone());
            let replace = Change::ReplaceServer { id, entry };
            let text = edit(text, &replace).map_err(rejected)?;
            Ok((text, overlay.without(change)))
        }
        // The server was added without saving, and is saved with its new entry.
        (Err(EditError::Unknown { .. }), Change::ReplaceServer { id, entry })
            if overlay.added(id).is_some() =>
        {
            let (id, entry) = (id.clone(), entry.clone());
            let text = edit(text, &Change::AddServer { id, entry }).map_err(rejected)?;
            Ok((text, overlay.without(change)))
        }
        (Err(EditError::Unknown { .. }), Change::RemoveServer { id })
            if overlay.added(id).is_some() =>
        {
            Ok((text.to_owned(), overlay.without(change)))
        }
        (Err(error @ EditError::Unknown { .. }), Change::EnableServer { id, .. }) => {
            let added = overlay.added(id).ok_or_else(|| rejected(error))?;
            let text = edit(text, added).and_then(|text| edit(&text, change));
            Ok((text.map_err(rejected)?, overlay.without_server(id)))
        }
        (Err(error), _) => Err(rejected(error)),
    }
}
