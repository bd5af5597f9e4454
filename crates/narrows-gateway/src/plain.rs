//! The adapter of plain JSON-RPC: forwards one object to the named server and returns one object,
//! with its longest strings cut in the middle.
//!
//! A plain JSON-RPC server receives the client's bytes unchanged in a POST, which needs no link.
//! Any other server is called over its shared link ([`link`]), which has its own handshake, ids and
//! progress tokens. The entry point is [`PlainRoutes::forward`].

mod link;
mod request;
mod restricted;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use narrows_policy::Principal;
use narrows_policy::names;
use narrows_policy::permission::Rules;
use narrows_policy::preset::{DirectPreset, Preset, Presets, ToolFilter};
use narrows_shape::{AnswerMask, Mask};
use narrows_wire::{ClientHello, ItemKind, Raw, Revision};

pub use self::request::PlainRequest;
use self::restricted::RestrictedRoute;
use crate::call::{CallContext, LinkChoice, LinkSource, unreachable};
use crate::caller::Caller;
use crate::error::{Error, Fault, did_you_mean};
use crate::known_clients::ResultTraits;
use crate::meter::{PLAIN, RequestEnd};
use crate::observer::{CallObserver, PlainOutcome, ReplySizes, RequestObserver};
use crate::permit;
use crate::settings::{RemoteProtocol, ServerSettings, UpstreamKind};
use crate::subscribers::Subscribers;
use narrows_upstream::exchange::{Asks, Cancel, EventSink};
use narrows_upstream::memory::{MemoryPermit, SMALL};
use narrows_upstream::{
    BodyFilter, Error as UpstreamError, Failure, FilteredBody, HttpClient, InvalidBody, Offer,
    PlainAnswer, PlainServer, Post, Upstream,
};

/// The response of a server.
#[derive(Debug)]
pub enum Reply {
    /// The server's own message, masked, with its HTTP status.
    Message { status: StatusCode, body: Bytes },
    /// A masked result, for a response with the request's id.
    Result(Raw),
    /// A masked error object, for a response with the request's id.
    Error(Raw),
    /// No content.
    Accepted,
}

/// The reason why a request has no reply.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ForwardError {
    #[error("Unknown server '{name}'{}", did_you_mean(nearest))]
    UnknownServer {
        name: String,
        nearest: Vec<String>,
        known: Vec<String>,
    },
    /// The object is not a valid request, which only plain JSON-RPC servers would accept.
    #[error("Invalid request: {0}")]
    NoRequest(&'static str),
    #[error("Server '{server}' returned HTTP {status} without a JSON-RPC message")]
    Status {
        server: String,
        status: StatusCode,
        /// The beginning of the response body, without the gateway's secrets.
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
    /// Removes the names of servers that the client may not know about.
    pub(crate) fn redacted_for(mut self, may_know: impl Fn(&str) -> bool) -> ForwardError {
        if let ForwardError::UnknownServer { nearest, known, .. } = &mut self {
            nearest.retain(|id| may_know(id));
            known.retain(|id| may_know(id));
        }
        self
    }
}

/// All servers that are reachable by plain JSON-RPC.
pub(crate) struct PlainRoutes {
    /// The routes, with configured servers first.
    routes: Vec<PlainRoute>,
    services: Arc<PlainServices>,
}

/// The parts of the adapter that are kept when the configuration changes.
pub(crate) struct PlainServices {
    pub(crate) http: HttpClient,
    pub(crate) max_message_bytes: usize,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) observer: RequestObserver,
}

/// A server for plain JSON-RPC only, which is not supervised.
pub(crate) struct PlainOnly {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) mask: Mask,
    pub(crate) timeout: Duration,
}

struct PlainRoute {
    upstream: Arc<Upstream>,
    /// True for a server with a supervised connection and lists.
    is_supervised: bool,
    transport: PlainTransport,
    preset: Option<Arc<Preset>>,
    filter: ToolFilter,
    mask: Mask,
    timeout: Duration,
}

/// The means of sending a request to its server.
enum PlainTransport {
    /// A POST of the client's own bytes, or the error if the address is invalid.
    Post(Result<Box<PlainServer>, Failure>),
    /// The server's shared link.
    Link,
}

/// A reply with the size of the original and the number of strings that were cut.
struct ForwardedReply {
    reply: Reply,
    bytes: usize,
    cut_strings: usize,
}

/// A request with its route and its context.
struct PlainCall<'a> {
    route: &'a PlainRoute,
    request: &'a PlainRequest,
    method: &'a str,
    context: CallContext<'a>,
}

