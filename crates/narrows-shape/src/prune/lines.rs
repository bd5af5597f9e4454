//! Access to a text by lines.

use std::fmt::Write;

use super::Span;

/// The lines of a text. A line ends only at LF: a preceding CR, form feeds and U+2028 belong to the
/// line. A final LF does not start another line.
pub struct Lines<'a> {
    text: &'a str,
    /// The start of each line, and of one more line after the last.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Lines<'a> {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            // The last line has no LF, so the position after it is one past where the LF would be.
            starts.push(text.len() + 1);
        }
        Lines { text, starts }
    }

    /// Returns the number of lines in a text.
    pub fn count(text: &str) -> usize {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a line without its LF, counted from 0.
    ///
    /// # Panics
    /// If the line does not exist.
    #[inline]
    pub fn line(&self, at: usize) -> &'a str {
        self.span(&(at..at + 1))
    }

    /// Returns the byte offset of a line, both counted from 0.
    ///
    /// # Panics
    /// If the line does not exist.
    pub(crate) fn start(&self, at: usize) -> usize {
        self.starts[at]
    }

    /// Returns the line that contains a byte of the text, counted from 0.
    pub(crate) fn at_byte(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    /// Returns the lines of a span, joined by LF as in the text, without a final LF.
    ///
    /// # Panics
    /// If the span is empty or reaches past the end.
    #[inline]
    pub fn span(&self, span: &Span) -> &'a str {
        &self.text[self.starts[span.start]..self.starts[span.end] - 1]
    }

    /// Returns the lines of a span with their line ends, as in the text.
    ///
    /// # Panics
    /// If the span reaches past the end.
    pub fn whole_span(&self, span: &Span) -> &'a str {
        let end = self.starts[span.end].min(self.text.len());
        &self.text[self.starts[span.start]..end]
    }

    /// Writes the lines of a span as `{n}│ {line}`, numbered from 1 over the
    /// whole text, joined by LF.
    pub fn write_numbered(&self, span: Span, into: &mut String) {
        for at in span.clone() {
            if at > span.start {
                into.push('\n');
            }
            write!(into, "{}│ {}", at + 1, self.line(at)).expect("writing to a String cannot fail");
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a str> {
        (0..self.len()).map(|at| self.line(at))
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn ends_with_newline(&self) -> bool {
        self.text.ends_with('\n')
    }
}

#[cfg(test)]
mod tests;
