//! Complete HTTP responses of the scripted server.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// An HTTP response, or an error that breaks the connection.
pub(super) type Answer = Result<Response<Body>, io::Error>;

/// Returns the error that breaks a connection on request of the script.
pub(super) fn hung_up() -> io::Error {
    io::Error::other("broken by the script")
}

pub(super) fn header<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    head.headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns the response of a [`Step::Status`](super::Step::Status).
pub(super) fn status(code: u16, headers: Vec<(String, String)>, body: String) -> Response<Body> {
    let code = StatusCode::from_u16(code).expect("the script gives a status that there is");
    let mut response = plain(code, &body);
    for (name, value) in headers {
        let name = http::HeaderName::try_from(name).expect("the script gives a header's name");
        let value = value.parse().expect("the script gives a header's value");
        response.headers_mut().insert(name, value);
    }
    response
}

pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    whole(status, "text/plain", text.to_owned())
}

pub(super) fn whole(status: StatusCode, kind: &str, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    response(status, kind, body.boxed_unsync())
}

pub(super) fn response(status: StatusCode, kind: &str, body: Body) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body);
    response.expect("a status and a plain header")
}
