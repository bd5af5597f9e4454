//! Recovery of removed text: the gateway's own tool `recover_text` and the resource
//! `narrows://receipt/{id}{?start,end}`.
//!
//! The tool answers queries on lines and rows ([`narrows_shape::query`]). `arguments` parses its
//! arguments, and `answer` formats its answers. Answers are never shaped; those over the budget are
//! split into pages. `find` applies the same queries to a text before it is cut.

mod answer;
mod argument_error;
mod arguments;
mod convert;
mod find;
mod ranges;
mod request;
mod resource;
#[cfg(test)]
mod tests;

use narrows_shape::query::{Refused, fields};
use narrows_wire::Raw;
use serde_json::{Value, json};

use self::answer::Page;
pub use self::answer::QUERY_TIME;
use self::argument_error::ArgumentError;
pub use self::find::Find;
use self::request::{RecoverCall, cursor};
pub use self::resource::{TEMPLATE, is_receipt, read};
use crate::recovery_store::{Owner, RecoveryStore};
use narrows_wire::tool_result;

/// The default name of the tool.
pub const NAME: &str = "recover_text";

/// The name of the tool if a server has a tool with the default name.
pub const OTHER_NAME: &str = "narrows_recover_text";

/// Iterates over possible names, without end. The first unused name is chosen.
pub fn names() -> impl Iterator<Item = String> {
    let others = (1..).map(|at| match at {
        1 => OTHER_NAME.to_owned(),
        at => format!("{OTHER_NAME}_{at}"),
    });
    std::iter::once(NAME.to_owned()).chain(others)
}

/// Returns the tool definition with this name.
pub fn tool(name: &str) -> Raw {
    Raw::from_static(TOOL).with_member("name", &Raw::string(name))
}

const TOOL: &str = r#"{"name":"recover_text","title":"Query cut text","description":"Reads or searches the full text of a cut result; prune_id: see its ⟦narrows…⟧ marker. Lines: query (all words and \"phrases\" match anywhere, ignoring case; /\\bx\\b/ for whole words; /regex/ within one line), ranges, head, tail. Rows (JSON array or JSON Lines, not CSV): where, select, sort, group_by, aggregate. Examples: {\"query\":\"FATAL timeout\",\"context\":2}; {\"tail\":1000,\"query\":\"/ERROR|WARN/\",\"count_only\":true}; {\"where\":\"status = 'open' and n > 9\",\"aggregate\":\"count, sum(n)\",\"group_by\":\"region\"}. Next page: add cursor.","inputSchema":{"type":"object","properties":{"prune_id":{"type":"string"},"query":{"type":"string"},"context":{"type":"integer"},"ranges":{"type":["string","array"],"items":{"type":"object"},"description":"\"5,9-12\" or [{start_line,end_line}]"},"head":{"type":"integer"},"tail":{"type":"integer"},"start_char":{"type":"integer"},"end_char":{"type":"integer"},"count_only":{"type":"boolean"},"limit":{"type":"integer","description":"Matches shown"},"where":{"type":"string"},"select":{"type":"string","description":"\"id,a.b\""},"sort":{"type":"string","description":"\"-total\""},"group_by":{"type":"string"},"aggregate":{"type":"string"},"rows":{"type":"string","description":"Array path"},"diff_with":{"type":"string","description":"Earlier prune_id (-)"},"include_line_numbers":{"type":"boolean"},"max_chars":{"type":"integer"},"cursor":{"type":"string"}},"required":["prune_id"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

/// Handles a call to the tool. Every failure is a result that explains the correction, because
/// models read results.
pub fn call(
    store: &dyn RecoveryStore,
    owner: &Owner,
    max_chars: usize,
    arguments: Option<Raw>,
) -> Raw {
    answer_call(store, owner, max_chars, arguments.as_ref()).unwrap_or_else(|failure| failure)
}

fn answer_call(
    store: &dyn RecoveryStore,
    owner: &Owner,
    max_chars: usize,
    arguments: Option<&Raw>,
) -> Result<Raw, Raw> {
    let request = RecoverCall::read(arguments).map_err(|wrong| invalid(wrong, None, &[]))?;
    let receipt = &request.receipt;
    let fetch = |receipt: &str| {
        let text = store.fetch(owner, receipt);
        let text = text.ok_or_else(|| not_found(store, owner, receipt))?;
        store.renew(owner, receipt);
        Ok::<_, Raw>(text)
    };
    let query = request.check();
    // Invalid arguments are reported even if the text no longer exists.
    let text = match &query {
        Err(wrong) if !wrong.is_condition => {
            return Err(invalid(wrong.clone(), Some(receipt), &[]));
        }
        _ => fetch(receipt)?,
    };
    let query = query.map_err(|wrong| {
        let known = fields(&text, request.rows().as_deref());
        invalid(wrong, Some(receipt), &known)
    })?;
    let other = query.diff_with.as_deref().map(|other| fetch(other.trim()));
    let other = other.transpose()?;
    let answer = answer::apply(&query.query, &text, other.as_deref()).map_err(refused)?;
    let max_chars = query.max_chars.unwrap_or(max_chars);
    let next = |offset| cursor(offset, receipt, &query.arguments);
    let page = Page::write(&answer, request.offset, max_chars, next);
    let page = page.ok_or_else(|| {
        let message = "Invalid cursor: copy the cursor of the previous page unchanged".to_owned();
        invalid(message.into(), None, &[])
    })?;
    Ok(answer::result(receipt, &answer, &page))
}

/// Returns the same error for unknown and expired receipts and for those of another owner.
fn not_found(store: &dyn RecoveryStore, owner: &Owner, receipt: &str) -> Raw {
    let source = store.source(owner, receipt);
    let tool = source.map_or_else(
        || "the tool that returned the text".to_owned(),
        |tool| format!("'{tool}', which returned the text,"),
    );
    let message =
        format!("No text is stored under this prune_id; it may have expired. Call {tool} again");
    let data = json!({ "prune_id": receipt.chars().take(100).collect::<String>() });
    failure("prune_id_not_found", message, data)
}

/// Returns the error for invalid arguments, with the corrected call and the field names of the rows
/// if known.
fn invalid(wrong: ArgumentError, receipt: Option<&str>, fields: &[String]) -> Raw {
    let mut data = json!({});
    if let Some(mut corrected) = wrong.corrected {
        if let (Some(corrected), Some(receipt)) = (corrected.as_object_mut(), receipt) {
            corrected.insert("prune_id".to_owned(), receipt.into());
        }
        data["corrected_arguments"] = corrected;
    }
    if !fields.is_empty() {
        data["fields"] = json!(fields);
    }
    failure("invalid_params", wrong.message, data)
}

fn refused(refused: Refused) -> Raw {
    let data = match refused {
        Refused::Lines { max_line } => json!({ "max_line": max_line }),
        Refused::RowRange { max_row } => json!({ "max_row": max_row }),
        Refused::Chars { max_char } => json!({ "max_char": max_char }),
        _ => json!({}),
    };
    failure(refused.code(), refused.to_string(), data)
}

fn failure(code: &str, message: String, data: Value) -> Raw {
    let mut said = json!({ "code": code, "message": message });
    if let (Some(said), Some(data)) = (said.as_object_mut(), data.as_object()) {
        said.extend(data.clone());
    }
    tool_result::error(&said.to_string())
}
