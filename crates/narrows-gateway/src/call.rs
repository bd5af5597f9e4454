//! The call path: one request from a session to its answer.
//!
//! It reads the view of the session's endpoint and nothing else: no list is
//! fetched here, no configuration read, no lock held while waiting.

mod exposed;
mod links;
mod params;
mod retry;
mod shaped;

use std::sync::Arc;
use std::time::Instant;

use narrows_wire::{ItemKind, Kind, Raw};

pub(crate) use self::retry::says_repeatable;
use crate::builtin;
use crate::catalogue::{Target, View};
use crate::error::Error;
use crate::events::{self, Tag, Value};
use crate::meter::{Timed, Trace};
use crate::permit::{self, permit};
use crate::session::{LogLevel, Session};
use crate::twins;
use links::LinkForm;
use narrows_results::recover_tool;
use narrows_results::repair::{self, Repaired};
use narrows_results::shaping::Form;
use narrows_upstream::Error as UpstreamError;
use narrows_upstream::exchange::{Cancel, EventSink};
use narrows_upstream::offload;
use narrows_upstream::{LinkError, ListKind, Origin, Outgoing, Redacted, Upstream};
use params::Member;
pub(crate) use params::Params;
use retry::Lost;
pub(crate) use shaped::LooksFor;
use shaped::ResultBudget;

/// Names and URIs are looked up, compared and logged; beyond this they are none.
const MAX_NAME: usize = 8 * 1024;

/// A server that is replaced while it starts is waited for again, so often.
const STARTS: usize = 3;

/// One request on its way.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) tag: Tag,
    pub(crate) method: &'a str,
    pub(crate) params: Params,
    pub(crate) sink: EventSink,
    pub(crate) cancel: Arc<Cancel>,
    /// What is found out on the way.
    pub(crate) trace: &'a Trace,
}

/// A call that found its upstream.
struct Routed {
    upstream: Arc<Upstream>,
    /// What the params name, and the upstream's own name for it.
    rename: Option<(Raw, Raw)>,
    /// Whether it may be sent twice.
    is_repeatable: bool,
}

pub(crate) async fn perform(call: Call<'_>) -> Result<Raw, Error> {
    let Call {
        tag,
        method,
        trace,
        session,
        ..
    } = call;
    log_request(tag, call.session, method, call.params.raw());
    let outcome = call.dispatch().await;
    log_outcome(tag, session, method, trace, &outcome);
    outcome
}

/// The same for what is answered without a call.
pub(crate) fn observed(
    tag: Tag,
    session: &Session,
    method: &str,
    params: Option<&Raw>,
    trace: &Trace,
    answer: impl FnOnce() -> Result<Raw, Error>,
) -> Result<Raw, Error> {
    log_request(tag, session, method, params);
    let outcome = answer();
    log_outcome(tag, session, method, trace, &outcome);
    outcome
}

fn log_request(tag: Tag, session: &Session, method: &str, params: Option<&Raw>) {
    events::step("llm_to_facade.request", tag, || {
        vec![
            ("endpoint", Value::from(&session.caller().endpoint)),
            ("method", events::cut(method)),
            ("params", params.map_or(Value::Null, events::shown)),
        ]
    });
}

fn log_outcome(
    tag: Tag,
    session: &Session,
    method: &str,
    trace: &Trace,
    outcome: &Result<Raw, Error>,
) {
    let about = || {
        // A call that could not be sent failed because of a server as well.
        let blamed = || outcome.as_ref().err().and_then(Error::server);
        let server = match trace.server() {
            Some(server) => Value::from(server),
            None => blamed().map_or(Value::Null, events::cut),
        };
        vec![
            ("method", events::cut(method)),
            ("server", server),
            (
                name_key(method),
                trace.name().map_or(Value::Null, events::cut),
            ),
        ]
    };
    match outcome {
        Ok(result) => events::step("facade_to_llm.response", tag, || {
            let mut members = about();
            members.push(("bytes", result.len().into()));
            members
        }),
        Err(error) => events::trouble("facade_to_llm.error", tag, || {
            let server = trace.server().and_then(|server| session.upstream(server));
            let mut members = about();
            members.extend(describe(server.as_deref(), error));
            members
        }),
    }
}

/// The member of an event that names the tool, prompt or resource.
fn name_key(method: &str) -> &'static str {
    match method {
        "tools/call" => "tool",
        "prompts/get" => "prompt",
        _ => "name",
    }
}

