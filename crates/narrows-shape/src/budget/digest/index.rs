//! Writes a compact index of the rare items that are not shown.

use std::fmt::Write;
use std::ops::Range;

use super::super::count;

/// The largest distance between two ranges that are merged into one.
const NEAR: usize = 2;
/// The widest range that merging may produce.
const WIDEST: usize = 6;

/// An item that is not shown.
pub(crate) struct Entry<'a> {
    /// Lines or rows, counted from 0.
    pub(crate) place: Range<usize>,
    pub(crate) label: &'a str,
}

/// Writes an index of at most `room` characters: with labels if all entries fit with them,
/// otherwise only the positions, of as many entries as fit. Returns `None` if there is no entry or
/// no room for one.
pub(crate) fn write(title: &str, entries: &[Entry<'_>], room: usize) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let labelled = labelled(title, entries);
    if count::chars(&labelled) <= room {
        return Some(labelled);
    }
    let (mut fits, mut exceeds) = (0, entries.len() + 1);
    let mut best = None;
    while exceeds - fits > 1 {
        let tried = fits.midpoint(exceeds);
        let written = places(title, &entries[..tried], entries.len() - tried);
        match count::chars(&written) <= room {
            true => (fits, best) = (tried, Some(written)),
            false => exceeds = tried,
        }
    }
    best
}

fn labelled(title: &str, entries: &[Entry<'_>]) -> String {
    let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
    sorted.sort_by_key(|entry| entry.place.start);
    let mut out = format!("⟦{title}: ");
    for (nth, entry) in sorted.into_iter().enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        if entry.label.is_empty() {
            range(&mut out, &entry.place);
            continue;
        }
        // A bare number before words would read like a count of them.
        if entry.place.len() <= 1 {
            let is_row = title.contains("rows");
            out.push_str(if is_row { "row " } else { "line " });
        }
        range(&mut out, &entry.place);
        write!(out, " ({})", entry.label).expect("writing to a String cannot fail");
    }
    out + "⟧"
}

fn places(title: &str, entries: &[Entry<'_>], more: usize) -> String {
    let mut sorted: Vec<Range<usize>> = entries.iter().map(|entry| entry.place.clone()).collect();
    sorted.sort_by_key(|place| place.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for place in sorted {
        match joined.last_mut() {
            Some(last) if place.start <= last.end + NEAR && place.end <= last.start + WIDEST => {
                last.end = last.end.max(place.end);
            }
            _ => joined.push(place),
        }
    }
    let mut out = format!("⟦{title}: ");
    for (nth, place) in joined.iter().enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        range(&mut out, place);
    }
    if more > 0 {
        write!(out, ", +{more} more").expect("writing to a String cannot fail");
    }
    out + "⟧"
}

fn range(out: &mut String, place: &Range<usize>) {
    let written = match place.len() {
        0 | 1 => write!(out, "{}", place.start + 1),
        _ => write!(out, "{}-{}", place.start + 1, place.end),
    };
    written.expect("writing to a String cannot fail");
}
