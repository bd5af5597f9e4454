//! The body of a response in one or more parts, none of which is copied.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

#[derive(Default)]
pub(super) struct Parts(VecDeque<Bytes>);

impl From<String> for Parts {
    fn from(text: String) -> Parts {
        Parts(VecDeque::from([text.into()]))
    }
}

impl From<[Bytes; 3]> for Parts {
    fn from(parts: [Bytes; 3]) -> Parts {
        Parts(VecDeque::from(parts))
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let bytes: usize = self.0.iter().map(Bytes::len).sum();
        SizeHint::with_exact(bytes as u64)
    }
}
