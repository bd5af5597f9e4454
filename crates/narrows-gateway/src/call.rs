//! The call path: routes a request to its server and returns the response.
//!
//! Adapters turn client messages into a [`CallContext`] and pass it on: as a [`Call`] if the client
//! uses an endpoint, or directly to [`CallContext::deliver`] if the client names the server. The
//! path reads one view and nothing else: it fetches no list, reads no configuration and holds no
//! lock while it waits.

mod budget;
mod deliver;
mod links;
mod local;
mod own_tools;
mod params;
mod retry;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_wire::{ItemKind, Raw};

use crate::builtin;
use crate::caller::Caller;
use crate::case_variants;
use crate::catalogue::View;
use crate::error::Error;
use crate::observer::CallObserver;
use crate::permit;
use crate::target::Target;
use budget::ResultBudget;
pub(crate) use deliver::{RoutedRequest, unreachable};
use links::LinkForm;
pub(crate) use local::local_answer;
use narrows_results::recover_tool;
use narrows_results::repair::{self, Repaired};
use narrows_results::shaping::{ResultKind, Shaping, WorkerShare};
use narrows_upstream::Error as UpstreamError;
use narrows_upstream::exchange::{Cancel, EventSink};
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_upstream::{Link, ListKind, Upstream};
use params::Member;
pub(crate) use params::{Params, picked, text};

/// The maximum length of a name or URI in bytes. Names are looked up, compared and logged, so their
/// length must be limited.
const MAX_NAME: usize = 8 * 1024;

/// The number of lookups that are repeated while replaced servers start.
const STARTS: usize = 3;

/// A request and its client, in the form common to all adapters.
pub(crate) struct CallContext<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) links: &'a dyn LinkSource,
    /// The owner of messages that arrive over a link: a session number, or a number that no session
    /// has.
    pub(crate) owner: u64,
    /// The memory accounts that messages are charged to.
    pub(crate) memory: Option<&'a ClientMemory>,
    pub(crate) sink: EventSink,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) observer: &'a CallObserver<'a>,
}

/// A request at an endpoint.
pub(crate) struct Call<'a> {
    pub(crate) context: CallContext<'a>,
    pub(crate) views: &'a dyn ViewSource,
    pub(crate) shaping: &'a Arc<Shaping>,
    /// The client's share of the workers for long texts.
    pub(crate) workers: &'a WorkerShare,
    pub(crate) method: &'a str,
    pub(crate) params: Params,
}

/// Selects the links for the calls of one client.
pub(crate) trait LinkSource: Send + Sync {
    fn link_to<'a>(&'a self, upstream: &'a Arc<Upstream>) -> LinkChoice<'a>;

    /// Returns true if the client does not use the server's shared link.
    fn needs_own_link(&self, upstream: &Upstream) -> bool;
}

/// A link, or a future that opens one.
pub(crate) enum LinkChoice<'a> {
    Known(Result<Arc<Link>, Error>),
    Opening(BoxFuture<'a, Result<Arc<Link>, Error>>),
}

/// The view of an endpoint as one client sees it over time.
pub(crate) trait ViewSource: Send + Sync {
    /// Returns the current view of the client.
    fn view(&self) -> Arc<View>;

    /// Waits until lists can be returned, within the limits of the client.
    fn ready(&self) -> BoxFuture<'_, ()>;

    /// Waits for a starting server that `name` may refer to. Returns the view after the start, or
    /// `None` if no such server is starting.
    fn view_after_start<'a>(
        &'a self,
        view: &'a Arc<View>,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Arc<View>>>;

    /// Waits until a server has started or failed. Returns the view after that.
    fn view_after<'a>(&'a self, upstream: &'a Upstream) -> BoxFuture<'a, Option<Arc<View>>>;

    /// Records that a server returned a URI in a result. Returns false if the URI already belongs
    /// to another server.
    fn remember_link(&self, uri: &str, upstream: usize) -> bool;

    /// Returns the number of the server that returned a URI in a result.
    fn link_owner(&self, uri: &str) -> Option<usize>;
}

impl<'a> Call<'a> {
    /// Handles the request. Events of the request go to the sink of its context.
    pub(crate) async fn run(self) -> Result<Raw, Error> {
        if let Some(kind) = ListKind::of_method(self.method) {
            self.views.ready().await;
            offload::large(local::unrendered(self.context.caller, self.views, kind)).await;
        }
        let params = self.params.raw();
        if let Some(answer) = local_answer(self.context.caller, self.views, self.method, params) {
            return answer;
        }
        match self.method {
            "tools/call" => self.call_item(ItemKind::Tool).await,
            "prompts/get" => self.call_item(ItemKind::Prompt).await,
            "resources/read" => self.read_resource().await,
            "completion/complete" => self.complete().await,
            _ => self.call_unknown().await,
        }
    }

