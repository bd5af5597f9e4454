//! The last step of a call: applies the result budget. Also handles the calls that recover cut
//! text.

use narrows_policy::preset::Preset;
use narrows_shape::budget::RecoveryRange;
use narrows_shape::prune::Fallback;
use narrows_wire::Raw;
use serde_json::json;

use super::params::Member;
use super::{Call, Params};
use crate::caller::Caller;
use crate::catalogue::View;
use crate::error::Error;
use crate::settings::{ModelReads, Structured};
use crate::target::Target;
use narrows_results::recover_tool::{self, Find};
use narrows_results::recovery_store::{Owner, RecoveryStore};
use narrows_results::shaping::{
    self, FIND_ARGUMENT, GOAL_ARGUMENT, GoalHint, Job, Policy, ResultArguments, ResultKind,
    Shaping, Source,
};
use narrows_wire::tool_result;

/// The budget of a result, and the search options of the caller.
pub(super) struct ResultBudget {
    policy: Policy,
    params: Option<Raw>,
    result_arguments: ResultArguments,
}

impl Call<'_> {
    /// Returns the budget for the result of a tool. Removes the gateway's own arguments from the
    /// params, because servers do not know them.
    pub(super) fn budget_for_tool(
        &mut self,
        view: &View,
        target: &Target,
    ) -> Result<Option<ResultBudget>, Error> {
        let Some(policy) = target.policy else {
            return Ok(None);
        };
        let result_arguments = match policy.goal_param && view.lacks_goal(target) {
            true => self.take_result_arguments()?,
            false => ResultArguments::default(),
        };
        Ok(Some(self.budget(policy, result_arguments)))
    }

    /// Returns the budget for the result of a tool that is called through `exec`.
    pub(super) fn budget_for_exec(
        &self,
        target: &Target,
        result_arguments: ResultArguments,
    ) -> Option<ResultBudget> {
        Some(self.budget(target.policy?, result_arguments))
    }

    pub(super) fn budget_for_resource(&self, target: &Target) -> Option<ResultBudget> {
        Some(self.budget(target.policy?, ResultArguments::default()))
    }

    fn budget(&self, policy: Policy, result_arguments: ResultArguments) -> ResultBudget {
        let policy = policy.capped(self.context.caller.result_traits.cap);
        let policy = match result_arguments.max_chars {
            Some(max_chars) => policy.with_budget(max_chars),
            None => policy,
        };
        ResultBudget {
            policy,
            params: self.params.raw().cloned(),
            result_arguments,
        }
    }

    fn take_result_arguments(&mut self) -> Result<ResultArguments, Error> {
        let mut result_arguments = ResultArguments::default();
        let Some(params) = self.params.raw() else {
            return Ok(result_arguments);
        };
        let Some(arguments) = self.params.member(Member::Arguments)? else {
            return Ok(result_arguments);
        };
        let Ok([goal, find]) = arguments.pick([GOAL_ARGUMENT, FIND_ARGUMENT]) else {
            return Ok(result_arguments);
        };
        if goal.is_none() && find.is_none() {
            return Ok(result_arguments);
        }
        let others = arguments
            .without_member(GOAL_ARGUMENT)
            .without_member(FIND_ARGUMENT);
        self.params = Params::new(Some(params.with_member("arguments", &others)));
        result_arguments.goal = goal;
        result_arguments.find = find
            .map(|find| Find::read(&find).map_err(|wrong| Error::BadParams(wrong.message)))
            .transpose()?;
        Ok(result_arguments)
    }

    /// Returns an error result if the call would write a digest back: one of its arguments contains
    /// a marker, and its client has cut texts in the store.
    pub(super) fn refuse_markers(&self, target: &Target) -> Option<Raw> {
        target.policy.filter(|policy| policy.guard)?;
        let params = self.params.raw()?;
        if !shaping::may_hold_marker(params) {
            return None;
        }
        let arguments = self.params.member(Member::Arguments).ok()??;
        let marked = shaping::marked(&arguments)?;
        let view = self.views.view();
        if !self.shaping.store().has_any(&self.owner(&view)) {
            return None;
        }
        let recover = view.recover()?.tool.call("prn_…");
        let call = recover.call(RecoveryRange::Lines(1, 2));
        let said = json!({
            "error": format!(
                "Not called: argument '{}' contains a marker of cut text, {}, which would \
                 replace the original. Get the original lines first ({call}) and use them.",
                marked.argument, marked.marker,
            ),
            "code": "marker_in_arguments",
            "argument": marked.argument,
        });
        Some(tool_result::error(&said.to_string()))
    }

    /// Removes `structuredContent` if the endpoint drops it, or if it only repeats `content` and is
    /// what the client passes to its model, because it costs more tokens than `content`.
    pub(super) fn model_half(&self, target: &Target, result: Raw) -> Raw {
        let reads = self.context.caller.result_traits.reads;
        match self.views.view().policies().structured {
            _ if target.has_app => result,
            Structured::Drop => shaping::content_alone(&result),
            Structured::Auto if reads == Some(ModelReads::Structured) => {
                shaping::without_repetition(&result).unwrap_or(result)
            }
            Structured::Auto | Structured::Keep => result,
        }
    }

    /// Handles a call to the gateway's `recover_text` tool.
    pub(super) async fn recover(self, arguments: Option<Raw>) -> Result<Raw, Error> {
        self.with_store(move |store, owner, max_chars| {
            Ok(recover_tool::call(store, owner, max_chars, arguments))
        })
        .await
    }

    /// Handles a read of one of the gateway's own resources.
    pub(super) async fn read_receipt(self, uri: String) -> Result<Raw, Error> {
        self.with_store(move |store, owner, max_chars| {
            Ok(recover_tool::read(store, owner, max_chars, &uri)?)
        })
        .await
    }

    /// Runs `read` on the recovery store, off the async threads. The store may have to read from
    /// disk, and a text may be long.
    async fn with_store(
        self,
        read: impl FnOnce(&dyn RecoveryStore, &Owner, usize) -> Result<Raw, Error> + Send + 'static,
    ) -> Result<Raw, Error> {
        let store = self.shaping.store().clone();
        let view = self.views.view();
        let max_chars = view.policies().own_max_chars();
        let owner = self.owner(&view);
        drop(view);
        let work = self
            .shaping
            .run(self.workers, move || read(&*store, &owner, max_chars));
        work.await.map_err(not_done)?
    }

    /// Returns the owner under which texts are stored for this client.
    fn owner(&self, view: &View) -> Owner {
        let Caller {
            endpoint,
            principal,
            ..
        } = self.context.caller;
        let preset = view.preset().map(Preset::fingerprint);
        let preset = preset.as_deref();
        match view.only() {
            None => Owner::client(principal.name(), endpoint, preset),
            // Endpoint names contain no slash.
            Some(_) => Owner::client(principal.name(), &format!("servers/{endpoint}"), preset),
        }
    }
}

