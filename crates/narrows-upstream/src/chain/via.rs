//! The gateways that a list item, a request or a notification has passed through.
//!
//! Gateways that use each other would list the same tool again and again, each time under a longer
//! name, and would forward unrouted messages in an endless loop. To prevent both, a gateway that
//! forwards something to another gateway records the marks of the gateways behind it in `_meta`, as
//! BGP does with the path of a route. A gateway that finds its own mark does not forward any
//! further. Clients that are not gateways never receive these marks.

use std::sync::Arc;

use narrows_wire::{Kind, Raw};

use super::MAX_CHAIN_LENGTH;
use crate::exchange::Notice;

/// The `_meta` member that holds the marks, separated by commas.
pub const VIA: &str = "narrows/via";

/// Suffix of the client name that gateways send in `initialize`.
pub const THROUGH_PROXY: &str = "-through-proxy";

/// Returns the marks in the `_meta` of a list item or of request params.
pub fn of(holder: &Raw) -> Option<Arc<str>> {
    let via = holder.member("_meta")?.member(VIA)?;
    via.as_text().map(|via| Arc::from(&*via))
}

/// Returns true if something with these marks must not be forwarded, because it has already passed
/// through this gateway or through too many gateways.
pub fn is_looped(via: &str, mark: &str) -> bool {
    let marks = || via.split(',').map(str::trim);
    marks().any(|item| item == mark) || marks().nth(MAX_CHAIN_LENGTH - 1).is_some()
}

/// Returns the number of gateways in the list of marks.
pub fn hops(via: Option<&str>) -> usize {
    via.map_or(0, |via| via.split(',').count())
}

/// Returns a copy of `holder` with these marks in its `_meta`.
pub fn with(holder: &Raw, via: &str) -> Raw {
    let meta = holder.member("_meta");
    let meta = meta.filter(|meta| meta.kind() == Kind::Object);
    let meta = meta.unwrap_or_else(Raw::empty_object);
    holder.with_member("_meta", &meta.with_member(VIA, &Raw::string(via)))
}

/// Returns a copy of `holder` without marks.
pub fn without(holder: &Raw) -> Raw {
    match holder.member("_meta") {
        Some(meta) => {
            let meta = meta.without_member(VIA);
            match meta.members().next() {
                Some(_) => holder.with_member("_meta", &meta),
                None => holder.without_member("_meta"),
            }
        }
        None => holder.clone(),
    }
}

/// Appends `mark` to the list of marks.
pub fn extended(via: Option<&str>, mark: &str) -> String {
    match via.filter(|via| !via.is_empty()) {
        Some(via) => format!("{via},{mark}"),
        None => mark.to_owned(),
    }
}

/// Returns true if a server's notification has already passed through this gateway.
pub fn is_looped_notice(notice: &Notice, mark: &str) -> bool {
    let via = notice.params.as_ref().and_then(of);
    via.is_some_and(|via| is_looped(&via, mark))
}

#[cfg(test)]
mod tests;
