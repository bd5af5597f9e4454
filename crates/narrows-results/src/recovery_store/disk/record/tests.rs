use proptest::prelude::*;

use super::*;

const RECEIPT: &str = "prn_01ARY000000000000000000042";

fn read(bytes: &[u8]) -> Option<(String, String)> {
    let record = Record::read(RECEIPT, bytes)?;
    Some((record.owner().to_owned(), record.text()?.to_string()))
}

/// Returns a record with these bytes after a valid checksum.
fn vouched(covered: &[u8]) -> Vec<u8> {
    let sum = checksum(RECEIPT, covered).to_le_bytes();
    [&FORMAT[..], &sum, covered].concat()
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0; lz4_flex::block::get_maximum_output_size(bytes.len())];
    let length = lz4_flex::block::compress_into(bytes, &mut block).unwrap();
    block.truncate(length);
    block
}

proptest! {
    #[test]
    fn written_records_are_read_back(owner in "\\PC{0,40}", text in "(?s).{0,300}", times in 0_usize..40) {
        let text = text.repeat(times);
        let record = write(RECEIPT, &owner, &text).unwrap();
        prop_assert_eq!(read(&record), Some((owner, text)));
    }

    #[test]
    fn arbitrary_bytes_are_read_safely(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(read(&bytes), None);
        // A valid checksum does not make the content valid.
        read(&vouched(&bytes));
    }
}

#[test]
fn changed_and_missing_bytes_are_detected() {
    let record = write(RECEIPT, "owner", &"some text, some text\n".repeat(9)).unwrap();
    for place in 0..record.len() {
        let mut changed = record.clone();
        changed[place] ^= 1;
        assert_eq!(read(&changed), None, "byte {place}");
        assert_eq!(read(&record[..place]), None, "cut at {place}");
    }
    let longer = [&record[..], b"x"].concat();
    assert_eq!(read(&longer), None);
    let other = Record::read("prn_01ARY000000000000000000043", &record);
    assert!(other.is_none(), "under another name");
}

#[test]
fn wrong_length_is_rejected() {
    let record = |length: u64| {
        let block = compress(b"abc");
        let lengths = [&0_u32.to_le_bytes()[..], &length.to_le_bytes()].concat();
        vouched(&[&lengths[..], &block].concat())
    };
    assert_eq!(read(&record(3)), Some((String::new(), "abc".to_owned())));
    for length in [0, 2, 4, 1 << 20, 1 << 40, u64::MAX] {
        assert_eq!(read(&record(length)), None, "{length}");
    }
}

#[test]
fn text_must_be_utf8() {
    let block = compress(b"\xff\xfe");
    let lengths = [&0_u32.to_le_bytes()[..], &2_u64.to_le_bytes()].concat();
    assert_eq!(read(&vouched(&[&lengths[..], &block].concat())), None);
}
