//! A text in which notes stand for base64, and the way back to the text before.

use std::ops::Range;

/// The text with its notes.
pub(super) struct Noted {
    pub(super) text: String,
    pub(super) notes: Vec<Note>,
}

/// One note: where it stands, and where what it stands for was.
#[derive(Clone)]
pub(super) struct Note {
    pub(super) span: Range<usize>,
    pub(super) before: Range<usize>,
}

impl Noted {
    /// Without notes.
    pub(super) fn plain(text: String) -> Noted {
        Noted {
            text,
            notes: Vec::new(),
        }
    }

    /// Puts notes into a text; places in order and disjoint.
    pub(super) fn new(text: &str, notes: impl Iterator<Item = (Range<usize>, String)>) -> Noted {
        let mut noted = Noted::plain(String::new());
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

    /// A span that cuts no note into two, as it was in the text before.
    pub(super) fn before(&self, span: &Range<usize>) -> Range<usize> {
        self.offset_before(span.start)..self.offset_before(span.end)
    }

    /// The smallest span around this one that cuts no note into two.
    pub(super) fn around_notes(&self, span: Range<usize>) -> Range<usize> {
        let cut_by = |at: usize| {
            let after = self.notes.partition_point(|note| note.span.end <= at);
            self.notes.get(after).filter(|note| note.span.start < at)
        };
        // Outwards: half a note would be of no use to anybody.
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
