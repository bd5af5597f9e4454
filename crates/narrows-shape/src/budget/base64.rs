//! Base64 in a text: where it is and what it holds.
//!
//! A thousand letters of the alphabet in one run, or in lines of equal width, are
//! base64 if they are mixed as those of encoded bytes are; a run of one letter,
//! of hex digits or of small letters is not. Behind `data:…;base64,` they are in
//! any case.

use std::ops::Range;

/// Shorter ones are left alone: a note costs nearly as much.
pub(super) const SHORTEST: usize = 1_000;
/// How wide lines of base64 are: PEM has 64 letters, MIME 76.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=76;
/// How far before the letters a data URL may begin.
const LONGEST_PREFIX: usize = 160;

/// Bytes in the form of base64.
pub(super) struct Blob {
    /// With the prefix of its data URL and with its padding.
    pub(super) span: Range<usize>,
    /// As a MIME type if it is known.
    pub(super) kind: String,
    pub(super) bytes: usize,
}

/// How a text writes what is no letter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// Inside of a JSON string, where line ends and `/` may be escaped.
    Escaped,
}

/// The base64 within a part of a text.
pub(super) fn find(text: &str, part: Range<usize>, form: Form) -> Vec<Blob> {
    let bytes = &text.as_bytes()[..part.end];
    let mut blobs = Vec::new();
    let mut at = part.start;
    while at < bytes.len() {
        // A run of base64 has at least `WIDTHS.start()` letters without a break.
        // Checking this window from its end skips most other text in one step.
        if form == Form::Plain {
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
                (Form::Escaped, [b'\\', b'u', ..]) => 6,
                (Form::Escaped, [b'\\', ..]) => 2,
                _ => 1,
            };
            continue;
        }
        let run = Run::read(bytes, at, form);
        at = run.span.end;
        if run.letters < SHORTEST {
            continue;
        }
        // The letters of one that was just found belong to that alone.
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

/// Letters without anything else between them.
struct Run {
    span: Range<usize>,
    /// Without padding.
    letters: usize,
    /// By class: capitals, small letters, digits, `+/`, `-_`.
    seen: [usize; 5],
}

impl Run {
    fn read(bytes: &[u8], start: usize, form: Form) -> Run {
        let mut run = Run {
            span: start..start,
            letters: 0,
            seen: [0; 5],
        };
        let (mut line, mut width) = (0, None);
        // Where the line before this one ended.
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
        // A line of words behind the last line of letters.
        if let Some(end) = line_before.filter(|_| !ends_here || width.is_some_and(|it| line > it)) {
            run.span.end = end;
            run.letters -= line;
        }
        let padding = bytes[run.span.end..].iter().take(2);
        run.span.end += padding.take_while(|&&byte| byte == b'=').count();
        run
    }

    /// Whether the letters are mixed as in encoded bytes: there, two of five are
    /// capitals, two small, and one in six is a digit.
    fn is_mixed(&self) -> bool {
        let [capitals, small, digits, standard, safe] = self.seen;
        let one_in = |part: usize| self.letters / part;
        capitals > one_in(20)
            && small > one_in(20)
            && digits > one_in(100)
            && (standard == 0 || safe == 0)
    }
}

/// The class of the letter at a place, and its length.
fn letter(bytes: &[u8], at: usize, form: Form) -> Option<(u8, usize)> {
    let &byte = bytes.get(at)?;
    match CLASSES[usize::from(byte)] {
        NONE if form == Form::Escaped && bytes[at..].starts_with(b"\\/") => Some((3, 2)),
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

fn line_end(bytes: &[u8], at: usize, form: Form) -> Option<usize> {
    let ends: [&[u8]; 2] = match form {
        Form::Plain => [b"\n", b"\r\n"],
        Form::Escaped => [b"\\n", b"\\r\\n"],
    };
    let rest = bytes.get(at..)?;
    ends.iter()
        .find(|end| rest.starts_with(end))
        .map(|end| end.len())
}

/// The length of the beginning of a data URL at the end of a text, and the MIME
/// type in it.
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

/// What encoded bytes are, by their first ones.
fn known_kind(bytes: &[u8], start: usize, form: Form) -> &'static str {
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

fn first_bytes(bytes: &[u8], start: usize, form: Form) -> [u8; 12] {
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