impl PlainRoutes {
    pub(crate) fn new(
        servers: &[(&Arc<Upstream>, &ServerSettings)],
        others: Vec<PlainOnly>,
        presets: &Presets,
        services: Arc<PlainServices>,
    ) -> PlainRoutes {
        let transport = |upstream: &Upstream| match &upstream.settings.kind {
            UpstreamKind::Remote(remote) if remote.protocol == RemoteProtocol::Rpc => {
                PlainTransport::Post(PlainServer::new(&services.http, remote).map(Box::new))
            }
            _ => PlainTransport::Link,
        };
        let supervised = servers.iter().map(|(upstream, settings)| PlainRoute {
            upstream: (*upstream).clone(),
            is_supervised: true,
            transport: transport(upstream),
            preset: presets.direct(&settings.preset),
            filter: settings.tool_filter.clone(),
            mask: settings.mask,
            timeout: settings.rpc_timeout,
        });
        let others = others.into_iter().map(|server| PlainRoute {
            transport: transport(&server.upstream),
            upstream: server.upstream,
            is_supervised: false,
            preset: presets.direct(&DirectPreset::AsDefault),
            filter: ToolFilter::default(),
            mask: server.mask,
            timeout: server.timeout,
        });
        let routes = supervised.chain(others).collect();
        PlainRoutes { routes, services }
    }

    pub(crate) async fn forward(
        &self,
        server: &str,
        principal: &Principal,
        additional: Option<Arc<Preset>>,
        request: &PlainRequest,
    ) -> Result<Reply, ForwardError> {
        let method = request.method().and_then(Raw::as_text).unwrap_or_default();
        let requests = &self.services.observer;
        let observer = requests.begin_for(principal, &method, request.body_len());
        let number = observer.accept();
        let caller = caller(principal);
        let outcome = match self.route(server, additional.as_ref()) {
            Ok(route) => {
                // Events of this request are not delivered, and the client cannot be asked.
                let (sink, _) = EventSink::channel(1);
                let call = PlainCall {
                    route,
                    request,
                    method: &method,
                    context: CallContext {
                        caller: &caller,
                        links: &SharedLinks,
                        // Every request has a distinct owner, which no session uses.
                        owner: u64::MAX - number,
                        memory: request.memory(),
                        sink,
                        cancel: Arc::new(Cancel::default()),
                        observer: &observer,
                    },
                };
                self.carry(call, additional).await
            }
            Err(unknown) => Err(unknown),
        };
        finish(observer, server, &outcome);
        outcome.map(|carried| carried.reply)
    }

    /// Returns the id of the server that `name` refers to.
    pub(crate) fn id_of(&self, name: &str) -> Option<String> {
        let route = self.route(name, None).ok()?;
        Some(route.upstream.id.to_string())
    }

    /// Finds a server by its id. If no id matches, finds it by its slug.
    fn route(
        &self,
        name: &str,
        additional: Option<&Arc<Preset>>,
    ) -> Result<&PlainRoute, ForwardError> {
        let all = || self.routes.iter();
        let found = all().find(|route| *route.upstream.id == *name);
        let found = found.or_else(|| all().find(|route| *route.upstream.slug == *name));
        found.ok_or_else(|| {
            let shown = |route: &&PlainRoute| route.is_shown(additional);
            let known = || all().filter(shown).map(|route| &*route.upstream.id);
            ForwardError::UnknownServer {
                name: name.chars().take(200).collect(),
                nearest: names::nearest(name, known()),
                known: known().map(str::to_owned).collect(),
            }
        })
    }

    async fn carry(
        &self,
        call: PlainCall<'_>,
        additional: Option<Arc<Preset>>,
    ) -> Result<ForwardedReply, ForwardError> {
        let PlainCall { route, request, .. } = call;
        if !route.upstream.settings.enabled {
            return Err(route.upstream.down().into());
        }
        if route.is_supervised {
            // A request that names its item twice is refused, with or without a preset.
            if let Some((_, subject)) = request.subject()? {
                call.context.observer.named(&subject);
            }
        }
        let preset = Preset::both(route.preset.clone(), additional);
        let rules = Rules {
            preset: preset.as_deref(),
            filter: Some(&route.filter).filter(|filter| !filter.is_empty()),
        };
        if rules.bind() {
            request.refuse_case_variants()?;
            let under = RestrictedRoute { route, rules };
            if let Some(carried) = under.answer_restricted(request).await? {
                return Ok(carried);
            }
        }
        match &route.transport {
            PlainTransport::Post(server) => {
                call.post(server, self.services.max_message_bytes).await
            }
            PlainTransport::Link => link::carry(&call, &self.services.subscribers).await,
        }
    }
}

