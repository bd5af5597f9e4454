//! A list that is rendered once. Every page is a slice of the same bytes.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use narrows_wire::{Raw, token};

use crate::error::Error;
use narrows_upstream::chain::via;

#[derive(Debug)]
pub(crate) struct Listing {
    /// The whole list: `{"tools":[item,item,…]}`.
    whole: Raw,
    /// The length of `{"tools":[`.
    head: usize,
    /// The end of each item in `whole`.
    ends: Vec<usize>,
    /// The gateway marks of items that came through other gateways, by position.
    via: Vec<(usize, Arc<str>)>,
    /// The same list for clients that are gateways. Rendered on first use.
    passed_on: OnceLock<Box<Listing>>,
}

/// One item of a list.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) raw: Raw,
    /// The marks of the gateways that the item came through.
    pub(crate) via: Option<Arc<str>>,
}

impl From<Raw> for Entry {
    /// Creates an entry for one of the gateway's own items.
    fn from(raw: Raw) -> Entry {
        Entry { raw, via: None }
    }
}

impl PartialEq for Listing {
    fn eq(&self, other: &Listing) -> bool {
        self.whole == other.whole && self.via == other.via
    }
}

impl Eq for Listing {}

impl Listing {
    pub(crate) fn render(member: &str, items: impl Iterator<Item = Entry>) -> Listing {
        let mut whole = BytesMut::new();
        whole.put_slice(b"{\"");
        whole.put_slice(member.as_bytes());
        whole.put_slice(b"\":[");
        let head = whole.len();
        let (mut ends, mut via) = (Vec::new(), Vec::new());
        for item in items {
            if !ends.is_empty() {
                whole.put_u8(b',');
            }
            via.extend(item.via.map(|marks| (ends.len(), marks)));
            whole.put_slice(item.raw.as_bytes());
            ends.push(whole.len());
        }
        whole.put_slice(b"]}");
        Listing {
            whole: checked(whole.freeze()),
            head,
            ends,
            via,
            passed_on: OnceLock::new(),
        }
    }

    /// Returns the list with the gateway marks of each item, extended by `mark`.
    pub(crate) fn passed_on(&self, mark: &str) -> &Listing {
        self.passed_on.get_or_init(|| {
            let (member, list) = self.whole.members().next().expect("a list has one member");
            let mut marks = self.via.iter().peekable();
            let items = list.elements().enumerate().map(|(at, item)| {
                let came = marks.next_if(|(place, _)| *place == at);
                let came = came.map(|(_, came)| &**came);
                Entry::from(via::with(&item, &via::extended(came, mark)))
            });
            Box::new(Listing::render(&member, items))
        })
    }

    /// Returns the number of bytes that the first call to [`passed_on`](Self::passed_on) processes.
    pub(crate) fn unrendered(&self) -> usize {
        match self.passed_on.get() {
            Some(_) => 0,
            None => self.whole.len(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the response to a list request with these params.
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
                    .ok_or_else(|| Error::BadParams("The cursor is not a string".into()))?;
                token::parse_cursor(&text).map_err(|_| {
                    Error::BadParams("The cursor was not issued by this gateway".into())
                })?
            }
            None => 0,
        };
        let limit = match limit.filter(|limit| !null(limit)) {
            Some(limit) => {
                let limit = limit
                    .as_i64()
                    .ok_or_else(|| Error::BadParams("The limit is not an integer".into()))?;
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
        // A slice begins after the comma that follows the previous item.
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
