//! The client of the admin API: HTTP/1.1 and JSON, with limits on sizes and times.
//!
//! It sends requests and reports failures, but does not interpret the responses. The admin token is
//! sent to one gateway only, in one header. Redirects are not followed. A token that appears in a
//! response is redacted before anything is printed.

mod choice;
mod client_error;
mod explain;
mod gateway_url;

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
use narrows_wire::sse::SseDecoder;
use narrows_wire::text::percent_encoded;
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::cli::operator::{ConnectOptions, GatewayOptions};
use crate::config::Environment;

use self::choice::{ChosenGateway, TokenSource, choose};
pub(crate) use self::client_error::{AdminClientError, report_outcome};
use self::gateway_url::GatewayUrl;

/// The size limit of a response, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// The size limit of an event, in bytes.
const MAX_EVENT: usize = 1024 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The gateway sends a comment every 15 s on an event stream, so a stream that is silent for this
/// long is dead.
const SILENCE: Duration = Duration::from_secs(60);

/// A client of one gateway. It does not implement `Debug`, so that the token cannot be printed by
/// accident.
pub(crate) struct AdminClient {
    gateway_url: GatewayUrl,
    authorization: HeaderValue,
    secret: String,
    source: TokenSource,
    timeout: Duration,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl AdminClient {
    /// Creates a client for the gateway that the options select.
    pub(crate) fn of(
        gateway_options: &GatewayOptions,
        environment: &Environment,
    ) -> Result<Self, AdminClientError> {
        AdminClient::at(
            gateway_options.url.as_deref(),
            &gateway_options.connect_options,
            environment,
        )
    }

    /// Creates a client for the gateway at `url`, or for the running one.
    pub(crate) fn at(
        url: Option<&str>,
        connect_options: &ConnectOptions,
        environment: &Environment,
    ) -> Result<Self, AdminClientError> {
        let ChosenGateway {
            gateway_url,
            token,
            source,
        } = choose(url, connect_options, environment)?;
        let authorization = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut authorization = authorization.map_err(|_| {
            AdminClientError::usage(format!(
                "{source} contains characters that are not allowed in a header"
            ))
        })?;
        authorization.set_sensitive(true);
        let connector = connector(gateway_url.is_https())
            .map_err(|error| AdminClientError::failed(format!("TLS cannot be used: {error}")))?;
        let client = Client::builder(TokioExecutor::new())
            // Changes must not be sent twice, nor over a connection that the gateway may be about
            // to close.
            .retry_canceled_requests(false)
            .pool_max_idle_per_host(0)
            .build(connector);
        Ok(AdminClient {
            gateway_url,
            authorization,
            secret: token,
            source,
            timeout: Duration::from_secs(connect_options.timeout),
            client,
        })
    }

    /// Returns true if the gateway runs on this machine, judging by its address.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.source, TokenSource::Run(_)) || self.gateway_url.is_loopback()
    }

    pub(crate) async fn get(&self, resource: Resource) -> Result<Value, AdminClientError> {
        self.send(Method::GET, resource, None).await
    }

    /// Sends a request and returns the whole response, or `null` if it has no content.
    pub(crate) async fn send(
        &self,
        method: Method,
        resource: Resource,
        body: Option<&Value>,
    ) -> Result<Value, AdminClientError> {
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

    /// Subscribes to the events of the gateway, starting now.
    pub(crate) async fn events(&self) -> Result<Events<'_>, AdminClientError> {
        let resource = Resource::at(&["events"]).with("calls", "true");
        let response = self.request(&Method::GET, resource, None, "text/event-stream");
        let response = timeout(self.timeout, response).await;
        let response = response.map_err(|_| self.too_slow())??;
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if status.is_success() && !kind.starts_with("text/event-stream") {
            return Err(self.not_understood("it is not an event stream"));
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
            decoder: SseDecoder::new(MAX_EVENT),
        })
    }

    /// Deserializes a response.
    pub(crate) fn understood<T: DeserializeOwned>(
        &self,
        value: &Value,
    ) -> Result<T, AdminClientError> {
        // The error of serde quotes the value, which does not help the user.
        T::deserialize(value).map_err(|_| self.not_understood("it has an unexpected format"))
    }

    async fn request(
        &self,
        method: &Method,
        resource: Resource,
        body: Option<&Value>,
        accept: &'static str,
    ) -> Result<Response<Incoming>, AdminClientError> {
        let uri = format!("{}/api/v1{}", self.gateway_url, resource.0);
        let uri = Uri::try_from(uri).map_err(|_| AdminClientError::usage("a name is too long"))?;
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

    /// Returns text from the gateway with the token redacted.
    fn without_token(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        match text.contains(&self.secret) {
            true => text.replace(&self.secret, "(the token)"),
            false => text.into_owned(),
        }
    }
}

/// A stream of gateway events.
pub(crate) struct Events<'a> {
    client: &'a AdminClient,
    body: Incoming,
    decoder: SseDecoder,
}

/// One event of the stream.
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events<'_> {
    /// Returns the next event, or `None` when the gateway closes the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, AdminClientError> {
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

/// A path of the API with its query. Each name is one path segment, whatever characters it holds.
pub(crate) struct Resource(String);

impl Resource {
    pub(crate) fn at(segments: &[&str]) -> Resource {
        let segments = segments.iter().map(|segment| match *segment {
            // Proxies could treat these as relative path segments.
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

/// Creates the connector. Root certificates are loaded only for TLS, because loading them is slow.
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
    fn name_is_encoded_as_one_path_segment() {
        let resource = Resource::at(&["servers", "io.github.x/y z?ä", "enable"]);
        let resource = resource.with("save", "true").with("a", "b&c");
        let expected = "/servers/io.github.x%2Fy%20z%3F%C3%A4/enable?save=true&a=b%26c";
        assert_eq!(resource.0, expected);
        assert_eq!(Resource::at(&["servers", ".."]).0, "/servers/%2E%2E");
    }
}
