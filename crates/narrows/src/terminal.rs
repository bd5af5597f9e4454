//! What the program says to people: stdout for the answer, stderr for the rest.
//!
//! Nothing here panics when the reader has gone away (`narrows tools | head`).

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Writes the answer to stdout. A reader that has had enough is no failure.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a line to stderr. If that is gone there is nobody left to tell.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Text of others, fit to be printed: control characters, by which it could
/// move the cursor or forge a line, are shown as escapes.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c.is_control() {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Colours, or nothing at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    on: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Uncertain,
    Faint,
    Strong,
}

impl Palette {
    /// For a stream: colours only on a terminal, and never with `NO_COLOR`.
    pub(crate) fn of(stream: &impl IsTerminal, no_color: bool) -> Self {
        Palette {
            on: stream.is_terminal() && !no_color,
        }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Palette { on: false }
    }

    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Uncertain => "33",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// One line on stderr that tells how far we are, and is gone when we are done.
/// Only on a terminal; a log file wants no such thing.
pub(crate) struct Status {
    on: bool,
    shown: String,
}

impl Status {
    pub(crate) fn new() -> Self {
        Status {
            on: io::stderr().is_terminal(),
            shown: String::new(),
        }
    }

    pub(crate) fn show(&mut self, text: &str) {
        if self.on && self.shown != text {
            text.clone_into(&mut self.shown);
            self.write(&plain(text));
        }
    }

    /// Takes the line away until it is shown again, so that something else can
    /// be printed in its place.
    pub(crate) fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.write("");
            self.shown.clear();
        }
    }

    fn write(&self, text: &str) {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "\r\x1b[2K{text}");
        let _ = stderr.flush();
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A number as people read it: `12,345`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 tool`, `2 tools`.
pub(crate) fn counted(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::{grouped, plain};

    #[test]
    fn control_characters_cannot_move_the_cursor_or_forge_a_line() {
        assert_eq!(plain("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(plain("päin"), "päin");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1234567), "1,234,567");
    }
}
