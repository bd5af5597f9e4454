//! A call to `recover_text`: the receipt, the query, and the position in the answer.

use narrows_wire::{Raw, token};
use serde_json::Value;

use super::argument_error::ArgumentError;
use super::arguments::{RecoverQuery, canonical};
use super::convert::{self, Arguments};

/// The maximum length of arguments in a cursor. It is short because a model has to copy the cursor.
const MAX_CURSOR_ARGUMENTS: usize = 400;

/// A call with an unvalidated query, because the receipt is looked up first.
pub(super) struct RecoverCall {
    pub(super) receipt: String,
    /// The byte offset in the answer at which the page starts.
    pub(super) offset: usize,
    given: Arguments,
}

impl RecoverCall {
    pub(super) fn read(arguments: Option<&Raw>) -> Result<RecoverCall, ArgumentError> {
        let mut given = canonical(arguments)?;
        let receipt = convert::text(&given, "prune_id")?;
        let receipt = receipt.ok_or_else(|| {
            "Missing argument 'prune_id': take it from the ⟦narrows…⟧ marker".to_owned()
        })?;
        let receipt = receipt.trim().trim_start_matches("prune_id=").to_owned();
        given.remove("prune_id");
        let cursor = convert::text(&given, "cursor")?;
        given.remove("cursor");
        let mut request = RecoverCall {
            receipt,
            offset: 0,
            given,
        };
        if let Some(cursor) = cursor {
            request.go_to(cursor.trim())?;
        }
        Ok(request)
    }

    /// Validates the query of the call.
    pub(super) fn check(&self) -> Result<RecoverQuery, ArgumentError> {
        RecoverQuery::check(self.given.clone())
    }

    /// Returns the path of the rows, if it can be parsed.
    pub(super) fn rows(&self) -> Option<String> {
        convert::rows(&self.given).ok().flatten()
    }

    fn go_to(&mut self, cursor: &str) -> Result<(), ArgumentError> {
        if let Some((offset, sum)) = short(cursor) {
            if sum != checksum(&self.given) {
                return Err(
                    "The cursor belongs to another call: repeat all arguments of the first \
                    page, and add the cursor"
                        .to_owned()
                        .into(),
                );
            }
            self.offset = offset;
            return Ok(());
        }
        let unknown =
            || "Invalid cursor: copy the cursor of the previous page unchanged".to_owned();
        let (offset, of) = token::parse_part_cursor(cursor).map_err(|_| unknown())?;
        let mut carried = canonical(Some(&of)).map_err(|_| unknown())?;
        let receipt = carried.remove("prune_id");
        if receipt.as_ref().and_then(Value::as_str) != Some(&self.receipt) {
            return Err("The cursor belongs to another prune_id".to_owned().into());
        }
        // The page size may differ from that of the first page.
        if let Some(max_chars) = self.given.remove("max_chars") {
            carried.insert("max_chars".to_owned(), max_chars);
        }
        self.given = carried;
        self.offset = offset;
        Ok(())
    }
}

/// Returns the cursor of the page that starts at `offset`. It carries the arguments unless they are
/// too long, in which case the caller has to repeat them.
pub(super) fn cursor(offset: usize, receipt: &str, arguments: &Arguments) -> String {
    let of = Raw::from_serialize(arguments);
    match of.len() <= MAX_CURSOR_ARGUMENTS {
        true => token::part_cursor(offset, &of.with_member("prune_id", &Raw::string(receipt))),
        false => format!("p{offset}-{:08x}", checksum(arguments)),
    }
}

fn short(cursor: &str) -> Option<(usize, u32)> {
    let (offset, sum) = cursor.strip_prefix('p')?.split_once('-')?;
    Some((offset.parse().ok()?, u32::from_str_radix(sum, 16).ok()?))
}

/// Returns a checksum of all arguments that affect the answer, except the page size.
fn checksum(arguments: &Arguments) -> u32 {
    let mut named: Vec<(&String, &Value)> = arguments.iter().collect();
    named.retain(|(name, _)| *name != "max_chars");
    named.sort_by_key(|(name, _)| *name);
    crc32fast::hash(Raw::from_serialize(&named).as_bytes())
}
