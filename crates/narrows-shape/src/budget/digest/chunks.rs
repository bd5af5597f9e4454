//! Splits a line into chunks: words, numbers and identifiers, without the punctuation between them.
//!
//! Times, addresses, UUIDs and paths are one chunk each, so that lines of one template have the
//! same number of chunks.

use std::ops::Range;

/// Limits on the chunks and bytes that are read from a line.
const MOST_CHUNKS: usize = 64;
const MOST_BYTES: usize = 2_048;
/// The maximum number of letters of a unit that may follow a number.
const LONGEST_UNIT: usize = 3;

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    pub(crate) span: Range<usize>,
    pub(crate) kind: ChunkKind,
    /// The hash of the bytes.
    pub(crate) hash: u64,
    /// Set if all characters are hexadecimal digits.
    pub(crate) has_hex_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ChunkKind {
    /// A chunk without digits.
    Word,
    Number(f64),
    /// Digits mixed with other characters: a time, an address, a hash.
    Id,
}

/// Reads the chunks of a line into `chunks`, replacing its contents.
pub(crate) fn read(line: &str, chunks: &mut Vec<Chunk>) {
    chunks.clear();
    let bytes = line.as_bytes();
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let mut at = 0;
    while at < bytes.len() && chunks.len() < MOST_CHUNKS {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let chunk = chunk(line, bytes, at);
        at = chunk.span.end;
        chunks.push(chunk);
    }
}

/// Returns the FNV-1a hash of the bytes of a text.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(SEED, |hash, &byte| mix(hash, byte))
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Reads the chunk that begins at `start`.
fn chunk(line: &str, bytes: &[u8], start: usize) -> Chunk {
    let (mut hash, mut end) = (SEED, start);
    let (mut digits, mut dots, mut others, mut unit) = (0, 0, 0, 0);
    let mut whole = 0_u64;
    while let Some(&byte) = bytes.get(end) {
        if is_part(byte) {
            if byte.is_ascii_digit() {
                digits += 1;
                whole = whole.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                others += unit;
                unit = 0;
            } else if byte.is_ascii_alphabetic() && digits > 0 {
                unit += 1;
            } else {
                others += 1;
            }
        } else if joins(bytes, end) {
            match byte {
                b'.' => dots += 1,
                _ => others += 1,
            }
        } else {
            break;
        }
        hash = mix(hash, byte);
        end += 1;
    }
    // The byte limit may fall inside a character.
    while !line.is_char_boundary(end) {
        end += 1;
    }
    let span = start..end;
    let is_number = digits > 0 && others == 0 && dots <= 1 && unit <= LONGEST_UNIT;
    let number = || match digits < 16 && dots == 0 {
        true => Some(whole as f64),
        false => line[start..end - unit].parse().ok(),
    };
    let kind = match is_number.then(number).flatten() {
        Some(number) => ChunkKind::Number(number),
        None if digits > 0 => ChunkKind::Id,
        None => ChunkKind::Word,
    };
    let has_hex_only = bytes[start..end.min(bytes.len())]
        .iter()
        .all(u8::is_ascii_hexdigit);
    Chunk {
        span,
        kind,
        hash,
        has_hex_only,
    }
}

/// Returns `true` if the character at a position joins its neighbours into one chunk.
fn joins(bytes: &[u8], at: usize) -> bool {
    let (Some(&before), Some(&behind)) = (bytes.get(at.wrapping_sub(1)), bytes.get(at + 1)) else {
        return false;
    };
    match bytes[at] {
        b'-' | b'.' | b'/' => is_part(before) && is_part(behind),
        b':' => before.is_ascii_hexdigit() && behind.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut chunks = Vec::new();
        read(line, &mut chunks);
        let shown: Vec<String> = chunks
            .iter()
            .map(|chunk| match chunk.kind {
                ChunkKind::Word => line[chunk.span.clone()].to_owned(),
                ChunkKind::Number(number) => format!("#{number}"),
                ChunkKind::Id => format!("<{}>", &line[chunk.span.clone()]),
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn words_numbers_and_ids_are_distinguished() {
        check(
            "2026-11-16T10:00:01.250Z INFO auth: took=98123ms (12.5 %)",
            "<2026-11-16T10:00:01.250Z> INFO auth took #98123 #12.5",
        );
        check(
            "GET /api/v1/items/77 from 10.0.0.1 id=0b5f1c2e-11aa-4bcd-a0de-0123456789ab",
            "GET <api/v1/items/77> from <10.0.0.1> id <0b5f1c2e-11aa-4bcd-a0de-0123456789ab>",
        );
        check("größe 東京: rate-limited. ", "größe 東京 rate-limited");
        check("", "");
        check("1.2.3 12abcd 1_000", "<1.2.3> <12abcd> <1_000>");
    }
}
