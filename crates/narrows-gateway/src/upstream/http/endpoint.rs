//! Where a link's requests go, and as whom: the URL, the headers that each of
//! them carries, the session that the server gave us. Everything that a link
//! sends passes through here, so this is also where it shows that a server
//! cannot be reached any more.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION,
    PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::proxy::matcher::Matcher;
use narrows_wire::Revision;
use tokio_util::sync::CancellationToken;

use super::super::link::{Failure, FailureKind};
use super::answer::Answer;
use super::client::{HttpClient, Pool, Unanswered};
use super::connect::{Route, Site};
use super::trouble::Trouble;
use crate::settings::HttpSettings;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const REDIRECTS: usize = 3;

/// After so many attempts to connect in a row have failed, the link has ended.
const UNREACHABLE: u32 = 3;

pub(super) struct Endpoint {
    pub(super) pool: Arc<Pool>,
    pub(super) max_message_bytes: usize,
    /// What may be told of the URL: no user info, no query.
    pub(super) shown: String,
    /// What must not be told: words of configured headers and of the query.
    pub(super) secrets: Vec<Box<str>>,
    /// Where requests go, as it is written in them.
    target: ArcSwap<Uri>,
    /// What every request carries.
    common: HeaderMap,
    session: ArcSwap<Session>,
    /// Attempts to connect that have failed since the last one that did not.
    unreachable: AtomicU32,
    end: OnceLock<Arc<Failure>>,
    ended: CancellationToken,
}

/// What the server gave us by its answer to `initialize`, as headers made once.
pub(super) struct Session {
    /// Counts the sessions of this link.
    pub(super) serial: u64,
    pub(super) id: Option<HeaderValue>,
    post: HeaderMap,
    get: HeaderMap,
}

impl Endpoint {
    pub(super) fn new(
        client: &HttpClient,
        settings: &HttpSettings,
        max_message_bytes: usize,
    ) -> Result<Self, Failure> {
        let no_url = || {
            Failure::new(
                FailureKind::Connect,
                "its address is no http or https URL".to_owned(),
            )
        };
        let site = Site::of(&settings.url).ok_or_else(no_url)?;
        let pool = client.pool(&site);
        let path = settings
            .url
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let target = write_target(&pool, path);
        let common = common_headers(settings, &pool);
        Ok(Endpoint {
            max_message_bytes,
            shown: show(&site, path),
            secrets: secrets(&common, &settings.url),
            target: ArcSwap::from_pointee(target),
            session: ArcSwap::from_pointee(Session::new(&common, 0, None)),
            common,
            pool,
            unreachable: AtomicU32::new(0),
            end: OnceLock::new(),
            ended: CancellationToken::new(),
        })
    }

    pub(super) fn session(&self) -> Arc<Session> {
        self.session.load_full()
    }

    /// From now on requests belong to this session.
    pub(super) fn enter(&self, revision: Revision, id: Option<HeaderValue>) {
        let serial = self.session.load().serial + 1;
        let session = Session::new(&self.common, serial, Some((revision, id)));
        self.session.store(Arc::new(session));
    }

    /// The headers of a request outside any session.
    pub(super) fn stranger(&self) -> Session {
        Session::new(&self.common, 0, None)
    }

    /// Sends a message. An answer that comes back has a status of success.
    pub(super) async fn post(
        &self,
        session: &Session,
        message: Bytes,
        sent: &mut bool,
    ) -> Result<Answer, Trouble> {
        let answer = self
            .send(&Method::POST, &session.post, message, sent)
            .await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let refusal = answer.refusal(self, session.id.is_some());
        Err(Box::pin(refusal).await)
    }