/// Returns the error for work on long texts that was not completed.
pub(super) fn not_done(why: Fallback) -> Error {
    Error::Internal(match why {
        Fallback::Timeout => "Too many long texts are being processed. Try again later",
        _ => "The text could not be read",
    })
}

impl ResultBudget {
    /// Returns true if the params were replaced, so that positions in them have to be looked up
    /// again.
    pub(super) fn changed_params(&self) -> bool {
        self.result_arguments.goal.is_some() || self.result_arguments.find.is_some()
    }

    /// Returns the number of characters of text that the result may have.
    pub(super) fn room(&self) -> usize {
        self.policy.passes_whole(self.policy.max_chars)
    }

    /// Returns the result within its budget. Returns small results without examining them.
    pub(super) async fn apply(
        self,
        call: &Call<'_>,
        target: &Target,
        form: ResultKind,
        result: Raw,
    ) -> Raw {
        if self.result_arguments.find.is_none() && !Shaping::may_exceed(&result, &self.policy) {
            return result;
        }
        let view = call.views.view();
        let Some(recover) = view.recover().map(|recover| recover.tool.clone()) else {
            return result;
        };
        let owner = call.owner(&view);
        drop(view);
        let name = target.name.as_text().unwrap_or_default();
        let source = Source {
            server: &target.upstream.settings.id,
            tool: match form {
                ResultKind::Tool => &name,
                // Resources are too many to count them one by one.
                ResultKind::Resource => "resources/read",
            },
        };
        let job = Job {
            result,
            form,
            policy: self.policy,
            goal_hint: GoalHint::of(self.params.as_ref(), self.result_arguments.goal.as_ref()),
            find: self.result_arguments.find,
            owner,
            recover,
            workers: call.workers.clone(),
        };
        let (result, shaped) = Box::pin(call.shaping.shape(source, job)).await;
        let observer = call.context.observer;
        observer.shaped(source, &shaped, result.len());
        result
    }
}
