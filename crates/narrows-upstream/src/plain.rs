//! A server as seen by the plain JSON-RPC route: a POST carries the client's bytes, and the
//! response is masked while it is read. No link is involved, so requests do not depend on the
//! recorded state of the server. Only the connections are shared.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::Bytes;

use crate::failure::Failure;
use crate::hooks::{BodyFilter, FilteredBody};
use crate::memory::{MemoryPermit, MemoryShare, WAIT_ABOVE};
use crate::settings::RemoteSettings;
use crate::web::{Address, BodyKind, HttpClient, HttpError, HttpResponse, MARK, excerpt, is_html};

/// The maximum number of characters shown of a body that is not JSON-RPC.
const MAX_SHOWN: usize = 500;

/// The maximum number of bytes read of a body that is not JSON-RPC.
const MAX_EXPLANATION: usize = 16 * 1024;

/// The number of bytes needed to detect a web page.
const FIRST_WORDS: usize = 64;

pub struct PlainServer {
    address: Address,
    /// The headers of every request, built once.
    headers: HeaderMap,
}

/// One JSON-RPC object to send to the server.
pub struct Post {
    pub body: Bytes,
    /// The marks to send in place of this gateway's own.
    pub marks: Option<HeaderValue>,
    /// True for notifications, where the client only waits until the server has accepted them.
    pub silent: bool,
    pub filter: Box<dyn BodyFilter>,
    /// The limit for the whole request, from connecting to the last byte.
    pub timeout: Duration,
    pub max_bytes: usize,
    /// The share that the response is charged to. Reading pauses while there is no room.
    pub memory: Option<Arc<MemoryShare>>,
}

/// The response of the server.
pub enum PlainAnswer {
    /// The server accepted the object and sent no body.
    Nothing(StatusCode),
    /// A JSON body. With an error status, it is a JSON-RPC response.
    Json {
        status: StatusCode,
        filtered: FilteredBody,
        /// The length of the body before it was filtered.
        bytes: usize,
        memory: Option<MemoryPermit>,
    },
    /// An error status without a JSON-RPC body, and the beginning of the body.
    Refused { status: StatusCode, body: String },
}

/// The reason why no response can be forwarded. The texts contain no secrets.
pub enum PlainError {
    Unreachable(String),
    Timeout(Duration),
    Invalid(String),
    TooLarge(usize),
}

impl PlainServer {
    pub fn new(client: &HttpClient, settings: &RemoteSettings) -> Result<PlainServer, Failure> {
        let address = Address::new(client, settings, "/rpc")?;
        let mut headers = address.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        // A compressed body cannot be masked while it is streamed.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(PlainServer { address, headers })
    }

    /// Posts an object and reads the response. Dropping the future closes the connection, which is
    /// the only form of cancellation.
    pub async fn ask(&self, post: Post) -> Result<PlainAnswer, PlainError> {
        let limit = post.timeout;
        let asked = self.send_and_read(post);
        match tokio::time::timeout(limit, asked).await {
            Ok(answer) => answer.map_err(|error| self.explain(error)),
            Err(_) => Err(PlainError::Timeout(limit)),
        }
    }

