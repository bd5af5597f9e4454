//! Texts compressed with LZ4, as both stores keep them.
//!
//! LZ4, not zstd: it decompresses faster and needs no C compiler, for about
//! 1.6 times the room (`bench/recovery`).

use std::sync::Arc;

/// A longer text is not kept, and a block that claims one is not decompressed.
pub(super) const MAX_TEXT: usize = 256 * 1024 * 1024;

/// An upper bound of what one byte of LZ4 can stand for.
const MAX_RATIO: usize = 256;

/// Appends the compressed text to `out`. Returns `None` if LZ4 refuses the text.
pub(super) fn append(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    let room = lz4_flex::block::get_maximum_output_size(text.len());
    out.resize(start + room, 0);
    let length = lz4_flex::block::compress_into(text.as_bytes(), &mut out[start..]).ok()?;
    out.truncate(start + length);
    Some(())
}

/// Decompresses a block into a text of `length` bytes. Returns `None` if the
/// block holds anything else.
pub(super) fn read(block: &[u8], length: usize) -> Option<Arc<str>> {
    // Checked before memory is allocated: a length on disk may be any number.
    if length > MAX_TEXT.min(block.len().saturating_mul(MAX_RATIO)) {
        return None;
    }
    let mut text = vec![0; length];
    let written = lz4_flex::block::decompress_into(block, &mut text).ok()?;
    (written == length).then_some(())?;
    Some(str::from_utf8(&text).ok()?.into())
}
