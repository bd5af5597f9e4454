//! The client of the admin API: HTTP/1.1, JSON in and out, everything limited.
//!
//! It knows how to ask a gateway and how to tell what went wrong, and nothing
//! of what the answers mean. The admin token goes to one gateway, in one
//! header; redirects are not followed, and a token that comes back in an
//! answer is blotted out before anybody can print it.

mod choice;
mod explain;
mod site;
mod trouble;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use narrows_wire::sse::Decoder;
use narrows_wire::text::percent_encoded;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::cli::operator::{Asking, Reach};
use crate::config::Environment;

use self::choice::{Chosen, TokenSource, choose};
use self::site::Site;
pub(crate) use self::trouble::{Trouble, told};

/// A longer answer is not read.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// A longer happening is not read.
const MAX_EVENT: usize = 1024 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A stream of happenings has a comment every 15 s, so that one that is silent
/// for so long is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// A gateway that can be asked. It has no `Debug`: the token is not to be printed.
pub(crate) struct AdminClient {
    site: Site,
    authorization: HeaderValue,
    secret: String,
    source: TokenSource,
    timeout: Duration,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl AdminClient {
    /// The gateway that the options mean.
    pub(crate) fn of(asking: &Asking, environment: &Environment) -> Result<Self, Trouble> {
        AdminClient::at(asking.url.as_deref(), &asking.reach, environment)
    }

    /// The gateway at `url`, or the one that runs.
    pub(crate) fn at(
        url: Option<&str>,
        reach: &Reach,
        environment: &Environment,
    ) -> Result<Self, Trouble> {
        let Chosen {
            site,
            token,
            source,
        } = choose(url, reach, environment)?;
        let authorization = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut authorization = authorization.map_err(|_| {
            Trouble::usage(format!("{source} holds characters that no header carries"))
        })?;
        authorization.set_sensitive(true);
        let connector = connector(site.is_https())
            .map_err(|error| Trouble::failed(format!("TLS cannot be used: {error}")))?;
        let client = Client::builder(TokioExecutor::new())
            // Changes must not be sent twice, nor over a connection that the
            // gateway is just about to close.
            .retry_canceled_requests(false)
            .pool_max_idle_per_host(0)
            .build(connector);
        Ok(AdminClient {
            site,
            authorization,
            secret: token,
            source,
            timeout: Duration::from_secs(reach.timeout),
            client,
        })
    }

    /// Returns true if the gateway runs on this machine, judging by its address.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.source, TokenSource::Run(_)) || self.site.is_loopback()
    }

    pub(crate) async fn get(&self, resource: Resource) -> Result<Value, Trouble> {
        self.send(Method::GET, resource, None).await
    }

    /// The whole answer; `null` where it has no content.
    pub(crate) async fn send(
        &self,
        method: Method,
        resource: Resource,
        body: Option<&Value>,
    ) -> Result<Value, Trouble> {
        let deadline = Instant::now() + self.timeout;
        let response = self.request(&method, resource, body, "application/json");
        let response = timeout_at(deadline, response).await;
        let response = response.map_err(|_| self.too_slow())??;
        let (head, body) = response.into_parts();
        let body = timeout_at(deadline, Limited::new(body, MAX_ANSWER).collect()).await;
        let body = body.map_err(|_| self.too_slow())?;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => self.not_understood("it is longer than 64 MiB"),
            false => self.broken_off(&method),
        })?;
        let text = self.without_token(&body.to_bytes());
        if !head.status.is_success() {
            return Err(self.refused(head.status, &text));
        }
        if head.status == StatusCode::NO_CONTENT {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|_| self.not_understood("it is not JSON"))
    }

    /// What happens there, from now on.
    pub(crate) async fn events(&self) -> Result<Events<'_>, Trouble> {
        let resource = Resource::at(&["events"]).with("calls", "true");
        let response = self.request(&Method::GET, resource, None, "text/event-stream");
        let response = timeout(self.timeout, response).await;
        let response = response.map_err(|_| self.too_slow())??;
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if status.is_success() && !kind.starts_with("text/event-stream") {
            return Err(self.not_understood("it is no stream of events"));
        }
        let body = response.into_body();
        if !status.is_success() {
            let body = timeout(self.timeout, Limited::new(body, MAX_EVENT).collect()).await;
            let body = body.map_err(|_| self.too_slow())?;
            let body = body.map_err(|_| self.broken_off(&Method::GET))?.to_bytes();
            return Err(self.refused(status, &self.without_token(&body)));
        }
        Ok(Events {
            client: self,
            body,
            decoder: Decoder::new(MAX_EVENT),
        })
    }

    /// An answer as the type that it should have.
    pub(crate) fn understood<T: DeserializeOwned>(&self, value: &Value) -> Result<T, Trouble> {
        // What serde says quotes the value, which is of no use to the user.
        T::deserialize(value).map_err(|_| self.not_understood("it has another form"))
    }

    async fn request(
        &self,
        method: &Method,
        resource: Resource,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<Response<Incoming>, Trouble> {
        let uri = format!("{}/api/v1{}", self.site, resource.0);
        let uri = Uri::try_from(uri).map_err(|_| Trouble::usage("a name is too long"))?;
        let mut request = Request::builder()
            .method(method.clone())
            .uri(uri)
            .header(ACCEPT, accept)
            .header(AUTHORIZATION, self.authorization.clone());
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::from(body));
        let request = request.expect("every part of it has been parsed");
        let response = self.client.request(request).await;
        response.map_err(|error| self.no_answer(method, &error))
    }

    /// A text of the gateway that may be printed.
    fn without_token(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        match text.contains(&self.secret) {
            true => text.replace(&self.secret, "(the token)"),
            false => text.into_owned(),
        }
    }
}

