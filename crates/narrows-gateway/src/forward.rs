//! The route of plain JSON-RPC: one object to one server by its name, one
//! object back, with the middle of its longest strings cut out.
//!
//! A server of plain JSON-RPC gets the client's own bytes, by a POST that
//! depends on no link. Any other server is asked over its shared link
//! ([`link`]), which has a hello, ids and progress tokens of its own. Enter at
//! [`Forwarding::forward`].

mod link;
mod request;
mod restricted;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use narrows_policy::Principal;
use narrows_policy::names;
use narrows_policy::permission::Rules;
use narrows_policy::preset::DirectPreset;
use narrows_policy::preset::{Preset, Presets, ServerName, ToolFilter};
use narrows_shape::{AnswerMask, Mask};
use narrows_wire::{ItemKind, Raw};

pub use self::request::PlainRequest;
use self::restricted::Restricted;
use crate::error::{Error, did_you_mean};
use crate::events::{self, Tag, Value};
use crate::gateway::Making;
use crate::meter::{Timed, Trace, Watch};
use crate::permit;
use crate::settings::{RemoteProtocol, RemoteSettings, RpcServer, ServerSettings, UpstreamKind};
use crate::subscribers::Subscribers;
use narrows_upstream::memory::{MemoryPermit, SMALL};
use narrows_upstream::{
    BodyFilter, Error as UpstreamError, Failure, FilteredBody, InvalidBody, Offer, PlainAnswer,
    PlainError, PlainServer, Post, Upstream, UpstreamObserver,
};

/// What a server answered.
#[derive(Debug)]
pub enum Reply {
    /// A message of the server's own, masked, and the status that it came with.
    Message { status: StatusCode, body: Bytes },
    /// A masked result, to be sent under the request's id.
    Result(Raw),
    /// A masked error object, to be sent under the request's id.
    Error(Raw),
    /// There is nothing to say.
    Accepted,
}

