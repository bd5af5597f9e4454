//! The routes of the HTTP edge: every path, its methods and its service.
//!
//! Start reading at [`Route::find`]. `connection` passes a request to the service of its route. The
//! routes below [`ADMIN`] are listed with their description in `admin`.

use std::borrow::Cow;

use http::Method;
use narrows_gateway::Entrypoint;
use percent_encoding::percent_decode_str;

#[cfg(test)]
mod tests;

/// The service behind a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// Streamable HTTP (`mcp`).
    StreamableHttp,
    /// The stream of HTTP+SSE (`sse`).
    Sse,
    /// Messages that HTTP+SSE clients post (`sse`).
    Messages,
    /// WebSocket, with one message per text frame (`ws`).
    WebSocket,
    /// The pruner over plain JSON-RPC (`rpc`).
    Pruner,
    /// Plain JSON-RPC to one server (`forward`).
    Forward,
    /// The admin API (`admin`), if the settings have one.
    Admin,
    /// The index page (`pages`).
    Index,
    /// The health report (`pages`).
    Health,
    /// The readiness probe (`pages`).
    Ready,
    /// The metrics (`metrics`).
    Metrics,
    /// The response to unknown paths (`pages`).
    Unknown,
}

/// A row of the table: a path, its methods and the service behind it.
struct RouteRow(&'static str, &'static str, Service);

const MCP_METHODS: &str = "GET, POST, DELETE, OPTIONS";
const SSE_METHODS: &str = "GET, OPTIONS";
const WS_METHODS: &str = "GET";
const RPC_METHODS: &str = "POST, OPTIONS";
const PAGE_METHODS: &str = "GET, HEAD, OPTIONS";
const ADMIN_METHODS: &str = "GET, HEAD, POST, PUT, DELETE, OPTIONS";

/// The path to which HTTP+SSE clients post their messages.
pub(super) const MESSAGES: &str = "/messages";

/// The prefix of all admin API routes.
pub(super) const ADMIN: &str = "/api/v1";

/// The route table; the first match decides. Paths of client services may end with a slash.
const ROUTES: [RouteRow; 20] = [
    RouteRow("/mcp", MCP_METHODS, Service::StreamableHttp),
    RouteRow("/mcp/{endpoint}", MCP_METHODS, Service::StreamableHttp),
    RouteRow(
        "/servers/{server}/mcp",
        MCP_METHODS,
        Service::StreamableHttp,
    ),
    RouteRow("/sse", SSE_METHODS, Service::Sse),
    RouteRow("/sse/{endpoint}", SSE_METHODS, Service::Sse),
    RouteRow("/servers/{server}/sse", SSE_METHODS, Service::Sse),
    RouteRow(MESSAGES, RPC_METHODS, Service::Messages),
    RouteRow("/ws", WS_METHODS, Service::WebSocket),
    RouteRow("/ws/{endpoint}", WS_METHODS, Service::WebSocket),
    RouteRow("/servers/{server}/ws", WS_METHODS, Service::WebSocket),
    RouteRow("/rpc", RPC_METHODS, Service::Pruner),
    RouteRow(
        "/api/mcp-gateway/{server}/rpc",
        RPC_METHODS,
        Service::Forward,
    ),
    RouteRow(ADMIN, ADMIN_METHODS, Service::Admin),
    RouteRow("/", PAGE_METHODS, Service::Index),
    RouteRow("/health", PAGE_METHODS, Service::Health),
    RouteRow("/ready", PAGE_METHODS, Service::Ready),
    RouteRow("/metrics", PAGE_METHODS, Service::Metrics),
    // Some clients accept only URLs that end in the name of the transport. An endpoint whose name
    // begins a fixed path is reachable only by the rows above.
    RouteRow("/{endpoint}/mcp", MCP_METHODS, Service::StreamableHttp),
    RouteRow("/{endpoint}/sse", SSE_METHODS, Service::Sse),
    RouteRow("/{endpoint}/ws", WS_METHODS, Service::WebSocket),
];

