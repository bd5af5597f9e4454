//! The file format of a stored text. It allows the text to be restored unchanged and damage to be
//! detected.
//!
//! A record has eight bytes that name the format, a checksum, the length of the owner, the length
//! of the text, the owner, and the LZ4-compressed text. The checksum covers everything after it and
//! the receipt, so that a renamed file is invalid. Numbers are little-endian.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::super::block;

const FORMAT: &[u8; 8] = b"narrows1";
/// The offset of the checksum. `COVERED` is the start of the bytes that it covers.
const CHECKSUM: usize = FORMAT.len();
const COVERED: usize = CHECKSUM + 4;

/// Encodes a text; `None` if it is too long.
pub(super) fn write(receipt: &str, owner: &str, text: &str) -> Option<Vec<u8>> {
    let owner_length = u32::try_from(owner.len()).ok()?;
    let mut record = Vec::new();
    record.extend_from_slice(FORMAT);
    record.extend_from_slice(&[0; 4]);
    record.extend_from_slice(&owner_length.to_le_bytes());
    record.extend_from_slice(&(text.len() as u64).to_le_bytes());
    record.extend_from_slice(owner.as_bytes());
    block::append(text, &mut record)?;
    let checksum = checksum(receipt, &record[COVERED..]);
    record[CHECKSUM..COVERED].copy_from_slice(&checksum.to_le_bytes());
    Some(record)
}

/// A decoded record with a valid checksum.
pub(super) struct Record<'a> {
    owner: &'a str,
    /// The length of the text in bytes.
    length: usize,
    block: &'a [u8],
}

impl<'a> Record<'a> {
    /// Decodes a record; `None` if it is damaged or belongs to another receipt.
    pub(super) fn read(receipt: &str, bytes: &'a [u8]) -> Option<Record<'a>> {
        let rest = bytes.strip_prefix(FORMAT)?;
        let (sum, covered) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*sum) != checksum(receipt, covered) {
            return None;
        }
        let (owner_length, rest) = covered.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let owner_length = u32::from_le_bytes(*owner_length).try_into().ok()?;
        let (owner, block) = rest.split_at_checked(owner_length)?;
        Some(Record {
            owner: str::from_utf8(owner).ok()?,
            length: u64::from_le_bytes(*length).try_into().ok()?,
            block,
        })
    }

    pub(super) fn owner(&self) -> &str {
        self.owner
    }

    /// Decompresses the text; `None` if the content does not match its length or is invalid.
    pub(super) fn text(&self) -> Option<Arc<str>> {
        block::read(self.block, self.length)
    }
}

fn checksum(receipt: &str, covered: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(receipt.as_bytes());
    hasher.update(covered);
    hasher.finalize()
}