/// What the gateway tells while it happens.
pub(crate) struct Events<'a> {
    client: &'a AdminClient,
    body: Incoming,
    decoder: Decoder,
}

/// One of them.
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events<'_> {
    /// The next one; `None` when the gateway ends.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Trouble> {
        let client = self.client;
        loop {
            let event = self.decoder.next();
            let event = event.map_err(|_| client.not_understood("an event is too long"))?;
            if let Some(event) = event.filter(|event| !event.data.is_empty()) {
                let text = client.without_token(&event.data);
                let data = serde_json::from_str(&text);
                let data = data.map_err(|_| client.not_understood("an event is not JSON"))?;
                let name = event.event.as_deref().unwrap_or("message").to_owned();
                return Ok(Some(Event { name, data }));
            }
            let frame = timeout(SILENCE, self.body.frame()).await;
            match frame.map_err(|_| client.silent(SILENCE))? {
                None => return Ok(None),
                Some(Err(_)) => return Err(client.broken_off(&Method::GET)),
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.decoder.push(bytes);
                    }
                }
            }
        }
    }
}

/// A path of the API with its query. Whatever characters a name holds, it
/// stays one segment.
pub(crate) struct Resource(String);

impl Resource {
    pub(crate) fn at(segments: &[&str]) -> Resource {
        let segments = segments.iter().map(|segment| match *segment {
            // Somebody on the way could take these for directions.
            "." => "/%2E".to_owned(),
            ".." => "/%2E%2E".to_owned(),
            segment => format!("/{}", percent_encoded(segment)),
        });
        Resource(segments.collect())
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Resource {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0
            .push_str(&format!("{key}={}", percent_encoded(value)));
        self
    }
}

/// Certificates are read only where they are needed, which takes its time.
fn connector(tls: bool) -> Result<HttpsConnector<HttpConnector>, Box<dyn std::error::Error>> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let provider = rustls::crypto::ring::default_provider().into();
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = match tls {
        true => config.with_native_roots()?,
        false => config.with_root_certificates(RootCertStore::empty()),
    };
    Ok(HttpsConnector::from((tcp, config.with_no_client_auth())))
}

#[cfg(test)]
mod tests {
    use super::Resource;

    #[test]
    fn a_name_stays_one_segment() {
        let resource = Resource::at(&["servers", "io.github.x/y z?ä", "enable"]);
        let resource = resource.with("save", "true").with("a", "b&c");
        let expected = "/servers/io.github.x%2Fy%20z%3F%C3%A4/enable?save=true&a=b%26c";
        assert_eq!(resource.0, expected);
        assert_eq!(Resource::at(&["servers", ".."]).0, "/servers/%2E%2E");
    }
}
