//! The exchange with a server: picks the link, sends the request under the server's own name, and
//! waits for the response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use narrows_wire::Raw;

use super::params::{Member, progress_token};
use super::retry::LostCall;
use super::{CallContext, LinkChoice, Params};
use crate::error::{Error, Fault};
use crate::meter::RequestEnd;
use crate::target::Target;
use narrows_upstream::{
    Error as UpstreamError, InFlightGuard, Link, LinkError, Origin, Outgoing, PlainAnswer,
    PlainError, PlainServer, Post, Upstream, offload,
};

/// A request with the server that it is routed to.
pub(crate) struct RoutedRequest {
    pub(crate) upstream: Arc<Upstream>,
    /// The name in the params, and the server's own name that replaces it.
    pub(crate) rename: Option<(Raw, Raw)>,
    /// True if sending the request twice does no harm.
    pub(crate) is_repeatable: bool,
    /// The time limit for the response, if it differs from the server's own limit.
    pub(crate) timeout: Option<Duration>,
}

impl RoutedRequest {
    pub(crate) fn to(target: &Target, place: Raw) -> RoutedRequest {
        RoutedRequest {
            upstream: target.upstream.clone(),
            rename: Some((place, target.name.clone())),
            is_repeatable: target.is_repeatable,
            timeout: None,
        }
    }
}

/// A server that is ready to be called.
struct ReadyServer {
    /// Held until the response has arrived, so that a server that is replaced meanwhile stays up
    /// until then.
    upstream: InFlightGuard,
    link: Arc<Link>,
    progress_token: Option<Raw>,
}

impl CallContext<'_> {
    /// Sends a request over a link and returns the response.
    pub(crate) async fn deliver(
        &self,
        method: &str,
        params: &Params,
        routed: RoutedRequest,
    ) -> Result<Raw, Error> {
        let mut call = self.observer.call_upstream(&routed.upstream);
        let ready = match self.ready(params, &routed.upstream).await {
            Ok(ready) => ready,
            Err(error) => {
                let outcome = Err(error);
                call.finish(&routed.upstream, &outcome);
                return outcome;
            }
        };
        let ReadyServer {
            upstream,
            link,
            progress_token,
        } = ready;
        let began = Instant::now();
        call.sent(
            &upstream,
            routed.rename.as_ref().map(|(_, own)| own.clone()),
        );
        // If the names are equal, the params are sent unchanged.
        let rename = routed.rename.filter(|(place, own)| place != own);
        let outgoing = |timeout| Outgoing {
            method,
            params: params.raw().cloned(),
            rename: rename.clone(),
            progress_token: progress_token.clone(),
            origin: Some(Origin {
                session: self.owner,
                sink: self.sink.clone(),
                asks: self.caller.call_asks(),
                memory: self.memory.cloned(),
                cancel: self.cancel.clone(),
            }),
            timeout,
        };
        let limit = routed.timeout.unwrap_or(upstream.settings.request_timeout);
        let mut response = link.request(outgoing(limit)).await;
        self.observer.set_sent(may_have_arrived(&response));
        if let Err(LinkError::Closed { failure, sent }) = response {
            let lost = LostCall {
                upstream: &upstream,
                link,
                failure,
                sent,
                left: limit.saturating_sub(began.elapsed()),
            };
            // Boxed because retries are rare and their state would enlarge the future of every
            // call.
            let again = Box::pin(self.link_after(method, &lost, routed.is_repeatable));
            response = match again.await {
                Ok((link, left)) => {
                    call.retried(&lost.error());
                    self.observer.set_sent(true);
                    let response = Box::pin(link.request(outgoing(left))).await;
                    self.observer.set_sent(sent || may_have_arrived(&response));
                    response
                }
                Err(error) => {
                    let outcome = Err(error);
                    call.finish(&upstream, &outcome);
                    return outcome;
                }
            };
        }
        let outcome = response.map_err(|error| Error::from(upstream.error(error)));
        if let Ok(result) = &outcome {
            offload::large(result.len()).await;
        }
        call.finish(&upstream, &outcome);
        outcome
    }

    /// Posts a message of plain JSON-RPC to a server that takes it unchanged.
    pub(crate) async fn post(
        &self,
        upstream: &Arc<Upstream>,
        server: &PlainServer,
        post: Post,
    ) -> Result<PlainAnswer, Error> {
        let call = self.observer.call_upstream(upstream);
        let is_notification = post.silent;
        let answer = match server.ask(post).await {
            Ok(PlainAnswer::Nothing(status)) if !is_notification => Err(invalid(
                upstream,
                format!("HTTP {status} without an answer"),
            )),
            Ok(PlainAnswer::Json { filtered, .. }) if !filtered.is_answer && !is_notification => {
                let reason = "it is JSON, but not an object with a result or an error";
                Err(invalid(upstream, reason.to_owned()))
            }
            Ok(answer) => Ok(answer),
            Err(trouble) => Err(failed(upstream, trouble)),
        };
        call.finish_unlogged(&match &answer {
            Ok(PlainAnswer::Nothing(_)) => RequestEnd::ok(0),
            Ok(PlainAnswer::Json { filtered, .. }) => RequestEnd::ok(filtered.body.len()),
            Ok(PlainAnswer::Refused { .. }) => {
                RequestEnd::failed(Fault::Upstream, "upstream_status", 0)
            }
            Err(error) => error.into(),
        });
        answer
    }

    async fn ready(&self, params: &Params, upstream: &Arc<Upstream>) -> Result<ReadyServer, Error> {
        let upstream = upstream.acquire().await?;
        let link = match self.links.link_to(&upstream) {
            LinkChoice::Known(link) => link?,
            LinkChoice::Opening(opening) => opening.await?,
        };
        let progress_token = match params.member(Member::Meta)? {
            Some(meta) => progress_token(&meta)?,
            None => None,
        };
        Ok(ReadyServer {
            upstream,
            link,
            progress_token,
        })
    }
}

/// Returns true if the server may have received the request that ended with this response.
fn may_have_arrived(response: &Result<Raw, LinkError>) -> bool {
    !matches!(response, Err(LinkError::Closed { sent: false, .. }))
}

/// Returns the error for a message that could not be posted.
fn failed(upstream: &Upstream, trouble: PlainError) -> Error {
    let server = upstream.id.to_string();
    match trouble {
        PlainError::Unreachable(reason) => unreachable(upstream, reason),
        PlainError::Timeout(after) => UpstreamError::Timeout { server, after }.into(),
        PlainError::Invalid(reason) => invalid(upstream, reason),
        PlainError::TooLarge(max) => UpstreamError::TooLarge { server, max }.into(),
    }
}

/// Returns the error for a server that cannot be reached.
pub(crate) fn unreachable(upstream: &Upstream, reason: String) -> Error {
    let server = upstream.id.to_string();
    UpstreamError::Down {
        server,
        reason,
        next_try: None,
    }
    .into()
}

fn invalid(upstream: &Upstream, reason: String) -> Error {
    let server = upstream.id.to_string();
    UpstreamError::Invalid { server, reason }.into()
}
