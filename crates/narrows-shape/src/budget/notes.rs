//! A text in which notes replace base64, and the mapping to the text before that.

use std::ops::Range;

/// The text with its notes.
pub(super) struct NotedText {
    pub(super) text: String,
    pub(super) notes: Vec<Note>,
}

/// One note: its span in the text, and the span that it replaces in the text before.
#[derive(Clone)]
pub(super) struct Note {
    pub(super) span: Range<usize>,
    pub(super) before: Range<usize>,
}

impl NotedText {
    /// Creates a text without notes.
    pub(super) fn plain(text: String) -> NotedText {
        NotedText {
            text,
            notes: Vec::new(),
        }
    }

    /// Replaces spans of a text with notes. The spans must be in order and disjoint.
    pub(super) fn new(
        text: &str,
        notes: impl Iterator<Item = (Range<usize>, String)>,
    ) -> NotedText {
        let mut noted = NotedText::plain(String::new());
        let mut next = 0;
        for (before, note) in notes {
            noted.text.push_str(&text[next..before.start]);
            let start = noted.text.len();
            noted.text.push_str(&note);
            next = before.end;
            noted.notes.push(Note {
                span: start..noted.text.len(),
                before,
            });
        }
        noted.text.push_str(&text[next..]);
        noted
    }

    /// Maps a span that splits no note to the text before.
    pub(super) fn before(&self, span: &Range<usize>) -> Range<usize> {
        self.offset_before(span.start)..self.offset_before(span.end)
    }

    /// Returns the smallest span around `span` that splits no note.
    pub(super) fn around_notes(&self, span: Range<usize>) -> Range<usize> {
        let cut_by = |at: usize| {
            let after = self.notes.partition_point(|note| note.span.end <= at);
            self.notes.get(after).filter(|note| note.span.start < at)
        };
        // The span grows outwards, because half a note would be useless.
        let start = cut_by(span.start).map_or(span.start, |note| note.span.start);
        let end = cut_by(span.end).map_or(span.end, |note| note.span.end);
        start..end
    }

    fn offset_before(&self, at: usize) -> usize {
        let after = self.notes.partition_point(|note| note.span.end <= at);
        match after.checked_sub(1).and_then(|last| self.notes.get(last)) {
            Some(note) => at - note.span.end + note.before.end,
            None => at,
        }
    }
}
