//! Writes the remaining text and lists the removed blocks.

use super::{Lines, Selection, Span, Style};

/// The reason in markers. It is part of the contract: short, in French, without newlines and `⟧`.
const REASON: &str = "hors focus";

/// The remaining text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    pub annotations: Vec<Annotation>,
}

impl Rendered {
    /// Returns a text that is passed on unchanged.
    pub fn unchanged(text: &str) -> Rendered {
        Rendered {
            text: text.to_owned(),
            annotations: Vec::new(),
        }
    }
}

/// A removed block of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub lines: Span,
    pub reason: &'static str,
    /// The marker line of the block, whether or not it was written.
    pub marker: String,
}

/// Writes the lines that a selection keeps. The lines and markers are joined by LF; a final LF
/// follows if the original has one and its last line is kept. A text from which nothing is removed
/// stays unchanged, except for line numbers if they are requested.
pub fn render(lines: &Lines<'_>, selection: &Selection, id: &str, style: Style) -> Rendered {
    let annotate = |cut: &Span| Annotation {
        lines: cut.clone(),
        reason: REASON,
        marker: marker(id, cut),
    };
    let annotations: Vec<Annotation> = selection.cut.iter().map(annotate).collect();
    let mut text = String::with_capacity(lines.text().len());
    let mut next = 0;
    for annotation in &annotations {
        write_kept(&mut text, lines, next..annotation.lines.start, style);
        if style.include_markers {
            text.push_str(&annotation.marker);
            text.push('\n');
        }
        next = annotation.lines.end;
    }
    write_kept(&mut text, lines, next..lines.len(), style);
    let ends_as_before = lines.ends_with_newline() && next < lines.len();
    if !ends_as_before && text.ends_with('\n') {
        text.pop();
    }
    Rendered { text, annotations }
}

/// Returns the marker line of a removed block, with lines counted from 1.
fn marker(id: &str, cut: &Span) -> String {
    let (first, last, count) = (cut.start + 1, cut.end, cut.len());
    format!("⟦PRUNÉ: prune_id={id} lignes {first}-{last} ({count}) raison={REASON}⟧")
}

fn write_kept(text: &mut String, lines: &Lines<'_>, span: Span, style: Style) {
    if span.is_empty() {
        return;
    }
    if style.annotate_lines {
        lines.write_numbered(span, text);
    } else {
        text.push_str(lines.span(&span));
    }
    text.push('\n');
}

/// Restores the original from the kept lines and the removed blocks, which are in order and include
/// their positions.
pub fn rebuild<'a>(
    kept: impl IntoIterator<Item = &'a str>,
    recovered: impl IntoIterator<Item = (Span, &'a str)>,
    ends_with_newline: bool,
) -> String {
    let mut kept = kept.into_iter();
    let mut text = String::new();
    let mut at = 0;
    let mut push = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for (span, block) in recovered {
        kept.by_ref()
            .take(span.start.saturating_sub(at))
            .for_each(&mut push);
        push(block);
        at = span.end;
    }
    kept.for_each(&mut push);
    if !ends_with_newline {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests;
