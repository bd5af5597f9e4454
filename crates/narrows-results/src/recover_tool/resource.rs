//! Stored texts as resources: `narrows://receipt/{id}{?start,end}`.

use narrows_shape::prune::Lines;
use narrows_wire::Raw;

use crate::error::Error;
use crate::recovery_store::{Owner, RecoveryStore};

const SCHEME: &str = "narrows://receipt/";

/// The resource template, listed where results may be cut.
pub const TEMPLATE: &str = r#"{"uriTemplate":"narrows://receipt/{id}{?start,end}","name":"narrows-receipt","title":"Text that was cut","description":"The original of a text that was cut, by the prune_id of its marker; start and end are lines, counted from 1.","mimeType":"text/plain"}"#;

pub fn is_receipt(uri: &str) -> bool {
    uri.starts_with(SCHEME)
}

/// Reads the lines that a URI selects, as many as fit. The result contains the URI of the next
/// lines.
pub fn read(
    store: &dyn RecoveryStore,
    owner: &Owner,
    max_chars: usize,
    uri: &str,
) -> Result<Raw, Error> {
    let unknown = || Error::UnknownReceipt(uri.chars().take(200).collect());
    let (receipt, start, end) = parse(uri).ok_or_else(unknown)?;
    let text = store.fetch(owner, receipt).ok_or_else(unknown)?;
    let lines = Lines::new(&text);
    let (start, end) = (
        start.unwrap_or(1),
        end.unwrap_or(usize::MAX).min(lines.len()),
    );
    if start < 1 || (start > end && !lines.is_empty()) {
        return Err(Error::LineRange { lines: lines.len() });
    }
    let mut last = start - 1;
    let mut room = max_chars;
    let fitting = lines
        .iter()
        .skip(start - 1)
        .take(end + 1 - start.min(end + 1));
    for line in fitting {
        let size = line.chars().count() + 1;
        // The first line is returned whole, however long, because a URI cannot select a part of a
        // line.
        if size > room && last >= start {
            break;
        }
        room = room.saturating_sub(size);
        last += 1;
    }
    // The lines keep their line ends, so that joined pages equal the text.
    let shown = match last.checked_sub(start) {
        None => "",
        Some(_) => lines.whole_span(&(start - 1..last)),
    };
    let address = |start: usize, end: usize| format!("{SCHEME}{receipt}?start={start}&end={end}");
    let here = if last < start {
        uri.to_owned()
    } else {
        address(start, last)
    };
    let item = Raw::empty_object()
        .with_member("uri", &Raw::string(&here))
        .with_member("mimeType", &Raw::from_static(r#""text/plain""#))
        .with_member("text", &Raw::string(shown));
    let contents = format!("[{}]", item.as_str());
    let contents = Raw::parse(contents.into()).expect("an array of one value");
    let result = Raw::empty_object().with_member("contents", &contents);
    if last >= end {
        return Ok(result);
    }
    let next = Raw::string(&address(last + 1, end));
    let meta = Raw::empty_object().with_member("narrows/next", &next);
    Ok(result.with_member("_meta", &meta))
}

/// Returns the receipt, the first line and the last line.
fn parse(uri: &str) -> Option<(&str, Option<usize>, Option<usize>)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (receipt, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (mut start, mut end) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = Some(value.parse().ok()?);
        match name {
            "start" => start = value,
            "end" => end = value,
            _ => return None,
        }
    }
    Some((receipt, start, end))
}