    /// Asks for a stream of messages, from `last_event_id` on. The status is as it came.
    pub(super) async fn get(
        &self,
        session: &Session,
        last_event_id: Option<&str>,
    ) -> Result<Answer, Trouble> {
        let mut headers = session.get.clone();
        if let Some(value) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, value);
        }
        self.send(&Method::GET, &headers, Bytes::new(), &mut false)
            .await
    }

    /// Ends the session on the server's side, if there is one.
    pub(super) async fn delete(&self) -> Result<(), Trouble> {
        let session = self.session();
        if session.id.is_some() {
            let answer = self
                .send(&Method::DELETE, &session.get, Bytes::new(), &mut false)
                .await?;
            answer.discard(&self.pool).await;
        }
        Ok(())
    }

    pub(super) fn end(&self, failure: Arc<Failure>) {
        let _ = self.end.set(failure);
        self.ended.cancel();
    }

    /// Why the link has ended, if it has.
    pub(super) fn has_ended(&self) -> Option<&Arc<Failure>> {
        self.end.get()
    }

    pub(super) async fn ended(&self) -> Arc<Failure> {
        self.ended.cancelled().await;
        self.end.get().expect("set before it is told").clone()
    }

    async fn send(
        &self,
        method: &Method,
        headers: &HeaderMap,
        body: Bytes,
        sent: &mut bool,
    ) -> Result<Answer, Trouble> {
        for _ in 0..=REDIRECTS {
            let target = self.target.load_full();
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = (*target).clone();
            *request.headers_mut() = headers.clone();
            let answer = match self.pool.send(request, sent).await {
                Ok((response, lease)) => Answer::new(response, lease),
                Err(Unanswered::Unreachable(reason)) => return Err(self.missed(&reason)),
                Err(Unanswered::Lost(error)) => return Err(lost(&error)),
            };
            if self.unreachable.load(Ordering::Relaxed) != 0 {
                self.unreachable.store(0, Ordering::Relaxed);
            }
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            self.follow(&answer, &target)?;
            Box::pin(answer.discard(&self.pool)).await;
        }
        Err(Trouble::NotMcp("it redirects in a circle".to_owned()))
    }

    /// Remembers where a redirect leads. Only 307 and 308 keep a POST a POST,
    /// and our headers are for this site alone.
    fn follow(&self, answer: &Answer, from: &Uri) -> Result<(), Trouble> {
        let status = answer.status();
        let location = answer.header(&LOCATION).unwrap_or_default();
        let site = self.pool.site();
        let to = resolve(site, from.path(), location)
            .ok_or_else(|| Trouble::NotMcp(format!("it answered HTTP {status} to nowhere")))?;
        let to_site = Site::of(&to);
        let keeps_method = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        if to_site.as_ref() != Some(site) || !keeps_method {
            let shown = to_site.map_or("elsewhere".to_owned(), |site| show(&site, to.path()));
            let told =
                format!("it answered HTTP {status} to {shown}; configure that URL if it is right");
            return Err(Trouble::NotMcp(told));
        }
        let path = to.path_and_query().map_or("/", |path| path.as_str());
        self.target.store(Arc::new(write_target(&self.pool, path)));
        Ok(())
    }

    /// Counts an attempt to connect that has failed.
    pub(super) fn missed(&self, reason: &str) -> Trouble {
        let detail = format!("no connection to {}: {reason}", self.shown);
        let failure = Arc::new(Failure::new(FailureKind::Connect, detail));
        if self.unreachable.fetch_add(1, Ordering::Relaxed) + 1 >= UNREACHABLE {
            self.end(failure.clone());
        }
        Trouble::Unreachable(failure)
    }
}

impl Session {
    fn new(
        common: &HeaderMap,
        serial: u64,
        given: Option<(Revision, Option<HeaderValue>)>,
    ) -> Session {
        let mut get = common.clone();
        let mut id = None;
        if let Some((revision, given)) = given {
            let revision = HeaderValue::from_static(revision.as_str());
            get.insert(PROTOCOL_VERSION, revision);
            if let Some(given) = &given {
                get.insert(SESSION_ID, given.clone());
            }
            id = given;
        }
        let mut post = get.clone();
        get.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        post.insert(ACCEPT, accept);
        post.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Session {
            serial,
            id,
            post,
            get,
        }
    }
}