    /// Handles `tools/call` and `prompts/get`: resolves the name, checks the permission, calls the
    /// server and applies the result budget.
    async fn call_item(mut self, kind: ItemKind) -> Result<Raw, Error> {
        if kind == ItemKind::Tool {
            self.drop_task();
            // Refused if `arguments` occurs twice, because the server may read the other
            // occurrence.
            self.params.member(Member::Arguments)?;
        }
        let mut name = self.text_member(Member::Name)?;
        let text = name.as_text().expect("checked to be text");
        let view = self.views.view();
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
        let name = match self.prepare(kind, &target, name)? {
            PreparedCall::Refused(result) => return Ok(result),
            PreparedCall::Named(name) => name,
        };
        let routed = RoutedRequest::to(&target, name.clone());
        // Boxed because this is most of the state of a call, and each surrounding future would copy
        // it.
        let context = &self.context;
        let result = Box::pin(context.deliver(self.method, &self.params, routed)).await?;
        let result = self.repair(kind, &target, &name, result);
        let result = match budget {
            Some(budget) => budget.apply(&self, &target, ResultKind::Tool, result).await,
            None => result,
        };
        let result = match kind {
            ItemKind::Tool => self.model_half(&target, result),
            _ => result,
        };
        Ok(repair::for_revision(result, self.context.caller.revision))
    }

    /// Removes `task` where tasks are not routed, because no client could
    /// read the task (MCP 2025-11-25, tasks: a receiver without the capability
    /// processes the request normally).
    fn drop_task(&mut self) {
        if let Ok(None) = self.params.member(Member::Task) {
            return;
        }
        if let Some(params) = self.params.raw()
            && self.views.view().only().is_none()
        {
            self.params = Params::new(Some(params.without_member("task")));
        }
    }

    /// Prepares the params for the server of a tool or prompt.
    fn prepare(
        &mut self,
        kind: ItemKind,
        target: &Target,
        name: Raw,
    ) -> Result<PreparedCall, Error> {
        if kind == ItemKind::Tool
            && let Some(refused) = self.refuse_markers(target)
        {
            return Ok(PreparedCall::Refused(refused));
        }
        if !builtin::wants_principal(&target.upstream.settings.kind) {
            return Ok(PreparedCall::Named(name));
        }
        let principal = &self.context.caller.principal;
        self.params = Params::new(builtin::with_principal(self.params.raw(), principal));
        Ok(PreparedCall::Named(self.text_member(Member::Name)?))
    }

    /// Repairs the result of a tool or prompt, and makes its resource links
    /// readable for the client.
    fn repair(&self, kind: ItemKind, target: &Target, name: &Raw, result: Raw) -> Raw {
        let Repaired { result, changed } = match kind {
            ItemKind::Prompt => repair::prompt_result(result),
            _ => repair::tool_result(result),
        };
        if changed {
            let server = &target.upstream.settings.id;
            self.context.observer.repaired(server, name);
        }
        let form = match kind {
            ItemKind::Prompt => LinkForm::Prompt,
            _ => LinkForm::Tool,
        };
        links::readable(self.views, &target.upstream, form, result)
    }

    async fn read_resource(self) -> Result<Raw, Error> {
        let uri = self.text_member(Member::Uri)?;
        let text = uri.as_text().expect("checked to be text");
        if recover_tool::is_receipt(&text) && self.views.view().recover().is_some() {
            let uri = text.into_owned();
            return self.read_receipt(uri).await;
        }
        drop(text);
        let (target, uri) = self.resource_target().await?;
        let budget = self.budget_for_resource(&target);
        let result = self.send(RoutedRequest::to(&target, uri)).await?;
        let result = links::readable(self.views, &target.upstream, LinkForm::Resource, result);
        Ok(match budget {
            Some(budget) => {
                budget
                    .apply(&self, &target, ResultKind::Resource, result)
                    .await
            }
            None => result,
        })
    }