impl Call<'_> {
    async fn dispatch(mut self) -> Result<Raw, Error> {
        let params = self.session.mark_params(self.params.take())?;
        self.params = Params::new(params);
        match self.method {
            "tools/call" => self.named(ItemKind::Tool).await,
            "tools/list" => self.list(ListKind::Tools).await,
            "resources/read" => self.resource().await,
            "resources/list" => self.list(ListKind::Resources).await,
            "resources/templates/list" => self.list(ListKind::Templates).await,
            "resources/subscribe" => self.subscribe().await,
            "resources/unsubscribe" => self.unsubscribe().await,
            "prompts/get" => self.named(ItemKind::Prompt).await,
            "prompts/list" => self.list(ListKind::Prompts).await,
            "completion/complete" => self.complete().await,
            "logging/setLevel" => self.set_level().await,
            "ping" => Ok(Raw::empty_object()),
            "shutdown" => {
                self.session.close_soon();
                Ok(Raw::empty_object())
            }
            // What we do not know may still be known to the only server there is.
            method => match self.session.view().only().cloned() {
                Some(upstream) if method != "initialize" => {
                    self.permit_method()?;
                    self.send(Routed {
                        upstream,
                        rename: None,
                        is_repeatable: false,
                    })
                    .await
                }
                _ => Err(Error::UnknownMethod(method.to_owned())),
            },
        }
    }

    async fn list(self, kind: ListKind) -> Result<Raw, Error> {
        self.session.wait_until_ready().await;
        offload::large(self.session.unrendered(kind)).await;
        self.session.list(kind, self.params.raw())
    }

    /// A tool or a prompt, by name.
    async fn named(mut self, kind: ItemKind) -> Result<Raw, Error> {
        if kind == ItemKind::Tool {
            self.drop_task();
            // Refused if it is there twice: the server may read the other one.
            self.params.member(Member::Arguments)?;
        }
        let mut name = self.text_member(Member::Name)?;
        let text = name.as_text().expect("checked to be text");
        let view = self.session.view();
        let (view, target) = match kind {
            ItemKind::Prompt => self.find(view, &text, |view| view.prompt(&text)).await?,
            _ if view.recover().is_some_and(|own| *own.name == *text) => {
                let arguments = self.params.member(Member::Arguments)?;
                return self.recover(arguments).await;
            }
            _ => match view.facade().and_then(|facade| facade.own(&text)) {
                Some(own) => return Box::pin(self.own_tool(own, view)).await,
                None => self.find(view, &text, |view| view.tool(&text)).await?,
            },
        };
        self.permit(kind, &target, &text)?;
        let budget = match kind {
            ItemKind::Tool => self.budget_for_tool(&view, &target)?,
            _ => None,
        };
        drop(view);
        drop(text);
        if budget.as_ref().is_some_and(ResultBudget::changed_params) {
            name = self.text_member(Member::Name)?;
        }
        let session = self.session;
        let tag = self.tag;
        let result = self.ask(kind, &target, name).await?;
        let result = match budget {
            Some(budget) => {
                budget
                    .apply(session, tag, &target, Form::Tool, result)
                    .await
            }
            None => result,
        };
        let result = match kind {
            ItemKind::Tool => Call::model_half(session, &target, result),
            _ => result,
        };
        Ok(repair::for_revision(result, session.caller().revision))
    }

    /// Removes `task` where tasks are not routed, because no client could
    /// read the task (MCP 2025-11-25, tasks: a receiver without the capability
    /// processes the request normally).
    fn drop_task(&mut self) {
        if let Ok(None) = self.params.member(Member::Task) {
            return;
        }
        if let Some(params) = self.params.raw()
            && self.session.view().only().is_none()
        {
            self.params = Params::new(Some(params.without_member("task")));
        }
    }

    /// Has a tool or prompt do its work, and repairs what it answers.
    async fn ask(mut self, kind: ItemKind, target: &Target, mut name: Raw) -> Result<Raw, Error> {
        let (tag, session) = (self.tag, self.session);
        if kind == ItemKind::Tool
            && let Some(refused) = self.refuse_markers(target)
        {
            return Ok(refused);
        }
        if builtin::wants_principal(&target.upstream.settings.kind) {
            let principal = &session.caller().principal;
            self.params = Params::new(builtin::with_principal(self.params.raw(), principal));
            name = self.text_member(Member::Name)?;
        }
        let result = self.send(Routed::to(target, name.clone())).await?;
        let Repaired { result, changed } = match kind {
            ItemKind::Prompt => repair::prompt_result(result),
            _ => repair::tool_result(result),
        };
        if changed {
            events::trouble("facade_to_llm.decode_failed", tag, || {
                vec![
                    ("server", events::cut(&target.upstream.settings.id)),
                    ("name", events::shown(&name)),
                ]
            });
        }
        let form = match kind {
            ItemKind::Prompt => LinkForm::Prompt,
            _ => LinkForm::Tool,
        };
        Ok(links::readable(session, &target.upstream, form, result))
    }

    async fn resource(self) -> Result<Raw, Error> {
        let uri = self.text_member(Member::Uri)?;
        let text = uri.as_text().expect("checked to be text");
        if recover_tool::is_receipt(&text) && self.session.view().recover().is_some() {
            let uri = text.into_owned();
            return self.read_receipt(uri).await;
        }
        drop(text);
        let (target, uri) = self.resource_target().await?;
        let budget = self.budget_for_resource(&target);
        let (tag, session) = (self.tag, self.session);
        let result = self.send(Routed::to(&target, uri)).await?;
        let result = links::readable(session, &target.upstream, LinkForm::Resource, result);
        Ok(match budget {
            Some(budget) => {
                let applied = budget.apply(session, tag, &target, Form::Resource, result);
                applied.await
            }
            None => result,
        })
    }

    async fn subscribe(self) -> Result<Raw, Error> {
        let (target, uri) = self.resource_target().await?;
        let session = self.session;
        // Noted first: an update may come together with the answer.
        let news = session.subscribed(&target.upstream, &target.name, &uri);
        let result = self.send(Routed::to(&target, uri)).await;
        if news && result.is_err() {
            session.unsubscribed(&target.upstream, &target.name);
        }
        result
    }

    async fn unsubscribe(self) -> Result<Raw, Error> {
        let (target, uri) = self.resource_target().await?;
        // Another session may still want it over the same link.
        if self.session.unsubscribed(&target.upstream, &target.name) {
            return self.send(Routed::to(&target, uri)).await;
        }
        Ok(Raw::empty_object())
    }

    /// `ref` names a prompt, or a template or resource.
    async fn complete(self) -> Result<Raw, Error> {
        let missing = || Error::BadParams("completion/complete needs 'ref' in its params".into());
        let reference = self.params.find("ref")?.ok_or_else(missing)?;
        let [kind, name, uri] = picked(&reference, ["type", "name", "uri"])?;
        let needs = |member: &str| Error::BadParams(format!("This ref needs '{member}' as text"));
        let kind = kind.as_ref().and_then(Raw::as_text);
        let (kind, target, place) = match kind.as_deref() {
            Some("ref/prompt") => {
                let name = name.ok_or_else(|| needs("name"))?;
                let text = name.as_text().ok_or_else(|| needs("name"))?;
                let find = |view: &View| view.prompt(&text);
                let (_, target) = self.find(self.session.view(), &text, find).await?;
                (ItemKind::Prompt, target, name.clone())
            }
            Some("ref/resource") => {
                let uri = uri.ok_or_else(|| needs("uri"))?;
                let text = uri.as_text().ok_or_else(|| needs("uri"))?;
                let find = |view: &View| view.template(&text);
                let (_, target) = self.find(self.session.view(), &text, find).await?;
                (ItemKind::Resource, target, uri.clone())
            }
            _ => {
                let told = "ref.type must be ref/prompt or ref/resource";
                return Err(Error::BadParams(told.into()));
            }
        };
        self.trace.named(&place);
        self.permit(kind, &target, &place.as_text().unwrap_or_default())?;
        self.send(Routed::to(&target, place)).await
    }

    async fn set_level(self) -> Result<Raw, Error> {
        let level = self.text_value("level", self.params.find("level")?)?;
        self.trace.named(&level);
        let level = level.as_text().and_then(|level| LogLevel::parse(&level));
        let level = level.ok_or_else(|| {
            Error::BadParams(format!(
                "Unknown log level; there are {}",
                LogLevel::WORDS.join(", ")
            ))
        })?;
        self.session.set_level(level).await;
        Ok(Raw::empty_object())
    }

    /// Sends it upstream and waits for the answer.
    async fn send(self, routed: Routed) -> Result<Raw, Error> {
        let upstream = routed.upstream.clone();
        let timed = Timed::begin(&upstream.id, upstream.observer(), self.method, self.trace);
        // Boxed: this is most of the state of a call, and each of the futures
        // around it would copy it once.
        let answer = Box::pin(self.deliver(routed)).await;
        timed.end(&answer);
        answer
    }

    async fn deliver(self, routed: Routed) -> Result<Raw, Error> {
        let Routed {
            upstream,
            rename,
            is_repeatable,
        } = routed;
        // Held until the answer is there: a server that is replaced meanwhile
        // ends after it.
        let upstream = upstream.acquire().await?;
        let link = self.session.link_to(&upstream).await?;
        let began = Instant::now();
        let own_name = rename.as_ref().map(|(_, own)| own.clone());
        let about = || {
            vec![
                ("server", events::cut(&upstream.settings.id)),
                ("method", events::cut(self.method)),
                (
                    name_key(self.method),
                    own_name.as_ref().map_or(Value::Null, events::shown),
                ),
            ]
        };
        events::step("facade_to_downstream.request", self.tag, about);
        let progress_token = match self.params.member(Member::Meta)? {
            Some(meta) => progress_token_in(&meta)?,
            None => None,
        };
        // Equal bytes need no edit, and then params pass as they came.
        let rename = rename.filter(|(place, own)| place != own);
        let outgoing = |timeout| Outgoing {
            method: self.method,
            params: self.params.raw().cloned(),
            rename: rename.clone(),
            progress_token: progress_token.clone(),
            origin: Some(Origin {
                session: self.session.serial(),
                sink: self.sink.clone(),
                asks: self.session.asks(),
                memory: Some(self.session.memory().clone()),
                cancel: self.cancel.clone(),
            }),
            timeout,
        };
        let limit = upstream.settings.request_timeout;
        // Set before it is true: a call that is interrupted now may be carried out.
        self.trace.set_sent(true);
        let mut answer = link.request(outgoing(limit)).await;
        self.trace.set_sent(may_have_arrived(&answer));
        if let Err(LinkError::Closed { failure, sent }) = answer {
            let lost = Lost {
                upstream: &upstream,
                link,
                failure,
                sent,
                left: limit.saturating_sub(began.elapsed()),
            };
            // Boxed: this is rare, and would make the future of every call large.
            answer = match Box::pin(self.link_after(lost, is_repeatable)).await {
                Ok((link, left)) => {
                    self.trace.set_sent(true);
                    let answer = Box::pin(link.request(outgoing(left))).await;
                    self.trace.set_sent(sent || may_have_arrived(&answer));
                    answer
                }
                Err(error) => {
                    log_failure(self.tag, &upstream, about, &error);
                    return Err(error);
                }
            };
        }
        let answer = answer.map_err(|error| Error::from(upstream.error(error)));
        if let Ok(result) = &answer {
            offload::large(result.len()).await;
        }
        match &answer {
            Ok(result) => events::step("downstream.response", self.tag, || {
                let elapsed = began.elapsed().as_micros() as u64;
                let mut members = about();
                members.push(("elapsed_us", Value::Number(elapsed)));
                members.push(("bytes", result.len().into()));
                members
            }),
            Err(error) => log_failure(self.tag, &upstream, about, error),
        }
        answer
    }

    /// Looks a name up in the view. A server that is still starting is waited
    /// for where the name may be one of its own.
    async fn find(
        &self,
        mut view: Arc<View>,
        name: &str,
        find: impl Fn(&View) -> Result<Target, Error>,
    ) -> Result<(Arc<View>, Target), Error> {
        let mut found = find(&view);
        for _ in 0..STARTS {
            let Err(Error::Unknown { .. } | Error::Upstream(UpstreamError::Down { .. })) = found
            else {
                break;
            };
            // Boxed: this is rare, and would make the future of every call large.
            let later = Box::pin(self.session.view_after_start(&view, name)).await;
            let Some(later) = later else { break };
            view = later;
            found = find(&view);
        }
        found.map(|target| (view, target))
    }

    fn permit(&self, kind: ItemKind, target: &Target, name: &str) -> Result<(), Error> {
        if target.is_judged {
            self.refuse_twins()?;
        }
        permit(kind, name, target).inspect_err(|error| permit::tell_denied(self.tag, error))
    }

    /// What was judged must be what the server reads.
    fn refuse_twins(&self) -> Result<(), Error> {
        let Some(params) = self.params.raw() else {
            return Ok(());
        };
        twins::refuse(params, &["name", "uri", "ref", "arguments"])?;
        match params.member("ref") {
            Some(reference) => twins::refuse(&reference, &["type", "name", "uri"]),
            None => Ok(()),
        }
    }

    /// What a method may reach that nobody here knows, no preset can say.
    fn permit_method(&self) -> Result<(), Error> {
        let face = self.session.face();
        permit::method(face.plan().preset.as_deref(), self.method)
            .inspect_err(|error| permit::tell_denied(self.tag, error))
    }

    async fn resource_target(&self) -> Result<(Target, Raw), Error> {
        let uri = self.text_member(Member::Uri)?;
        let text = uri.as_text().expect("checked to be text");
        let find = |view: &View| match view.find_resource(&text)? {
            Some(target) => Ok(target),
            // No list has it, but a result may have handed it out.
            None => (self.session.link_owner(&text))
                .and_then(|upstream| view.resource_of(upstream, &text))
                .ok_or_else(|| view.unknown_resource(&text)),
        };
        let (_, target) = self.find(self.session.view(), &text, find).await?;
        self.permit(ItemKind::Resource, &target, &text)?;
        drop(text);
        Ok((target, uri))
    }

    /// Returns the member that names what is called.
    fn text_member(&self, member: Member) -> Result<Raw, Error> {
        let value = self.text_value(member.name(), self.params.member(member)?)?;
        self.trace.named(&value);
        Ok(value)
    }

    fn text_value(&self, name: &str, value: Option<Raw>) -> Result<Raw, Error> {
        let method = self.method;
        let wrong = match value {
            None => format!("{method} needs '{name}' in its params"),
            Some(value) if value.kind() != Kind::String => {
                format!("{method} needs '{name}' as text")
            }
            Some(value) if value.len() > MAX_NAME => {
                format!("'{name}' is longer than {MAX_NAME} bytes")
            }
            Some(value) => return Ok(value),
        };
        Err(Error::BadParams(wrong))
    }
}

