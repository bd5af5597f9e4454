//! LZ4 compression of texts in both stores.
//!
//! LZ4 decompresses faster than zstd and needs no C compiler, but takes about 1.6 times the space
//! (`bench/recovery`).

use std::sync::Arc;

/// The maximum length of a stored text. A block that claims a longer one is not decompressed.
pub(super) const MAX_TEXT: usize = 256 * 1024 * 1024;

/// An upper bound of the compression ratio of LZ4.
const MAX_RATIO: usize = 256;

/// Compresses a text and appends it to `out`. Returns `None` if LZ4 cannot compress it.
pub(super) fn append(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    let room = lz4_flex::block::get_maximum_output_size(text.len());
    out.resize(start + room, 0);
    let length = lz4_flex::block::compress_into(text.as_bytes(), &mut out[start..]).ok()?;
    out.truncate(start + length);
    Some(())
}

/// Decompresses a block into a text of `length` bytes. Returns `None` if the block contains
/// anything else.
pub(super) fn read(block: &[u8], length: usize) -> Option<Arc<str>> {
    // Check before allocating: the length on disk may be any number.
    if length > MAX_TEXT.min(block.len().saturating_mul(MAX_RATIO)) {
        return None;
    }
    let mut text = vec![0; length];
    let written = lz4_flex::block::decompress_into(block, &mut text).ok()?;
    (written == length).then_some(())?;
    Some(str::from_utf8(&text).ok()?.into())
}