/// Why there is no reply.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ForwardError {
    #[error("Unknown server '{name}'{}", did_you_mean(nearest))]
    UnknownServer {
        name: String,
        nearest: Vec<String>,
        known: Vec<String>,
    },
    /// Only servers of plain JSON-RPC take any object at all.
    #[error("Invalid request: {0}")]
    NoRequest(&'static str),
    #[error("Server '{server}' answered HTTP {status} without JSON-RPC")]
    Status {
        server: String,
        status: StatusCode,
        /// The beginning of what it said; holds no secret of ours.
        body: String,
    },
    #[error(transparent)]
    Core(#[from] Error),
}

impl From<UpstreamError> for ForwardError {
    fn from(error: UpstreamError) -> Self {
        ForwardError::Core(error.into())
    }
}

impl ForwardError {
    /// As it is told to somebody who may know of only some servers.
    pub(crate) fn told_to(mut self, may_know: impl Fn(&str) -> bool) -> ForwardError {
        if let ForwardError::UnknownServer { nearest, known, .. } = &mut self {
            nearest.retain(|id| may_know(id));
            known.retain(|id| may_know(id));
        }
        self
    }
}

/// All servers that this route knows.
pub(crate) struct Forwarding {
    /// Upstreams come first.
    destinations: Vec<Destination>,
    max_message_bytes: usize,
    /// Goes on when servers change.
    count: Arc<AtomicU64>,
    subscribers: Arc<Subscribers>,
    watch: Watch,
}

struct Destination {
    id: Arc<str>,
    way: Way,
    /// None for a server that is known to this route alone.
    upstream: Option<Arc<Upstream>>,
    preset: Option<Arc<Preset>>,
    filter: ToolFilter,
    mask: Mask,
    timeout: Duration,
    /// Of a server that is no upstream.
    observer: Option<Arc<dyn UpstreamObserver>>,
}

/// How a server is reached.
enum Way {
    /// Or why it cannot be: its address is none.
    Post(Result<Box<PlainServer>, Failure>),
    Link(Arc<Upstream>),
}

/// A reply, and what it was made of, for the log.
struct Carried {
    reply: Reply,
    bytes: usize,
    cut_strings: usize,
}

impl Forwarding {
    pub(crate) fn new(
        upstreams: &[(&Arc<Upstream>, &ServerSettings)],
        others: &[RpcServer],
        presets: &Presets,
        making: &Making,
    ) -> Forwarding {
        let around = &making.surroundings;
        let post = |remote: &RemoteSettings| {
            Way::Post(PlainServer::new(&around.http, remote).map(Box::new))
        };
        let upstreams = upstreams.iter().map(|(upstream, settings)| Destination {
            id: upstream.id.clone(),
            way: match &settings.upstream.kind {
                UpstreamKind::Remote(remote) if remote.protocol == RemoteProtocol::Rpc => {
                    post(remote)
                }
                _ => Way::Link((*upstream).clone()),
            },
            upstream: Some((*upstream).clone()),
            preset: presets.direct(&settings.preset),
            filter: settings.tool_filter.clone(),
            mask: settings.mask,
            observer: None,
            timeout: settings.rpc_timeout,
        });
        let others = others.iter().map(|server| Destination {
            way: post(&server.remote),
            observer: Some(making.observer(&server.id)),
            id: server.id.as_str().into(),
            upstream: None,
            preset: presets.direct(&DirectPreset::AsDefault),
            filter: ToolFilter::default(),
            mask: server.mask,
            timeout: server.timeout,
        });
        Forwarding {
            destinations: upstreams.chain(others).collect(),
            max_message_bytes: around.limits.max_message_bytes,
            count: making.forwarded.clone(),
            subscribers: making.subscribers.clone(),
            watch: Watch::plain(&making.meter, &making.feed),
        }
    }

    pub(crate) async fn forward(
        &self,
        server: &str,
        principal: &Principal,
        besides: Option<Arc<Preset>>,
        request: &PlainRequest,
    ) -> Result<Reply, ForwardError> {
        let began = Instant::now();
        // No session has the number 0.
        let tag = Tag::of(0, self.count.fetch_add(1, Ordering::Relaxed) + 1);
        let method = request.method().and_then(Raw::as_text).unwrap_or_default();
        let watched = self.watch.begin_for(principal, &method, request.body_len());
        let carried = match self.destination(server, besides.as_ref()) {
            Ok(destination) => {
                let trace = &watched.trace;
                let about = (principal, request);
                self.carry(destination, besides, tag, about, &method, trace)
                    .await
            }
            Err(unknown) => Err(unknown),
        };
        watched.end(carried.as_ref().map(|carried| &carried.reply));
        let about = || {
            let method = request.method();
            let elapsed = began.elapsed().as_micros() as u64;
            vec![
                ("server", events::cut(server)),
                ("method", method.map_or(Value::Null, events::shown)),
                ("elapsed_us", Value::Number(elapsed)),
            ]
        };
        match &carried {
            Ok(carried) => events::step("forward.response", tag, || {
                let mut about = about();
                about.push(("bytes", carried.bytes.into()));
                about.push(("bytes_sent", carried.reply.len().into()));
                about.push(("cut_strings", carried.cut_strings.into()));
                about
            }),
            Err(error) => events::trouble("forward.error", tag, || {
                let mut about = about();
                about.push(("error", events::cut(&error.to_string())));
                about
            }),
        }
        carried.map(|carried| carried.reply)
    }

    /// The id of the server that `name` leads to.
    pub(crate) fn id_of(&self, name: &str) -> Option<String> {
        let destination = self.destination(name, None).ok()?;
        Some(destination.id.to_string())
    }

    /// By id; by slug where no id is the same.
    fn destination(
        &self,
        name: &str,
        besides: Option<&Arc<Preset>>,
    ) -> Result<&Destination, ForwardError> {
        let all = || self.destinations.iter();
        let by_slug = |destination: &&Destination| {
            let upstream = destination.upstream.as_ref();
            upstream.is_some_and(|upstream| &*upstream.slug == name)
        };
        let found = all().find(|destination| *destination.id == *name);
        found.or_else(|| all().find(by_slug)).ok_or_else(|| {
            let shown = |destination: &&Destination| destination.is_shown(besides);
            let known = || all().filter(shown).map(|destination| &*destination.id);
            ForwardError::UnknownServer {
                name: name.chars().take(200).collect(),
                nearest: names::nearest(name, known()),
                known: known().map(str::to_owned).collect(),
            }
        })
    }

    async fn carry(
        &self,
        destination: &Destination,
        besides: Option<Arc<Preset>>,
        tag: Tag,
        (principal, request): (&Principal, &PlainRequest),
        method: &str,
        trace: &Trace,
    ) -> Result<Carried, ForwardError> {
        let upstream = destination.upstream.as_ref();
        if let Some(upstream) = upstream.filter(|upstream| !upstream.settings.enabled) {
            return Err(upstream.down().into());
        }
        if upstream.is_some() {
            // What is named twice is not passed on, preset or not.
            if let Some((_, subject)) = request.subject()? {
                trace.named(&subject);
            }
        }
        let preset = Preset::both(destination.preset.clone(), besides);
        let rules = Rules {
            preset: preset.as_deref(),
            filter: Some(&destination.filter).filter(|filter| !filter.is_empty()),
        };
        if rules.bind() {
            request.refuse_twins()?;
            let told = |error: &Error| permit::tell_denied(tag, error);
            let under = Restricted { destination, rules };
            if let Some(carried) = under.look_at(request).await.inspect_err(told)? {
                return Ok(carried);
            }
        }
        let max = self.max_message_bytes;
        let timed = Timed::begin(&destination.id, destination.observer(), method, trace);
        let carried = match &destination.way {
            Way::Post(server) => destination.post(server, request, max).await,
            Way::Link(upstream) => {
                let Destination { mask, timeout, .. } = destination;
                link::carry(
                    upstream,
                    &self.subscribers,
                    *mask,
                    *timeout,
                    tag,
                    request,
                    principal,
                )
                .await
            }
        };
        timed.end(carried.as_ref().map(|carried| &carried.reply));
        carried
    }
}

impl Destination {
    fn observer(&self) -> &dyn UpstreamObserver {
        match (&self.upstream, &self.observer) {
            (Some(upstream), _) => upstream.observer(),
            (None, Some(observer)) => &**observer,
            (None, None) => unreachable!("a server that is no upstream has an observer"),
        }
    }

    /// Returns true if anything of it may be used.
    fn is_shown(&self, besides: Option<&Arc<Preset>>) -> bool {
        let preset = Preset::both(self.preset.clone(), besides.cloned());
        let own = ServerName {
            id: &self.id,
            slug: &self.id,
        };
        let server = self
            .upstream
            .as_ref()
            .map_or(own, |upstream| permit::server_name(upstream));
        let rules = Rules {
            preset: preset.as_deref(),
            filter: None,
        };
        permit::named(
            rules,
            ItemKind::Server,
            server,
            &Offer::default(),
            server.id,
        )
        .is_none()
    }

    async fn post(
        &self,
        server: &Result<Box<PlainServer>, Failure>,
        request: &PlainRequest,
        max: usize,
    ) -> Result<Carried, ForwardError> {
        let server = server
            .as_ref()
            .map_err(|failure| self.down(failure.detail.clone()))?;
        let asked = server.ask(Post {
            body: request.body().clone(),
            marks: request.marks().cloned(),
            silent: request.is_notification(),
            filter: Box::new(MaskFilter(AnswerMask::new(self.mask))),
            timeout: self.timeout,
            max_bytes: max,
            memory: request.memory().map(|memory| memory.responses.clone()),
        });
        let answer = asked.await.map_err(|trouble| self.error(trouble))?;
        let accepted = |bytes| Carried {
            reply: Reply::Accepted,
            bytes,
            cut_strings: 0,
        };
        match answer {
            PlainAnswer::Nothing(_) if request.is_notification() => Ok(accepted(0)),
            PlainAnswer::Nothing(status) => {
                let told = format!("HTTP {status} without an answer");
                Err(self.invalid(told).into())
            }
            PlainAnswer::Json {
                status,
                filtered,
                bytes,
                memory,
            } if filtered.is_answer => Ok(Carried {
                reply: Reply::Message {
                    status,
                    body: charged(filtered.body.into(), memory),
                },
                bytes,
                cut_strings: filtered.cut_strings,
            }),
            // Frameworks make `null` or `{}` of a handler that returns
            // nothing, which is all that one for notifications can return.
            PlainAnswer::Json { bytes, .. } if request.is_notification() => Ok(accepted(bytes)),
            PlainAnswer::Json { .. } => {
                let told = "it is JSON, but no object with a result or an error";
                Err(self.invalid(told.to_owned()).into())
            }
            PlainAnswer::Refused { status, body } => Err(ForwardError::Status {
                server: self.id.to_string(),
                status,
                body,
            }),
        }
    }

    fn error(&self, trouble: PlainError) -> Error {
        let server = self.id.to_string();
        match trouble {
            PlainError::Unreachable(reason) => self.down(reason),
            PlainError::Timeout(after) => UpstreamError::Timeout { server, after }.into(),
            PlainError::Invalid(reason) => self.invalid(reason),
            PlainError::TooLarge(max) => UpstreamError::TooLarge { server, max }.into(),
        }
    }

    fn down(&self, reason: String) -> Error {
        let server = self.id.to_string();
        UpstreamError::Down {
            server,
            reason,
            next_try: None,
        }
        .into()
    }

    fn invalid(&self, reason: String) -> Error {
        let server = self.id.to_string();
        UpstreamError::Invalid { server, reason }.into()
    }
}

/// An answer with the charge for it.
fn charged(body: Bytes, memory: Option<MemoryPermit>) -> Bytes {
    match memory {
        Some(mut permit) if body.len() >= SMALL => permit.split(body.len()).attach(body),
        _ => body,
    }
}

/// Masks a body while it streams.
struct MaskFilter(AnswerMask);

impl BodyFilter for MaskFilter {
    fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), InvalidBody> {
        let pushed = self.0.push(piece);
        pushed.map_err(|error| InvalidBody(error.to_string()))
    }

    fn finish(self: Box<Self>) -> Result<FilteredBody, InvalidBody> {
        let masked = self.0.finish();
        let masked = masked.map_err(|error| InvalidBody(error.to_string()))?;
        Ok(FilteredBody {
            body: masked.body,
            is_answer: masked.is_answer,
            cut_strings: masked.cut_strings,
        })
    }
}

impl Reply {
    pub(crate) fn len(&self) -> usize {
        match self {
            Reply::Message { body, .. } => body.len(),
            Reply::Result(raw) | Reply::Error(raw) => raw.len(),
            Reply::Accepted => 0,
        }
    }
}