    async fn send_and_read(&self, post: Post) -> Result<PlainAnswer, HttpError> {
        let mut sent = false;
        let headers = match post.marks {
            Some(marks) => {
                let mut headers = self.headers.clone();
                headers.insert(MARK, marks);
                Cow::Owned(headers)
            }
            None => Cow::Borrowed(&self.headers),
        };
        let sending = self
            .address
            .send(&Method::POST, &headers, post.body, &mut sent);
        let mut answer = sending.await?;
        let misdirected = answer.take_misdirected();
        let status = answer.status();
        if post.silent && matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            answer.discard(&self.address.pool).await;
            return Ok(PlainAnswer::Nothing(status));
        }
        let coded = answer.header(&CONTENT_ENCODING);
        let coded = coded.filter(|coding| !coding.eq_ignore_ascii_case("identity"));
        match (status.is_success(), coded) {
            (true, None) => {
                let memory = post.memory.as_ref().map(MemoryShare::permit);
                self.read(answer, post.filter, post.max_bytes, memory).await
            }
            (false, None) => {
                let refusal = self.read_refusal(answer, post.filter, post.max_bytes);
                Ok(with_redirect(refusal.await?, misdirected))
            }
            (true, Some(coding)) => {
                let coding: String = coding.chars().take(40).collect();
                Err(HttpError::Invalid(format!(
                    "it is compressed ({coding}) although identity was requested"
                )))
            }
            (false, Some(_)) => Ok(PlainAnswer::Refused {
                status,
                body: String::new(),
            }),
        }
    }

    /// Reads a response with a success status, whose body must be JSON or empty.
    async fn read(
        &self,
        answer: HttpResponse,
        mut filter: Box<dyn BodyFilter>,
        max: usize,
        mut memory: Option<MemoryPermit>,
    ) -> Result<PlainAnswer, HttpError> {
        let status = answer.status();
        if answer.content() == BodyKind::Events {
            let detail = "it is a stream of events; this server may speak Streamable HTTP";
            return Err(HttpError::Invalid(detail.to_owned()));
        }
        let kind = answer.header(&CONTENT_TYPE).map(str::to_owned);
        let mut pieces = answer.pieces(max)?;
        let announced = pieces.announced();
        if let Some(permit) = &mut memory
            && announced >= WAIT_ABOVE
        {
            permit.grow(announced).await;
        }
        filter.reserve(announced);
        let mut start = Vec::new();
        let filtered = loop {
            let Some(piece) = pieces.next().await? else {
                break filter.finish();
            };
            keep(&mut start, &piece, FIRST_WORDS);
            if let Some(permit) = &mut memory
                && pieces.read() > permit.bytes().max(WAIT_ABOVE)
            {
                let step = pieces.read().saturating_mul(2).min(max) - permit.bytes();
                permit.grow(step).await;
            }
            if let Err(error) = filter.push(&piece) {
                break Err(error);
            }
        };
        let bytes = pieces.read();
        match filtered {
            Ok(filtered) => {
                pieces.finish(&self.address.pool);
                Ok(PlainAnswer::Json {
                    status,
                    filtered,
                    bytes,
                    memory,
                })
            }
            Err(_) if bytes == 0 => {
                pieces.finish(&self.address.pool);
                Ok(PlainAnswer::Nothing(status))
            }
            Err(_) if is_html(kind.as_deref(), &start) => {
                Err(HttpError::Invalid("it is a web page".to_owned()))
            }
            Err(error) => Err(HttpError::Invalid(error.to_string())),
        }
    }

    /// Reads a response with any other status. It may still be a JSON-RPC response. Otherwise only
    /// the beginning of the body is used, as an explanation.
    async fn read_refusal(
        &self,
        answer: HttpResponse,
        filter: Box<dyn BodyFilter>,
        max: usize,
    ) -> Result<PlainAnswer, HttpError> {
        let status = answer.status();
        let mut pieces = answer.pieces(max)?;
        let mut filter = Some(filter);
        let mut start = Vec::new();
        loop {
            match pieces.next().await {
                Ok(Some(piece)) => {
                    keep(&mut start, &piece, MAX_EXPLANATION);
                    filter =
                        filter.and_then(|mut filter| filter.push(&piece).is_ok().then_some(filter));
                    if filter.is_none() && start.len() >= MAX_EXPLANATION {
                        break;
                    }
                }
                Ok(None) => break,
                Err(HttpError::TooLarge(max)) => return Err(HttpError::TooLarge(max)),
                // The status is sufficient if the body cannot be read completely.
                Err(_) => {
                    filter = None;
                    break;
                }
            }
        }
        let bytes = pieces.read();
        let filtered = filter.and_then(|filter| filter.finish().ok());
        if let Some(filtered) = filtered.filter(|filtered| filtered.is_answer) {
            pieces.finish(&self.address.pool);
            return Ok(PlainAnswer::Json {
                status,
                filtered,
                bytes,
                memory: None,
            });
        }
        Ok(PlainAnswer::Refused {
            status,
            body: excerpt(&start, &self.address.secrets, MAX_SHOWN),
        })
    }

    fn explain(&self, error: HttpError) -> PlainError {
        let shown = &self.address.shown;
        match error {
            HttpError::Unreachable {
                late: Some(limit), ..
            } => PlainError::Timeout(limit),
            HttpError::Unreachable { failure, .. } => {
                PlainError::Unreachable(failure.detail.clone())
            }
            HttpError::Broken(what) => PlainError::Unreachable(format!("{shown}: {what}")),
            HttpError::Invalid(what) | HttpError::NotMcp(what) => PlainError::Invalid(what),
            HttpError::TooLarge(max) => PlainError::TooLarge(max),
            // These errors concern MCP sessions and rejected MCP requests, which do not occur here.
            HttpError::Answered(_) | HttpError::SessionGone(_) | HttpError::Refused(_) => {
                PlainError::Invalid("it is not JSON-RPC".to_owned())
            }
        }
    }
}

/// Adds the target of a redirect that was not followed to a response without a body.
fn with_redirect(answer: PlainAnswer, misdirected: Option<HttpError>) -> PlainAnswer {
    match (answer, misdirected) {
        (PlainAnswer::Refused { status, body }, Some(HttpError::NotMcp(detail)))
            if body.is_empty() =>
        {
            PlainAnswer::Refused {
                status,
                body: detail,
            }
        }
        (answer, _) => answer,
    }
}

/// Appends a piece to `start`, up to `max` bytes in total.
fn keep(start: &mut Vec<u8>, piece: &[u8], max: usize) {
    let room = max.saturating_sub(start.len()).min(piece.len());
    start.extend_from_slice(&piece[..room]);
}