/// Configured headers, except those that are about the connection or that we
/// set ourselves later, and the few that every request needs.
fn common_headers(settings: &HttpSettings, pool: &Pool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE].contains(name) {
            let mut value = value.clone();
            value.set_sensitive(true);
            headers.append(name, value);
        }
    }
    let mut default = |name: HeaderName, value: Option<HeaderValue>| {
        if let Some(value) = value {
            headers.entry(name).or_insert(value);
        }
    };
    default(
        HOST,
        HeaderValue::from_str(pool.site().authority().as_str()).ok(),
    );
    let agent = concat!("narrows/", env!("CARGO_PKG_VERSION"));
    default(USER_AGENT, Some(HeaderValue::from_static(agent)));
    default(AUTHORIZATION, user_info(&settings.url));
    if let Route::Forward { auth, .. } = pool.route() {
        default(PROXY_AUTHORIZATION, auth.clone());
    }
    headers
}

/// `user:password@` of a URL as a header. The proxy matcher is asked because
/// it does exactly this, percent signs included, for the URLs of proxies.
fn user_info(url: &Uri) -> Option<HeaderValue> {
    url.authority()?.as_str().contains('@').then_some(())?;
    let matcher = Matcher::builder().all(url.to_string()).build();
    matcher.intercept(url)?.basic_auth().cloned()
}

/// Anything in a configured header or in the query may be a secret, and so may
/// its parts (`Bearer …`). Short words are none, and would riddle the text with
/// stars.
fn secrets(headers: &HeaderMap, url: &Uri) -> Vec<Box<str>> {
    let confided = headers.values().filter(|value| value.is_sensitive());
    let values = confided.filter_map(|value| value.to_str().ok());
    let words = values
        .chain(url.query())
        .flat_map(|value| value.split([' ', ',', ';', '&', '=']));
    words
        .filter(|word| word.len() >= 6)
        .map(Into::into)
        .collect()
}

fn write_target(pool: &Pool, path: &str) -> Uri {
    let whole = pool.site().uri(path);
    match pool.route() {
        Route::Forward { .. } => whole,
        Route::Direct | Route::Tunnel { .. } => {
            let path = whole.path_and_query().cloned();
            path.map_or_else(|| Uri::from_static("/"), Uri::from)
        }
    }
}

fn show(site: &Site, path: &str) -> String {
    let whole = site.uri(path);
    let scheme = whole.scheme_str().unwrap_or_default();
    // Some hosted servers carry their token in the path.
    let secret = |part: &str| part.len() >= 20 && part.bytes().any(|byte| byte.is_ascii_digit());
    let parts = whole.path().split('/');
    let parts: Vec<&str> = parts
        .map(|part| if secret(part) { "***" } else { part })
        .collect();
    format!("{scheme}://{}{}", site.authority(), parts.join("/"))
}

/// The absolute form of a `Location`.
fn resolve(site: &Site, from: &str, location: &str) -> Option<Uri> {
    let to: Uri = if location.starts_with("//") {
        format!(
            "{}:{location}",
            if site.is_https() { "https" } else { "http" }
        )
        .parse()
        .ok()?
    } else if location.starts_with('/') {
        let path = location.split('#').next().unwrap_or(location);
        path.parse::<Uri>()
            .ok()
            .map(|uri| site.uri(uri.path_and_query().map_or("/", |p| p.as_str())))?
    } else if location.contains("://") {
        location.parse().ok()?
    } else if location.is_empty() {
        return None;
    } else {
        let folder = &from[..from.rfind('/').map_or(0, |slash| slash + 1)];
        return resolve(
            site,
            from,
            &format!("/{}{location}", folder.trim_start_matches('/')),
        );
    };
    to.authority().is_some().then_some(to)
}

fn lost(error: &hyper::Error) -> Trouble {
    if error.is_parse() {
        return Trouble::NotMcp(format!("its answer is not HTTP ({error})"));
    }
    Trouble::Broken(match error.is_incomplete_message() {
        true => "the connection was closed before the answer".to_owned(),
        false => "the connection broke before the answer".to_owned(),
    })
}
