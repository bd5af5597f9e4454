//! The request headers that affect handling, read in one pass.

use http::header::{HeaderMap, HeaderValue};

#[cfg(test)]
mod tests;

/// The header with which gateways detect loops.
pub(super) const MARK: &str = "narrows-gateway";

#[derive(Debug, Default)]
pub(super) struct Head<'h> {
    pub(super) host: Option<&'h HeaderValue>,
    pub(super) origin: Option<&'h HeaderValue>,
    pub(super) authorization: Option<&'h HeaderValue>,
    pub(super) content_type: Option<&'h HeaderValue>,
    pub(super) session: Option<&'h HeaderValue>,
    pub(super) version: Option<&'h HeaderValue>,
    pub(super) last_event_id: Option<&'h HeaderValue>,
    pub(super) accept: Accept,
    /// The method that a preflight asks for.
    pub(super) cors_method: Option<&'h HeaderValue>,
    pub(super) cors_headers: Option<&'h HeaderValue>,
    /// True if one of the headers above, other than `Accept`, is repeated.
    pub(super) repeated: bool,
    /// True if a proxy forwarded the request, so that it may come from anywhere.
    pub(super) passed_on: bool,
    /// The marks of the gateway that sent the request and of the gateways above it.
    pub(super) mark: Option<&'h HeaderValue>,
}

/// The response formats that the client reads; both if there is no `Accept` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Default for Accept {
    fn default() -> Self {
        Accept {
            json: true,
            events: true,
        }
    }
}

impl<'h> Head<'h> {
    pub(super) fn read(headers: &'h HeaderMap) -> Head<'h> {
        let mut head = Head::default();
        let mut accept = None;
        for (name, value) in headers {
            let place = match name.as_str() {
                "host" => &mut head.host,
                "origin" => &mut head.origin,
                "authorization" => &mut head.authorization,
                "content-type" => &mut head.content_type,
                "mcp-session-id" => &mut head.session,
                "mcp-protocol-version" => &mut head.version,
                "last-event-id" => &mut head.last_event_id,
                MARK => &mut head.mark,
                "access-control-request-method" => &mut head.cors_method,
                "access-control-request-headers" => &mut head.cors_headers,
                "accept" => {
                    let so_far = accept.unwrap_or(Accept {
                        json: false,
                        events: false,
                    });
                    accept = Some(so_far.and(value.as_bytes()));
                    continue;
                }
                "forwarded" | "via" | "x-forwarded-for" | "x-forwarded-host" | "x-real-ip" => {
                    head.passed_on = true;
                    continue;
                }
                _ => continue,
            };
            head.repeated |= place.replace(value).is_some();
        }
        head.accept = accept.unwrap_or_default();
        head
    }

    pub(super) fn is_json(&self) -> bool {
        self.content_type.is_some_and(|value| {
            let value = value.as_bytes();
            let media = value.split(|byte| *byte == b';').next().unwrap_or(value);
            media.trim_ascii().eq_ignore_ascii_case(b"application/json")
        })
    }
}

impl Accept {
    pub(super) fn any(self) -> bool {
        self.json || self.events
    }

    fn and(mut self, value: &[u8]) -> Accept {
        for range in value.split(|byte| *byte == b',') {
            let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let media = parts.next().unwrap_or_default();
            if parts.any(is_zero_quality) {
                continue;
            }
            let is = |name: &str| media.eq_ignore_ascii_case(name.as_bytes());
            let all = is("*/*");
            self.json |= all || is("application/json") || is("application/*");
            self.events |= all || is("text/event-stream") || is("text/*");
        }
        self
    }
}

/// Returns true for `q=0`, `q=0.0` and so on, which exclude a type.
fn is_zero_quality(parameter: &[u8]) -> bool {
    match parameter {
        [b'q' | b'Q', b'=', digits @ ..] => {
            !digits.is_empty() && digits.iter().all(|byte| matches!(byte, b'0' | b'.'))
        }
        _ => false,
    }
}