    /// Handles `completion/complete`. `ref` names a prompt, a template or a resource.
    async fn complete(self) -> Result<Raw, Error> {
        let missing = || Error::BadParams("completion/complete needs 'ref' in its params".into());
        let reference = self.params.find("ref")?.ok_or_else(missing)?;
        let [kind, name, uri] = picked(&reference, ["type", "name", "uri"])?;
        let needs =
            |member: &str| Error::BadParams(format!("This ref needs '{member}' as a string"));
        let kind = kind.as_ref().and_then(Raw::as_text);
        let (kind, target, place) = match kind.as_deref() {
            Some("ref/prompt") => {
                let name = name.ok_or_else(|| needs("name"))?;
                let text = name.as_text().ok_or_else(|| needs("name"))?;
                let find = |view: &View| view.prompt(&text);
                let (_, target) = self.find(self.views.view(), &text, find).await?;
                (ItemKind::Prompt, target, name.clone())
            }
            Some("ref/resource") => {
                let uri = uri.ok_or_else(|| needs("uri"))?;
                let text = uri.as_text().ok_or_else(|| needs("uri"))?;
                let find = |view: &View| view.template(&text);
                let (_, target) = self.find(self.views.view(), &text, find).await?;
                (ItemKind::Resource, target, uri.clone())
            }
            _ => {
                let message = "ref.type must be ref/prompt or ref/resource";
                return Err(Error::BadParams(message.into()));
            }
        };
        self.context.observer.named(&place);
        self.permit(kind, &target, &place.as_text().unwrap_or_default())?;
        self.send(RoutedRequest::to(&target, place)).await
    }

    /// Forwards an unknown method to the server of an endpoint that has only one.
    async fn call_unknown(self) -> Result<Raw, Error> {
        let view = self.views.view();
        let upstream = view.only().filter(|_| self.method != "initialize");
        let Some(upstream) = upstream.cloned() else {
            return Err(Error::UnknownMethod(self.method.to_owned()));
        };
        // Presets cannot name the targets of unknown methods.
        permit::method(view.preset(), self.method)?;
        drop(view);
        self.send(RoutedRequest {
            upstream,
            rename: None,
            is_repeatable: false,
            timeout: None,
        })
        .await
    }

    /// Sends the request to a server and returns the response.
    pub(crate) async fn send(&self, routed: RoutedRequest) -> Result<Raw, Error> {
        let context = &self.context;
        Box::pin(context.deliver(self.method, &self.params, routed)).await
    }

    /// Looks up a name in the view. If the name is unknown but may belong to a server that is still
    /// starting, waits for that server.
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
            let later = self.views.view_after_start(&view, name).await;
            let Some(later) = later else { break };
            view = later;
            found = find(&view);
        }
        found.map(|target| (view, target))
    }

    /// Returns the server of a resource, and the place in the params that contains the URI.
    pub(crate) async fn resource_target(&self) -> Result<(Target, Raw), Error> {
        let uri = self.text_member(Member::Uri)?;
        let text = uri.as_text().expect("checked to be text");
        let find = |view: &View| match view.find_resource(&text)? {
            Some(target) => Ok(target),
            // The URI is not listed, but a result may have contained it.
            None => (self.views.link_owner(&text))
                .and_then(|upstream| view.resource_of(upstream, &text))
                .ok_or_else(|| view.unknown_resource(&text)),
        };
        let (_, target) = self.find(self.views.view(), &text, find).await?;
        self.permit(ItemKind::Resource, &target, &text)?;
        drop(text);
        Ok((target, uri))
    }

    fn permit(&self, kind: ItemKind, target: &Target, name: &str) -> Result<(), Error> {
        if target.is_judged {
            self.refuse_case_variants()?;
        }
        target.permit(kind, name)
    }

    /// Refuses params with case variants of known keys, which a server could read instead of the
    /// keys that were checked.
    fn refuse_case_variants(&self) -> Result<(), Error> {
        match self.params.raw() {
            Some(params) => {
                case_variants::refuse_in_params(params, &["name", "uri", "ref", "arguments"])
            }
            None => Ok(()),
        }
    }

    /// Returns the member that names the called item.
    fn text_member(&self, member: Member) -> Result<Raw, Error> {
        let value = text(member.name(), self.params.member(member)?, self.method)?;
        self.context.observer.named(&value);
        Ok(value)
    }
}

/// The params of a call, ready for its server.
enum PreparedCall {
    /// The call is not sent; the client gets this result.
    Refused(Raw),
    /// The call can be sent. Contains the place of the name in the params.
    Named(Raw),
}
