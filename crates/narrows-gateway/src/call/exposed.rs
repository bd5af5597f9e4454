//! The gateway's own tools on endpoints that do not list the others: what they
//! tell comes from the view, what they do is a call like any other.

use std::sync::Arc;

use narrows_shape::prune::Fallback;
use narrows_wire::{ItemKind, Raw, Revision};

use super::params::Member;
use super::shaped::ResultBudget;
use super::{Call, Params};
use crate::catalogue::View;
use crate::error::Error;
use crate::facade::{self, Errand, Facade, OwnTool, ResultForm};
use crate::permit;
use crate::session::Session;
use crate::settings::ModelReads;
use narrows_results::repair;
use narrows_results::shaping::Form;

/// Results of so many bytes are written in another form in no time.
const QUICK: usize = 64 * 1024;

impl Call<'_> {
    pub(super) async fn own_tool(self, own: OwnTool, view: Arc<View>) -> Result<Raw, Error> {
        let session = self.session;
        let revision = session.caller().revision;
        let arguments = self.params.member(Member::Arguments)?;
        let view = match own {
            OwnTool::Search => {
                self.session.wait_until_ready().await;
                self.session.view()
            }
            OwnTool::Exec | OwnTool::Inspect => self.view_with(arguments.as_ref(), view).await,
        };
        let result = match own {
            OwnTool::Exec => self.exec(arguments, view).await?,
            // A server may have hundreds of tools, each with a long schema.
            OwnTool::Inspect => {
                let inspect = move |facade: &Facade| facade.inspect(arguments.as_ref());
                self.told(view, inspect).await?
            }
            OwnTool::Search => {
                let search = move |facade: &Facade| facade.search(arguments.as_ref());
                self.told(view, search).await?
            }
        };
        let result = repair::for_revision(result, revision);
        // What `exec` gives has its form already.
        let is_text_alone = own != OwnTool::Exec && result_form(session).leaves_out_structured(0);
        // Older clients do not know it, and the text says the same.
        Ok(match is_text_alone || revision < Revision::V2025_06_18 {
            true => result.without_member("structuredContent"),
            false => result,
        })
    }

    /// The view once the server that is meant has started.
    async fn view_with(&self, arguments: Option<&Raw>, view: Arc<View>) -> Arc<View> {
        let server = arguments.and_then(|arguments| arguments.member("server_name"));
        let server = server.as_ref().and_then(Raw::as_text).unwrap_or_default();
        match view.absent_server(&server) {
            Some(upstream) => self.session.view_after(&upstream).await.unwrap_or(view),
            None => view,
        }
    }

    async fn told(
        &self,
        view: Arc<View>,
        tell: impl FnOnce(&Facade) -> Result<Raw, Error> + Send + 'static,
    ) -> Result<Raw, Error> {
        let told = aside(self.session, &view, tell).await?;
        told.inspect_err(|error| permit::tell_denied(self.tag, error))
    }

    async fn exec(mut self, arguments: Option<Raw>, view: Arc<View>) -> Result<Raw, Error> {
        let errand = match view.facade() {
            None => return Err(Error::Internal("There is nothing to call tools through")),
            Some(facade) if facade.is_quick(arguments.as_ref()) => facade.exec(arguments.as_ref()),
            // A schema may have to be compiled, and much to be held against it.
            Some(_) => {
                let exec = move |facade: &Facade| facade.exec(arguments.as_ref());
                aside(self.session, &view, exec).await?
            }
        };
        let errand = errand.inspect_err(|error| permit::tell_denied(self.tag, error))?;
        let (target, published, arguments, looks_for) = match errand {
            Errand::Answered(result) => return Ok(result),
            Errand::Recover(arguments) => {
                return self.recover(arguments).await;
            }
            Errand::Call {
                target,
                published,
                arguments,
                looks_for,
            } => (target, published, arguments, looks_for),
        };
        // What was checked must be what the server reads, preset or not.
        self.refuse_twins()?;
        self.permit(ItemKind::Tool, &target, &published)?;
        // From here on it is a call of that tool, whatever stands beside it.
        let params = self.params.take().unwrap_or_else(Raw::empty_object);
        let params = params.with_member("name", &target.name);
        self.params = Params::new(Some(params.with_member("arguments", &arguments)));
        let budget = self.budget_for_exec(&target, looks_for);
        let room = budget.as_ref().map_or(usize::MAX, ResultBudget::room);
        let name = self.text_member(Member::Name)?;
        let (session, tag, trace) = (self.session, self.tag, self.trace);
        let mut result = match self.ask(ItemKind::Tool, &target, name).await {
            Ok(result) => result,
            // Models read results and can act on them; a JSON-RPC error often
            // ends in the client.
            Err(error) => match facade::call_failure(&error, &target, trace.was_sent()) {
                Some(result) => {
                    trace.failed(&error);
                    result
                }
                None => return Err(error),
            },
        };
        if let Some(budget) = budget {
            result = budget
                .apply(session, tag, &target, Form::Tool, result)
                .await;
        }
        // The tool has done its work, so there is a result whatever happens here.
        let plain = result.clone();
        let form = ResultForm {
            room,
            ..result_form(session)
        };
        let dress = move |facade: &Facade| facade.dress(result, form);
        let dressed = match plain.len() > QUICK {
            true => aside(session, &view, dress).await.ok(),
            false => view.facade().map(dress),
        };
        Ok(dressed.unwrap_or(plain))
    }
}

/// The form in which the client of a session gets results.
fn result_form(session: &Session) -> ResultForm {
    ResultForm {
        room: usize::MAX,
        structured: session.preset_view().plan().policies.structured,
        reads_structured: session.result_traits().reads == Some(ModelReads::Structured),
    }
}

/// The error for work on long texts that was not done.
pub(super) fn not_done(why: Fallback) -> Error {
    Error::Internal(match why {
        Fallback::Timeout => "Too many long texts are being worked on",
        _ => "The text could not be read",
    })
}

/// Long work, off the threads that others wait for, and a few at a time.
async fn aside<T: Send + 'static>(
    session: &Session,
    view: &Arc<View>,
    work: impl FnOnce(&Facade) -> T + Send + 'static,
) -> Result<T, Error> {
    let view = view.clone();
    let shaping = session.endpoint().shaping();
    let done = shaping
        .run(session.workers(), move || view.facade().map(work))
        .await;
    done.map_err(not_done)?
        .ok_or(Error::Internal("Could not describe the tools"))
}
