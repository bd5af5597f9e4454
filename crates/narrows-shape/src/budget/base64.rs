//! Finds base64 in a text and determines its MIME type.
//!
//! A run of at least a thousand characters of the base64 alphabet, possibly split into lines of
//! equal width, is base64 if its characters are distributed like those of encoded bytes. A run of
//! one character, of hex digits or of lower-case letters is not. After `data:…;base64,`, any such
//! run is base64.

use std::ops::Range;

/// The minimum number of characters that are replaced. A note costs nearly as much as a shorter
/// run.
pub(super) const SHORTEST: usize = 1_000;
/// The widths of base64 lines: PEM uses 64 characters, MIME 76.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=76;
/// The maximum number of bytes before the base64 in which a data URL may begin.
const LONGEST_PREFIX: usize = 160;

/// A base64 run and the bytes that it encodes.
pub(super) struct Blob {
    /// Includes the prefix of the data URL and the padding.
    pub(super) span: Range<usize>,
    /// The MIME type, or `binary` if it is unknown.
    pub(super) kind: String,
    pub(super) bytes: usize,
}

/// The escaping of line breaks and `/` in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Escaping {
    Plain,
    /// The contents of a JSON string, in which line breaks and `/` may be escaped.
    Escaped,
}

/// Returns the base64 runs within a part of a text.
pub(super) fn find(text: &str, part: Range<usize>, form: Escaping) -> Vec<Blob> {
    let bytes = &text.as_bytes()[..part.end];
    let mut blobs = Vec::new();
    let mut at = part.start;
    while at < bytes.len() {
        // A run of base64 has at least `WIDTHS.start()` characters without a break. Checking this
        // window from its end skips most other text in one step.
        if form == Escaping::Plain {
            let line = at..at + WIDTHS.start();
            if line.end > bytes.len() {
                break;
            }
            let other = line.rev().find(|&at| letter(bytes, at, form).is_none());
            if let Some(other) = other {
                at = other + 1;
                continue;
            }
        }
        if letter(bytes, at, form).is_none() {
            at += match (form, &bytes[at..]) {
                (Escaping::Escaped, [b'\\', b'u', ..]) => 6,
                (Escaping::Escaped, [b'\\', ..]) => 2,
                _ => 1,
            };
            continue;
        }
        let run = Run::read(bytes, at, form);
        at = run.span.end;
        if run.letters < SHORTEST {
            continue;
        }
        // Characters of the previous run must not count as the prefix of this one.
        let before = blobs.last().map_or(part.start, |blob: &Blob| blob.span.end);
        let url = data_url(&bytes[before..run.span.start]);
        if url.is_none() && !run.is_mixed() {
            continue;
        }
        let (prefix, named) = url.unwrap_or_default();
        blobs.push(Blob {
            kind: named.unwrap_or_else(|| known_kind(bytes, run.span.start, form).to_owned()),
            bytes: run.letters * 3 / 4,
            span: run.span.start - prefix..run.span.end,
        });
    }
    blobs
}

/// A run of base64 characters without other characters between them, apart from line breaks.
struct Run {
    span: Range<usize>,
    /// The number of base64 characters, without padding.
    letters: usize,
    /// Counts by class: upper-case letters, lower-case letters, digits, `+/`, `-_`.
    seen: [usize; 5],
}

impl Run {
    fn read(bytes: &[u8], start: usize, form: Escaping) -> Run {
        let mut run = Run {
            span: start..start,
            letters: 0,
            seen: [0; 5],
        };
        let (mut line, mut width) = (0, None);
        // The end of the previous line.
        let mut line_before = None;
        loop {
            let at = run.span.end;
            if let Some((class, length)) = letter(bytes, at, form) {
                run.seen[class as usize] += 1;
                run.letters += 1;
                run.span.end += length;
                line += 1;
            } else if let Some(length) = line_end(bytes, at, form)
                && WIDTHS.contains(&line)
                && width.is_none_or(|width| width == line)
                && letter(bytes, at + length, form).is_some()
            {
                line_before = Some(at);
                width = Some(line);
                run.span.end += length;
                line = 0;
            } else {
                break;
            }
        }
        let ends_here = match bytes.get(run.span.end) {
            None => true,
            Some(byte) => b"=\r\n\\\"')<".contains(byte),
        };
        // The last line is text that follows the base64, not part of it.
        if let Some(end) = line_before.filter(|_| !ends_here || width.is_some_and(|it| line > it)) {
            run.span.end = end;
            run.letters -= line;
        }
        let padding = bytes[run.span.end..].iter().take(2);
        run.span.end += padding.take_while(|&&byte| byte == b'=').count();
        run
    }

