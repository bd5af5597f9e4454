//! Making connections: TCP, proxies, TLS. Knows nothing of what is sent over them.

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

/// A host that stopped existing without a word is noticed after a few of these.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

pub(crate) struct Connector {
    tcp: HttpConnector,
    proxies: Matcher,
    /// The system's roots are read from disk, some hundred files at worst, so
    /// only a gateway that speaks TLS pays for it.
    tls: OnceCell<Arc<ClientConfig>>,
    timeout: Duration,
}

/// The target of a connection: scheme, host and port, and nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    scheme: Scheme,
    /// Host and port, the port only where it is not the usual one.
    authority: Authority,
}

/// The way to a site.
#[derive(Clone)]
pub(crate) enum Route {
    Direct,
    /// Plain HTTP: the proxy reads our requests and needs its credentials with each.
    Forward {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
    /// The proxy only passes bytes: TLS, and whatever else it would not understand.
    Tunnel {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
}

/// The reason why there is no connection.
#[derive(Debug)]
pub(crate) struct ConnectError {
    /// A text without secrets.
    pub(crate) reason: String,
    /// The time limit, if that was exceeded.
    pub(crate) late: Option<Duration>,
}

/// A byte stream to a site, whatever it is made of.
pub(crate) trait Stream: Read + Write + Unpin + Send {}

impl<T: Read + Write + Unpin + Send> Stream for T {}

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

    /// With the roots of a test instead of the system's.
    #[cfg(test)]
    pub(crate) fn with_tls(mut self, config: ClientConfig) -> Self {
        self.tls = OnceCell::new_with(Some(Arc::new(config)));
        self
    }

    pub(crate) fn route(&self, site: &Site) -> Route {
        if site.is_loopback() {
            return Route::Direct;
        }
        let Some(found) = self.proxies.intercept(&site.uri("/")) else {
            return Route::Direct;
        };
        let (proxy, auth) = (found.uri().clone(), found.basic_auth().cloned());
        if site.is_https() {
            Route::Tunnel { proxy, auth }
        } else {
            Route::Forward { proxy, auth }
        }
    }

    /// The way for bytes that are not requests and answers, such as WebSocket's.
    pub(crate) fn tunnel(&self, site: &Site) -> Route {
        match self.route(site) {
            Route::Forward { proxy, auth } => Route::Tunnel { proxy, auth },
            route => route,
        }
    }

    pub(crate) async fn connect(
        &self,
        site: &Site,
        route: &Route,
    ) -> Result<Box<dyn Stream>, ConnectError> {
        match tokio::time::timeout(self.timeout, self.dial(site, route)).await {
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

    async fn dial(&self, site: &Site, route: &Route) -> Result<Box<dyn Stream>, BoxError> {
        let tcp = self.tcp.clone();
        match route {
            Route::Direct if site.is_https() => {
                let tls = HttpsConnector::from((tcp, self.tls().await?));
                open(tls, site.uri("/")).await
            }
            Route::Direct => open(tcp, site.uri("/")).await,
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
                if !site.is_https() {
                    return open(tunnel, site.uri_with_port()).await;
                }
                let tls = HttpsConnector::from((tunnel, self.tls().await?));
                open(tls, site.uri("/")).await
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

impl Site {
    /// The site of an absolute URL. WebSocket's begin with HTTP's connections.
    pub(crate) fn of(url: &Uri) -> Option<Site> {
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
        Some(Site { scheme, authority })
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
            .expect("the parts come from whole URLs")
    }

    /// For a tunnel, which takes a missing port for that of HTTPS.
    fn uri_with_port(&self) -> Uri {
        let uri = self.uri("/");
        if uri.port().is_some() {
            return uri;
        }
        let authority = format!("{}:80", self.authority);
        let parts = Uri::builder().scheme(self.scheme.clone());
        let uri = parts.authority(authority).path_and_query("/").build();
        uri.expect("the parts come from whole URLs")
    }

    pub(crate) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// A proxy elsewhere would reach its own loopback, not ours, so the proxy
    /// variables never apply to it (as Go has it; curl asks for `no_proxy`).
    fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host.ends_with(".localhost")
            || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;

async fn open<C>(connector: C, to: Uri) -> Result<Box<dyn Stream>, BoxError>
where
    TowerToHyperService<C>: Service<Uri>,
    <TowerToHyperService<C> as Service<Uri>>::Response: Stream + 'static,
    <TowerToHyperService<C> as Service<Uri>>::Error: Into<BoxError>,
{
    let stream = TowerToHyperService::new(connector).call(to).await;
    Ok(Box::new(stream.map_err(Into::into)?))
}

fn plain(proxy: &Uri) -> Result<(), BoxError> {
    match proxy.scheme_str() {
        Some("http") => Ok(()),
        other => Err(format!(
            "a proxy of kind {} is not supported",
            other.unwrap_or("unknown")
        )
        .into()),
    }
}

/// Returns true if time ran out, by the connector's own limit or by the
/// system's.
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

/// The outermost error says what was tried, the innermost what went wrong.
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
