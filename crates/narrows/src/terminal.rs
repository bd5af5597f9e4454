//! Terminal output: answers go to stdout, everything else to stderr.
//!
//! Nothing here panics if the reader closes the pipe (`narrows tools | head`).

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Writes the answer to stdout. A reader that closes the pipe is not a failure.
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

/// Writes a line to stderr, and ignores errors because they could not be reported.
pub(crate) fn eprint_line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Escapes control characters in foreign text, because they could move the cursor or forge a line.
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

/// Terminal colours, which may be disabled.
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
    /// Enables colours if the stream is a terminal and `NO_COLOR` is not set.
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

/// A progress line on stderr, removed at the end. Shown only on a terminal, because it does not
/// belong in a log file.
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

    /// Removes the line until it is shown again, so that other text can be printed.
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

/// Formats a number with separators: `12,345`.
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

/// Formats a count: `1 tool`, `2 tools`.
pub(crate) fn counted(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::{grouped, plain};

    #[test]
    fn control_characters_are_escaped() {
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