    /// Returns `true` if the characters are distributed as in encoded bytes, where two in five are
    /// upper-case letters, two in five lower-case letters, and one in six is a digit.
    fn is_mixed(&self) -> bool {
        let [capitals, small, digits, standard, safe] = self.seen;
        let one_in = |part: usize| self.letters / part;
        capitals > one_in(20)
            && small > one_in(20)
            && digits > one_in(100)
            && (standard == 0 || safe == 0)
    }
}

/// Returns the class and the length of the base64 character at a position.
fn letter(bytes: &[u8], at: usize, form: Escaping) -> Option<(u8, usize)> {
    let &byte = bytes.get(at)?;
    match CLASSES[usize::from(byte)] {
        NONE if form == Escaping::Escaped && bytes[at..].starts_with(b"\\/") => Some((3, 2)),
        NONE => None,
        class => Some((class, 1)),
    }
}

const NONE: u8 = 5;

const CLASSES: [u8; 256] = {
    let mut classes = [NONE; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => 0,
            b'a'..=b'z' => 1,
            b'0'..=b'9' => 2,
            b'+' | b'/' => 3,
            b'-' | b'_' => 4,
            _ => NONE,
        };
        byte += 1;
    }
    classes
};

fn line_end(bytes: &[u8], at: usize, form: Escaping) -> Option<usize> {
    let ends: [&[u8]; 2] = match form {
        Escaping::Plain => [b"\n", b"\r\n"],
        Escaping::Escaped => [b"\\n", b"\\r\\n"],
    };
    let rest = bytes.get(at..)?;
    ends.iter()
        .find(|end| rest.starts_with(end))
        .map(|end| end.len())
}

/// Returns the length of a data URL prefix at the end of `before`, and the MIME type in it.
fn data_url(before: &[u8]) -> Option<(usize, Option<String>)> {
    let inner = before.strip_suffix(b";base64,")?;
    let near = &inner[inner.len().saturating_sub(LONGEST_PREFIX)..];
    let start = memchr::memmem::rfind(near, b"data:")?;
    let kind = std::str::from_utf8(&near[start + 5..]).ok()?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"/\\+-._;= ".contains(&byte);
    let kind = kind.bytes().all(is_word).then_some(kind)?;
    let kind = kind.split(';').next().unwrap_or_default().replace('\\', "");
    let length = near.len() - start + b";base64,".len();
    Some((length, Some(kind).filter(|kind| kind.contains('/'))))
}

/// Returns the MIME type of encoded bytes by their magic number.
fn known_kind(bytes: &[u8], start: usize, form: Escaping) -> &'static str {
    let first = first_bytes(bytes, start, form);
    let kinds: [(&[u8], &str); 9] = [
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/gzip"),
        (b"\0asm", "application/wasm"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
    ];
    let is_riff = |form: &[u8]| first.starts_with(b"RIFF") && first[8..].starts_with(form);
    match kinds.iter().find(|(magic, _)| first.starts_with(magic)) {
        Some((_, kind)) => kind,
        None if is_riff(b"WEBP") => "image/webp",
        None if is_riff(b"WAVE") => "audio/wav",
        None => "binary",
    }
}

fn first_bytes(bytes: &[u8], start: usize, form: Escaping) -> [u8; 12] {
    let mut first = [0; 12];
    let mut at = start;
    for three in first.chunks_exact_mut(3) {
        let mut word = 0_u32;
        for _ in 0..4 {
            let Some((_, length)) = letter(bytes, at, form) else {
                break;
            };
            at += length;
            let value = match bytes[at - 1] {
                byte @ b'A'..=b'Z' => byte - b'A',
                byte @ b'a'..=b'z' => byte - b'a' + 26,
                byte @ b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                _ => 63,
            };
            word = word << 6 | u32::from(value);
        }
        three.copy_from_slice(&word.to_be_bytes()[1..]);
    }
    first
}

#[cfg(test)]
mod tests;