impl PlainRoute {
    /// Returns true if the preset permits anything of the server.
    fn is_shown(&self, additional: Option<&Arc<Preset>>) -> bool {
        let preset = Preset::both(self.preset.clone(), additional.cloned());
        let server = permit::server_name(&self.upstream);
        let rules = Rules {
            preset: preset.as_deref(),
            filter: None,
        };
        let offer = Offer::default();
        permit::named(rules, ItemKind::Server, server, &offer, server.id).is_none()
    }
}

impl PlainCall<'_> {
    /// Sends the client's own bytes.
    async fn post(
        &self,
        server: &Result<Box<PlainServer>, Failure>,
        max: usize,
    ) -> Result<ForwardedReply, ForwardError> {
        let PlainCall { route, request, .. } = self;
        let server = server
            .as_ref()
            .map_err(|failure| unreachable(&route.upstream, failure.detail.clone()))?;
        let post = Post {
            body: request.body().clone(),
            marks: request.marks().cloned(),
            silent: request.is_notification(),
            filter: Box::new(MaskFilter(AnswerMask::new(route.mask))),
            timeout: route.timeout,
            max_bytes: max,
            memory: request.memory().map(|memory| memory.responses.clone()),
        };
        let answer = self.context.post(&route.upstream, server, post).await?;
        let accepted = |bytes| ForwardedReply {
            reply: Reply::Accepted,
            bytes,
            cut_strings: 0,
        };
        match answer {
            PlainAnswer::Nothing(_) => Ok(accepted(0)),
            PlainAnswer::Json {
                status,
                filtered,
                bytes,
                memory,
            } if filtered.is_answer => Ok(ForwardedReply {
                reply: Reply::Message {
                    status,
                    body: charged(filtered.body.into(), memory),
                },
                bytes,
                cut_strings: filtered.cut_strings,
            }),
            // Frameworks return `null` or `{}` for a handler without a return value, such as one
            // for notifications.
            PlainAnswer::Json { bytes, .. } => Ok(accepted(bytes)),
            PlainAnswer::Refused { status, body } => Err(ForwardError::Status {
                server: route.upstream.id.to_string(),
                status,
                body,
            }),
        }
    }
}

/// Uses the shared link of every server.
struct SharedLinks;

impl LinkSource for SharedLinks {
    fn link_to<'a>(&'a self, upstream: &'a Arc<Upstream>) -> LinkChoice<'a> {
        LinkChoice::Known(upstream.shared_link().map_err(Error::from))
    }

    fn needs_own_link(&self, _: &Upstream) -> bool {
        false
    }
}

/// Returns the caller for a request without a handshake.
fn caller(principal: &Principal) -> Caller {
    Caller {
        endpoint: PLAIN.into(),
        principal: principal.clone(),
        revision: Revision::LATEST_LEGACY,
        client: ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::empty_object(),
        },
        asks: Asks::default(),
        result_traits: ResultTraits::UNKNOWN,
        gateway: None,
    }
}

fn finish(
    observer: CallObserver<'_>,
    server: &str,
    outcome: &Result<ForwardedReply, ForwardError>,
) {
    if let Err(ForwardError::Core(error)) = outcome {
        observer.denied(error);
    }
    let ended = outcome.as_ref().map(|carried| &carried.reply).into();
    let reply = match outcome {
        Ok(carried) => Ok(ReplySizes {
            bytes: carried.bytes,
            bytes_sent: carried.reply.len(),
            cut_strings: carried.cut_strings,
        }),
        Err(error) => Err(error.to_string()),
    };
    observer.finish_plain(server, PlainOutcome { ended, reply });
}

/// Returns a response body that holds its memory charge.
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

/// Records the end of a plain JSON-RPC request. The content of a server's own message is not
/// examined, so any such message counts as a success.
impl From<Result<&Reply, &ForwardError>> for RequestEnd {
    fn from(answer: Result<&Reply, &ForwardError>) -> RequestEnd {
        match answer {
            Ok(Reply::Error(error)) => {
                RequestEnd::failed(Fault::Upstream, "upstream_error", error.len())
            }
            Ok(reply) => RequestEnd::ok(reply.len()),
            Err(ForwardError::Core(error)) => error.into(),
            Err(ForwardError::UnknownServer { .. }) => {
                RequestEnd::failed(Fault::Client, "unknown_server", 0)
            }
            Err(ForwardError::NoRequest(_)) => {
                RequestEnd::failed(Fault::Client, "invalid_request", 0)
            }
            Err(ForwardError::Status { .. }) => {
                RequestEnd::failed(Fault::Upstream, "upstream_status", 0)
            }
        }
    }
}
