//! Gateways among the clients.
//!
//! A request to a server may be made on behalf of any gateway that is a client
//! at the time, so it carries the marks of those gateways too. Two gateways that
//! list each other by URL are recognised by that: the second of the two links
//! brings a gateway its own mark.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderValue;

use super::{DEEPEST, plain};
use crate::lock::Mutex;

/// Marks of clients that are remembered at once. Further ones are ignored, so
/// that clients cannot make the header of our requests long.
const MOST: usize = 64;

/// The marks of the gateways that are clients now.
#[derive(Default)]
pub(crate) struct Callers {
    counts: Mutex<BTreeMap<Mark, usize>>,
    /// Read for every request to a server; true while there are any.
    any: AtomicBool,
}

/// A mark, and the server that its gateway can reach here; none for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    server: Option<String>,
    mark: String,
}

/// The marks of one client, for as long as it is one.
#[must_use]
#[derive(Default)]
pub struct CallerMarks {
    callers: Option<Arc<Callers>>,
    header: Option<HeaderValue>,
    marks: Vec<Mark>,
}

impl Callers {
    /// Remembers the marks of a client that can reach one server or all.
    pub(crate) fn enter(
        self: &Arc<Self>,
        server: Option<&str>,
        header: &HeaderValue,
    ) -> CallerMarks {
        let marks = header.to_str().unwrap_or_default();
        let marks = marks.split(',').map(plain);
        let marks = marks.filter(|mark| !mark.is_empty()).take(DEEPEST + 1);
        let server = server.map(str::to_owned);
        let marks = marks.map(|mark| Mark {
            server: server.clone(),
            mark,
        });
        let mut counts = self.counts.lock();
        let mut entered = Vec::new();
        for mark in marks {
            if counts.len() < MOST || counts.contains_key(&mark) {
                *counts.entry(mark.clone()).or_default() += 1;
                entered.push(mark);
            }
        }
        self.any.store(!counts.is_empty(), Ordering::Release);
        CallerMarks {
            callers: Some(self.clone()),
            header: Some(header.clone()),
            marks: entered,
        }
    }

    /// Returns the header of a request to this server; `None` if no client is a
    /// gateway, so that `own` alone is sent.
    pub(crate) fn header(&self, server: &str, own: &HeaderValue) -> Option<HeaderValue> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let counts = self.counts.lock();
        let reaching = counts.keys().filter(|mark| {
            let reached = mark.server.as_deref();
            reached.is_none_or(|reached| reached == server)
        });
        let mut marks: Vec<&str> = reaching.map(|mark| mark.mark.as_str()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks.extend(own.to_str().ok());
        HeaderValue::from_str(&marks.join(",")).ok()
    }
}

impl CallerMarks {
    /// Returns true if these are the marks in this header.
    pub(crate) fn are(&self, header: &HeaderValue) -> bool {
        self.header.as_ref() == Some(header)
    }
}

impl Drop for CallerMarks {
    fn drop(&mut self) {
        let Some(callers) = &self.callers else {
            return;
        };
        let mut counts = callers.counts.lock();
        for mark in &self.marks {
            if let Some(count) = counts.get_mut(mark) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(mark);
                }
            }
        }
        callers.any.store(!counts.is_empty(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: HeaderValue = HeaderValue::from_static("own");

    fn header(callers: &Callers, server: &str) -> Option<String> {
        let header = callers.header(server, &OWN)?;
        Some(header.to_str().unwrap().to_owned())
    }

    #[test]
    fn requests_carry_the_marks_of_clients_that_can_reach_their_server() {
        let callers = Arc::new(Callers::default());
        assert_eq!(header(&callers, "x"), None);
        let all = callers.enter(None, &HeaderValue::from_static("a,b"));
        let one = callers.enter(Some("x"), &HeaderValue::from_static("c"));
        let again = callers.enter(None, &HeaderValue::from_static("a"));
        assert_eq!(header(&callers, "x").as_deref(), Some("a,b,c,own"));
        assert_eq!(header(&callers, "y").as_deref(), Some("a,b,own"));
        drop(all);
        assert_eq!(header(&callers, "x").as_deref(), Some("a,c,own"));
        drop((one, again));
        assert_eq!(header(&callers, "x"), None);
    }

    #[test]
    fn clients_cannot_make_the_header_long() {
        let callers = Arc::new(Callers::default());
        let long = "x".repeat(10_000);
        let mut entered = Vec::new();
        for at in 0..1_000 {
            let marks = format!("m{at},{long}{at},,\u{e4}");
            let marks = HeaderValue::from_bytes(marks.as_bytes()).unwrap();
            entered.push(callers.enter(None, &marks));
        }
        let marks: Vec<String> = (0..100).map(|at| format!("n{at}")).collect();
        let marks = HeaderValue::from_str(&marks.join(",")).unwrap();
        entered.push(callers.enter(None, &marks));
        let header = header(&callers, "x").unwrap();
        assert!(header.len() <= (MOST + 1) * 65, "{}", header.len());
        drop(entered);
        assert_eq!(callers.header("x", &OWN), None);
    }
}