/// Where the client's progress token stands. Named twice it is refused: the one
/// that we do not replace might be another client's on the same link.
pub(crate) fn progress_token(params: Option<&Raw>) -> Result<Option<Raw>, Error> {
    let Some(params) = params else {
        return Ok(None);
    };
    let [meta] = picked(params, ["_meta"])?;
    meta.map_or(Ok(None), |meta| progress_token_in(&meta))
}

fn progress_token_in(meta: &Raw) -> Result<Option<Raw>, Error> {
    let [token] = picked(meta, ["progressToken"])?;
    Ok(token.filter(|token| matches!(token.kind(), Kind::String | Kind::Number)))
}

/// Members that must not be there twice.
pub(crate) fn picked<const N: usize>(
    raw: &Raw,
    names: [&str; N],
) -> Result<[Option<Raw>; N], Error> {
    raw.pick(names)
        .map_err(|error| Error::BadParams(error.to_string()))
}

impl Routed {
    fn to(target: &Target, place: Raw) -> Routed {
        Routed {
            upstream: target.upstream.clone(),
            rename: Some((place, target.name.clone())),
            is_repeatable: target.is_repeatable,
        }
    }
}

/// Returns whether the server may have received a request that ended like this.
fn may_have_arrived(answer: &Result<Raw, LinkError>) -> bool {
    !matches!(answer, Err(LinkError::Closed { sent: false, .. }))
}

fn log_failure(
    tag: Tag,
    upstream: &Upstream,
    about: impl FnOnce() -> Vec<(&'static str, Value)>,
    error: &Error,
) {
    events::trouble("downstream.response.error", tag, || {
        let mut members = about();
        members.extend(describe(Some(upstream), error));
        members
    });
}

/// Describes an error for an event. The answer of an upstream may repeat
/// secrets that only the upstream knows.
fn describe(upstream: Option<&Upstream>, error: &Error) -> [(&'static str, Value); 2] {
    let detail = match (error, upstream) {
        (Error::Upstream(UpstreamError::Answered(raw)), Some(upstream)) => {
            let Redacted { text, cut_from } = upstream.redacted(raw);
            events::sent(&text, cut_from.unwrap_or(text.len()))
        }
        (Error::Upstream(UpstreamError::Answered(raw)), None) => events::shown(raw),
        (error, _) => events::cut(&error.to_string()),
    };
    [("code", error.word().into()), ("error", detail)]
}
