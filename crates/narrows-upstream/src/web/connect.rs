//! Opens connections: TCP, proxies, TLS. Independent of the protocol used over them.

use std::error::Error as StdError;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::uri::{Authority, Scheme};
use ::http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper::service::Service;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::service::TowerToHyperService;
use rustls::ClientConfig;
use tokio::sync::OnceCell;

use crate::settings::ProxySettings;

/// The interval of TCP keep-alive probes. A host that has disappeared is detected after several of
/// them.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

pub(crate) struct Connector {
    tcp: HttpConnector,
    proxies: Matcher,
    /// Loaded on first use, because the system's root certificates are read from disk, in the worst
    /// case from several hundred files.
    tls: OnceCell<Arc<ClientConfig>>,
    timeout: Duration,
}

/// The target of a connection: scheme, host and port, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WebOrigin {
    scheme: Scheme,
    /// Host and port. The default port is omitted.
    authority: Authority,
}

/// The route to a site.
#[derive(Clone)]
pub(crate) enum Route {
    Direct,
    /// Plain HTTP: the proxy reads the requests and needs its credentials with each.
    Forward {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
    /// The proxy only forwards bytes. Used for TLS and for protocols other than HTTP.
    Tunnel {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
}

/// The reason why no connection could be opened.
#[derive(Debug)]
pub(crate) struct ConnectError {
    /// The reason, without secrets.
    pub(crate) reason: String,
    /// The time limit, if it was exceeded.
    pub(crate) late: Option<Duration>,
}

/// A byte stream to a site, independent of its layers.
pub(crate) trait ByteStream: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> ByteStream for T {}

impl Connector {
    pub(crate) fn new(proxy: &ProxySettings, timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_connect_timeout(Some(timeout));
        let proxies = Matcher::builder()
            .http(proxy.http.clone())
            .https(proxy.https.clone())
            .no(proxy.no_proxy.clone());
        Connector {
            tcp,
            proxies: proxies.build(),
            tls: OnceCell::new(),
            timeout,
        }
    }

    /// Uses the given root certificates instead of the system's.
    #[cfg(test)]
    pub(crate) fn with_tls(mut self, config: ClientConfig) -> Self {
        self.tls = OnceCell::new_with(Some(Arc::new(config)));
        self
    }

    pub(crate) fn route(&self, origin: &WebOrigin) -> Route {
        if origin.is_loopback() {
            return Route::Direct;
        }
        let Some(found) = self.proxies.intercept(&origin.uri("/")) else {
            return Route::Direct;
        };
        let (proxy, auth) = (found.uri().clone(), found.basic_auth().cloned());
        if origin.is_https() {
            Route::Tunnel { proxy, auth }
        } else {
            Route::Forward { proxy, auth }
        }
    }

    /// Returns the route for protocols other than HTTP, such as WebSocket.
    pub(crate) fn tunnel(&self, origin: &WebOrigin) -> Route {
        match self.route(origin) {
            Route::Forward { proxy, auth } => Route::Tunnel { proxy, auth },
            route => route,
        }
    }

    pub(crate) async fn connect(
        &self,
        origin: &WebOrigin,
        route: &Route,
    ) -> Result<Box<dyn ByteStream>, ConnectError> {
        match tokio::time::timeout(self.timeout, self.dial(origin, route)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(ConnectError {
                late: is_late(&*error).then_some(self.timeout),
                reason: explain(&*error),
            }),
            Err(_) => Err(ConnectError {
                late: Some(self.timeout),
                reason: format!("no connection within {} s", self.timeout.as_secs_f64()),
            }),
        }
    }

    async fn dial(
        &self,
        origin: &WebOrigin,
        route: &Route,
    ) -> Result<Box<dyn ByteStream>, BoxError> {
        let tcp = self.tcp.clone();
        match route {
            Route::Direct if origin.is_https() => {
                let tls = HttpsConnector::from((tcp, self.tls().await?));
                open(tls, origin.uri("/")).await
            }
            Route::Direct => open(tcp, origin.uri("/")).await,
            Route::Forward { proxy, .. } => {
                plain(proxy)?;
                open(tcp, proxy.clone()).await
            }
            Route::Tunnel { proxy, auth } => {
                plain(proxy)?;
                let mut tunnel = Tunnel::new(proxy.clone(), tcp);
                if let Some(auth) = auth {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                if !origin.is_https() {
                    return open(tunnel, origin.uri_with_port()).await;
                }
                let tls = HttpsConnector::from((tunnel, self.tls().await?));
                open(tls, origin.uri("/")).await
            }
        }
    }

    async fn tls(&self) -> Result<Arc<ClientConfig>, BoxError> {
        let load = || async {
            tokio::task::spawn_blocking(|| {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let mut config = ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()?
                    .with_native_roots()?
                    .with_no_client_auth();
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Ok::<_, BoxError>(Arc::new(config))
            })
            .await?
        };
        self.tls.get_or_try_init(load).await.cloned()
    }
}

impl WebOrigin {
    /// Returns the site of an absolute URL. WebSocket URLs use the same connections as HTTP.
    pub(crate) fn of(url: &Uri) -> Option<WebOrigin> {
        let (scheme, usual) = match url.scheme_str()? {
            "http" | "ws" => (Scheme::HTTP, 80),
            "https" | "wss" => (Scheme::HTTPS, 443),
            _ => return None,
        };
        let host = url.host()?.to_ascii_lowercase();
        let authority = match url.port_u16() {
            Some(port) if port != usual => format!("{host}:{port}"),
            _ => host,
        };
        let authority = Authority::try_from(authority).ok()?;
        Some(WebOrigin { scheme, authority })
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn uri(&self, path_and_query: &str) -> Uri {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path_and_query)
            .build()
            .expect("the parts come from a valid URL")
    }

    /// Returns the URL for a tunnel, with an explicit port, because the tunnel assumes port 443
    /// otherwise.
    fn uri_with_port(&self) -> Uri {
        let uri = self.uri("/");
        if uri.port().is_some() {
            return uri;
        }
        let authority = format!("{}:80", self.authority);
        let parts = Uri::builder().scheme(self.scheme.clone());
        let uri = parts.authority(authority).path_and_query("/").build();
        uri.expect("the parts come from a valid URL")
    }

    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns true for loopback addresses, which never use a proxy: a remote proxy would reach its
    /// own loopback. Go behaves the same; curl requires `no_proxy`.
    fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.ends_with(".localhost")
            || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;

async fn open<C>(connector: C, to: Uri) -> Result<Box<dyn ByteStream>, BoxError>
where
    TowerToHyperService<C>: Service<Uri>,
    <TowerToHyperService<C> as Service<Uri>>::Response: ByteStream + 'static,
    <TowerToHyperService<C> as Service<Uri>>::Error: Into<BoxError>,
{
    let stream = TowerToHyperService::new(connector).call(to).await;
    Ok(Box::new(stream.map_err(Into::into)?))
}

fn plain(proxy: &Uri) -> Result<(), BoxError> {
    match proxy.scheme_str() {
        Some("http") => Ok(()),
        other => Err(format!(
            "proxies of the kind {} are not supported",
            other.unwrap_or("unknown")
        )
        .into()),
    }
}

/// Returns true if the connector's or the system's time limit was exceeded.
fn is_late(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Combines the outermost error, which names the action, with the innermost one, which names the
/// cause.
fn explain(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let (what, why) = (error.to_string(), innermost.to_string());
    if what.contains(&why) {
        what
    } else {
        format!("{what}: {why}")
    }
}
