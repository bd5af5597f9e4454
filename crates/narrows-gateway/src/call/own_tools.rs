//! The gateway's own tools on endpoints that do not list all tools. Descriptions come from the
//! view; `exec` runs the same path as any other call.

use std::sync::Arc;

use narrows_wire::{ItemKind, Raw, Revision};

use super::budget::{ResultBudget, not_done};
use super::params::Member;
use super::{Call, Params, PreparedCall, RoutedRequest};
use crate::catalogue::View;
use crate::error::Error;
use crate::facade::{self, ExecPlan, Facade, OwnTool, ResultForm};
use crate::settings::ModelReads;
use narrows_results::repair;
use narrows_results::shaping::ResultKind;

/// Results up to this many bytes are reformatted on the async threads.
const QUICK: usize = 64 * 1024;

impl Call<'_> {
    pub(super) async fn own_tool(self, own: OwnTool, view: Arc<View>) -> Result<Raw, Error> {
        let revision = self.context.caller.revision;
        // Results of `exec` are already formatted.
        let is_text_alone =
            own != OwnTool::Exec && self.result_form(usize::MAX).leaves_out_structured(0);
        let arguments = self.params.member(Member::Arguments)?;
        let view = match own {
            OwnTool::Search => {
                self.views.ready().await;
                self.views.view()
            }
            OwnTool::Exec | OwnTool::Inspect => self.view_with(arguments.as_ref(), view).await,
        };
        let result = match own {
            OwnTool::Exec => self.exec(arguments, view).await?,
            // Runs off the async threads, because a server may have hundreds of tools with long
            // schemas.
            OwnTool::Inspect => {
                let inspect = move |facade: &Facade| facade.inspect(arguments.as_ref());
                self.run_offloaded(&view, inspect).await??
            }
            OwnTool::Search => {
                let search = move |facade: &Facade| facade.search(arguments.as_ref());
                self.run_offloaded(&view, search).await??
            }
        };
        let result = repair::for_revision(result, revision);
        // Older revisions do not know `structuredContent`, and the text says the same.
        Ok(match is_text_alone || revision < Revision::V2025_06_18 {
            true => result.without_member("structuredContent"),
            false => result,
        })
    }

    /// Waits until the server named in the arguments has started, and returns the view after that.
    async fn view_with(&self, arguments: Option<&Raw>, view: Arc<View>) -> Arc<View> {
        let server = arguments.and_then(|arguments| arguments.member("server_name"));
        let server = server.as_ref().and_then(Raw::as_text).unwrap_or_default();
        match view.absent_server(&server) {
            Some(upstream) => self.views.view_after(&upstream).await.unwrap_or(view),
            None => view,
        }
    }

    async fn exec(mut self, arguments: Option<Raw>, view: Arc<View>) -> Result<Raw, Error> {
        let exec_plan = match view.facade() {
            None => return Err(Error::Internal("This endpoint has no exec tool")),
            Some(facade) if facade.is_quick(arguments.as_ref()) => facade.exec(arguments.as_ref()),
            // Runs off the async threads, because a schema may have to be compiled and long
            // arguments validated.
            Some(_) => {
                let exec = move |facade: &Facade| facade.exec(arguments.as_ref());
                self.run_offloaded(&view, exec).await?
            }
        };
        let (target, published, arguments, result_arguments) = match exec_plan? {
            ExecPlan::Answered(result) => return Ok(result),
            ExecPlan::Recover(arguments) => {
                return self.recover(arguments).await;
            }
            ExecPlan::Call {
                target,
                published,
                arguments,
                result_arguments,
            } => (target, published, arguments, result_arguments),
        };
        // The server must read the same members that were checked, even without a preset.
        self.refuse_case_variants()?;
        self.permit(ItemKind::Tool, &target, &published)?;
        // From here on the request is an ordinary call to that tool. Other members of the params
        // stay.
        let params = self.params.take().unwrap_or_else(Raw::empty_object);
        let params = params.with_member("name", &target.name);
        self.params = Params::new(Some(params.with_member("arguments", &arguments)));
        let budget = self.budget_for_exec(&target, result_arguments);
        let room = budget.as_ref().map_or(usize::MAX, ResultBudget::room);
        let name = self.text_member(Member::Name)?;
        let outcome = match self.prepare(ItemKind::Tool, &target, name)? {
            PreparedCall::Refused(result) => Ok(result),
            PreparedCall::Named(name) => {
                let sent = self.send(RoutedRequest::to(&target, name.clone())).await;
                sent.map(|result| self.repair(ItemKind::Tool, &target, &name, result))
            }
        };
        let observer = self.context.observer;
        let mut result = match outcome {
            Ok(result) => result,
            // Returned as a result, because models read results and can act on them, while clients
            // often do not pass JSON-RPC errors to the model.
            Err(error) => match facade::call_failure(&error, &target, observer.was_sent()) {
                Some(result) => {
                    observer.failed_in_result(&error);
                    result
                }
                None => return Err(error),
            },
        };
        if let Some(budget) = budget {
            result = budget.apply(&self, &target, ResultKind::Tool, result).await;
        }
        // The tool has already run, so its result is returned even if formatting fails.
        let plain = result.clone();
        let form = self.result_form(room);
        let format_result = move |facade: &Facade| facade.format_result(result, form);
        let dressed = match plain.len() > QUICK {
            true => self.run_offloaded(&view, format_result).await.ok(),
            false => view.facade().map(format_result),
        };
        Ok(dressed.unwrap_or(plain))
    }

    /// Returns the format of results for this client.
    fn result_form(&self, room: usize) -> ResultForm {
        ResultForm {
            room,
            structured: self.views.view().policies().structured,
            reads_structured: self.context.caller.result_traits.reads
                == Some(ModelReads::Structured),
        }
    }

    /// Runs long work off the async threads, with a limit on how much runs at once.
    async fn run_offloaded<T: Send + 'static>(
        &self,
        view: &Arc<View>,
        work: impl FnOnce(&Facade) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let view = view.clone();
        let done = self
            .shaping
            .run(self.workers, move || view.facade().map(work));
        done.await
            .map_err(not_done)?
            .ok_or(Error::Internal("Could not describe the tools"))
    }
}