/// Returns true if a fixed path begins with this segment, so that an endpoint of this name is not
/// reachable at `/{segment}/mcp`.
pub fn is_fixed_path(segment: &str) -> bool {
    let first = |row: &'static RouteRow| row.0.split('/').nth(1);
    let mut names = ROUTES.iter().filter_map(first);
    !segment.is_empty() && names.any(|name| name == segment && !name.starts_with('{'))
}

/// The route of a request, with decoded names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route<'a> {
    pub(super) service: Service,
    /// The methods of the path, in the format of an `Allow` header.
    pub(super) methods: &'static str,
    pub(super) target: Target<'a>,
}

impl<'a> Route<'a> {
    pub(super) fn find(path: &'a str) -> Route<'a> {
        let found = ROUTES.iter().find_map(|row| {
            let RouteRow(_, methods, service) = *row;
            let target = row.target(path)?;
            Some(Route {
                service,
                methods,
                target,
            })
        });
        found.unwrap_or(Route::UNKNOWN)
    }
}

impl Route<'_> {
    pub(super) const UNKNOWN: Route<'static> = Route {
        service: Service::Unknown,
        methods: PAGE_METHODS,
        target: Target::DEFAULT,
    };

    pub(super) fn allows(&self, method: &Method) -> bool {
        let mut methods = self.methods.split(", ");
        methods.any(|allowed| allowed == method.as_str())
    }
}

impl RouteRow {
    /// Returns the target named in the path, if the row matches.
    fn target<'a>(&self, path: &'a str) -> Option<Target<'a>> {
        let RouteRow(pattern, _, service) = *self;
        let path = match path.strip_suffix('/') {
            Some(path) if service.is_for_clients() => path,
            _ => path,
        };
        let mut target = Target::DEFAULT;
        let mut segments = path.split('/');
        for (at, wanted) in pattern.split('/').enumerate() {
            let found = segments.next()?;
            match wanted {
                "{endpoint}" if at == 1 && is_fixed_path(found) => return None,
                "{endpoint}" => target = Target::Endpoint(decode(found)?),
                "{server}" => target = Target::Server(decode(found)?),
                _ if wanted == found => {}
                _ => return None,
            }
        }
        let is_whole = segments.next().is_none();
        (is_whole || service == Service::Admin).then_some(target)
    }
}

impl Service {
    /// Returns true for the services of MCP and plain JSON-RPC clients.
    pub(super) fn is_for_clients(self) -> bool {
        match self {
            Service::StreamableHttp
            | Service::Sse
            | Service::Messages
            | Service::WebSocket
            | Service::Pruner
            | Service::Forward => true,
            Service::Admin
            | Service::Index
            | Service::Health
            | Service::Ready
            | Service::Metrics
            | Service::Unknown => false,
        }
    }

    /// Returns true if a request to this service may belong to an open session.
    pub(super) fn is_of_session(self) -> bool {
        matches!(self, Service::StreamableHttp | Service::Messages)
    }
}

/// The decoded name of an endpoint or server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Endpoint(Cow<'a, str>),
    Server(Cow<'a, str>),
}

impl Target<'_> {
    pub(super) const DEFAULT: Target<'static> = Target::Endpoint(Cow::Borrowed("default"));

    pub(super) fn entrypoint(&self) -> Entrypoint<'_> {
        match self {
            Target::Endpoint(name) => Entrypoint::Endpoint(name),
            Target::Server(id) => Entrypoint::Server(id),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Target::Endpoint(name) | Target::Server(name) => name,
        }
    }

    pub(super) fn into_owned(self) -> Target<'static> {
        match self {
            Target::Endpoint(name) => Target::Endpoint(Cow::Owned(name.into_owned())),
            Target::Server(id) => Target::Server(Cow::Owned(id.into_owned())),
        }
    }
}

/// Percent-decodes one path segment. Server ids may contain any character, including a slash.
fn decode(segment: &str) -> Option<Cow<'_, str>> {
    let mut escapes = segment.split('%').skip(1).map(str::as_bytes);
    let is_escape =
        |text: &[u8]| matches!(text, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if segment.is_empty() || !escapes.all(is_escape) {
        return None;
    }
    percent_decode_str(segment).decode_utf8().ok()
}
