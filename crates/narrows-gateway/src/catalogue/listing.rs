//! One list, rendered once: any page of it is a slice of the same bytes.

use bytes::{BufMut, Bytes, BytesMut};
use narrows_wire::{Raw, token};

use crate::error::Error;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// `{"tools":[item,item,…]}`
    whole: Raw,
    /// Length of `{"tools":[`.
    head: usize,
    /// Where each item ends in `whole`.
    ends: Vec<usize>,
}

impl Listing {
    pub(crate) fn render(member: &str, items: impl Iterator<Item = Raw>) -> Listing {
        let mut whole = BytesMut::new();
        whole.put_slice(b"{\"");
        whole.put_slice(member.as_bytes());
        whole.put_slice(b"\":[");
        let head = whole.len();
        let mut ends = Vec::new();
        for item in items {
            if !ends.is_empty() {
                whole.put_u8(b',');
            }
            whole.put_slice(item.as_bytes());
            ends.push(whole.len());
        }
        whole.put_slice(b"]}");
        Listing {
            whole: checked(whole.freeze()),
            head,
            ends,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The answer to a list request with these params.
    pub(crate) fn page(&self, params: Option<&Raw>) -> Result<Raw, Error> {
        let [cursor, limit] = match params {
            Some(params) => params
                .pick(["cursor", "limit"])
                .map_err(|error| Error::BadParams(error.to_string()))?,
            None => [None, None],
        };
        let null = |raw: &Raw| raw.as_bytes() == b"null";
        let offset = match cursor.filter(|cursor| !null(cursor)) {
            Some(cursor) => {
                let text = cursor
                    .as_text()
                    .ok_or_else(|| Error::BadParams("The cursor is no text".into()))?;
                token::parse_cursor(&text)
                    .map_err(|_| Error::BadParams("The cursor is not one of ours".into()))?
            }
            None => 0,
        };
        let limit = match limit.filter(|limit| !null(limit)) {
            Some(limit) => {
                let limit = limit
                    .as_i64()
                    .ok_or_else(|| Error::BadParams("The limit is no integer".into()))?;
                usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
            }
            None => usize::MAX,
        };
        Ok(self.slice(offset, limit))
    }

    fn slice(&self, offset: usize, limit: usize) -> Raw {
        let from = offset.min(self.len());
        let to = from.saturating_add(limit).min(self.len());
        if from == 0 && to == self.len() {
            return self.whole.clone();
        }
        let whole = self.whole.as_bytes();
        // A slice begins behind the comma that follows the item before.
        let begin = if from == 0 {
            self.head
        } else {
            self.ends[from - 1] + 1
        };
        let end = if to == from { begin } else { self.ends[to - 1] };
        let mut page = BytesMut::with_capacity(self.head + end.saturating_sub(begin) + 64);
        page.put_slice(&whole[..self.head]);
        if to > from {
            page.put_slice(&whole[begin..end]);
        }
        page.put_u8(b']');
        if to < self.len() {
            page.put_slice(b",\"nextCursor\":\"");
            page.put_slice(token::cursor(to).as_bytes());
            page.put_u8(b'"');
        }
        page.put_u8(b'}');
        checked(page.freeze())
    }
}

fn checked(bytes: Bytes) -> Raw {
    Raw::parse(bytes).expect("made of valid items")
}
