//! The gateway's own tools `inspect`, `exec` and `search_tools`, which replace the list of all
//! tools on lazy and search endpoints.
//!
//! A [`Facade`] belongs to a view and uses only its data: `inspect` and `search_tools` send no
//! request to a server. The facade formats the responses; access was decided before, in `permit`.
//! Mistakes in a request are returned as results, because models read results and can correct the
//! request. Only items that a preset forbids cause an error.

mod answer;
mod entry;
mod exec;
mod failure;
mod find;
mod format_result;
mod inspect;
mod request;
mod servers;
mod settings;
#[cfg(test)]
mod tests;
mod tool_index;
mod topics;

use std::sync::{Arc, OnceLock};

use narrows_policy::preset::{Denial, Pattern};
use narrows_shape::budget::RecoveryForm;
use narrows_shape::search::Index;
use narrows_wire::Raw;

pub use self::exec::NAME as EXEC_TOOL;
pub(crate) use self::failure::call_failure;
pub(crate) use self::format_result::ResultForm;
use self::servers::{Refusal, Servers};
pub use self::settings::{Encoding, FacadeSettings, ListingDetail};
use self::tool_index::ToolIndex;
use crate::error::Error;
use crate::permit;
use crate::target::Target;
use narrows_results::shaping::{Policies, RecoverTool, ResultArguments};
use narrows_upstream::{Item, Upstream};

/// The way in which clients learn of the available tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FacadeMode {
    /// From the description of `inspect`.
    Lazy,
    /// By searching.
    Search,
}

/// The gateway's own tools on lazy and search endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnTool {
    Inspect,
    Exec,
    Search,
}

/// A server that is up, with the tools that it offers.
pub(crate) struct ServerTools {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) server_info: Raw,
    pub(crate) instructions: Option<String>,
    /// The rule of the preset that denies the whole server.
    pub(crate) denied: Option<Arc<Denial>>,
    pub(crate) tools: Vec<VisibleTool>,
    pub(crate) hidden: Vec<HiddenTool>,
    pub(crate) task_only: Vec<TaskOnlyTool>,
}

/// A tool that may be used.
pub(crate) struct VisibleTool {
    pub(crate) item: Item,
    /// The name of the tool on endpoints that list it.
    pub(crate) published: Box<str>,
    /// The target of calls.
    pub(crate) target: Target,
}

/// A tool that the preset in force does not allow.
pub(crate) struct HiddenTool {
    pub(crate) name: Box<str>,
    pub(crate) published: Box<str>,
    pub(crate) denial: Arc<Denial>,
}

/// A tool that runs only as a task and cannot be called on this endpoint.
pub(crate) struct TaskOnlyTool {
    pub(crate) name: Box<str>,
    pub(crate) published: Box<str>,
}

/// The action that a call to `exec` requests.
pub(crate) enum ExecPlan {
    /// Calls this tool. The arguments match its schema.
    Call {
        target: Target,
        /// The name of the tool on endpoints that list it.
        published: Box<str>,
        arguments: Raw,
        /// The search options for the result.
        result_arguments: ResultArguments,
    },
    /// Recovers cut text, with the arguments for the gateway's own tool.
    Recover(Option<Raw>),
    /// Nothing. The result contains the reason.
    Answered(Raw),
}

pub(crate) struct Facade {
    mode: FacadeMode,
    settings: FacadeSettings,
    servers: Servers,
    /// The description that lists the servers.
    listing: ToolIndex,
    /// The maximum number of characters of text in one result.
    max_chars: usize,
    /// The name of the recovery tool in calls to `exec`. `None` if nothing is cut.
    recover: Option<Box<str>>,
    /// Built by the first search, because most views are never searched.
    index: OnceLock<Index>,
}

impl Facade {
    /// Creates a facade from the servers that are up. Servers in `down` are named in errors. A
    /// facade is created whenever a server changes, so data that is not part of the lists is
    /// created on first use.
    pub(crate) fn new(
        mode: FacadeMode,
        settings: FacadeSettings,
        tools_by_server: Vec<ServerTools>,
        down: Vec<Arc<Upstream>>,
        policies: &Policies,
        cuts: bool,
    ) -> Facade {
        let servers = Servers::new(tools_by_server, down, cuts);
        Facade {
            mode,
            listing: match mode {
                FacadeMode::Lazy => tool_index::listing(&servers, &settings),
                FacadeMode::Search => topics::listing(&servers, &settings),
            },
            recover: cuts.then(|| exec::recover_name(&servers)),
            settings,
            servers,
            max_chars: policies.own_max_chars(),
            index: OnceLock::new(),
        }
    }

    /// Returns the list entries of the gateway's own tools, in a stable order. Pinned tools are
    /// listed by the view.
    pub(crate) fn own_tools(&self) -> Vec<Raw> {
        let recover = self.recover.as_deref();
        match self.mode {
            FacadeMode::Lazy => vec![inspect::tool(&self.listing.text), exec::tool(recover)],
            FacadeMode::Search => vec![
                find::tool(&self.listing.text),
                inspect::tool(inspect::AFTER_SEARCH),
                exec::tool(recover),
            ],
        }
    }

    /// Returns true if the tool is listed in addition to the gateway's own tools.
    pub(crate) fn is_pinned(&self, upstream: &Upstream, name: &str) -> bool {
        let fits = |pattern: &Pattern| pattern.matches(permit::server_name(upstream), name);
        self.mode == FacadeMode::Search && self.settings.pin.iter().any(fits)
    }

    /// Returns the gateway's own tool of this name.
    pub(crate) fn own(&self, name: &str) -> Option<OwnTool> {
        match (self.mode, name) {
            (_, inspect::NAME) => Some(OwnTool::Inspect),
            (_, exec::NAME) => Some(OwnTool::Exec),
            (FacadeMode::Search, find::NAME) => Some(OwnTool::Search),
            _ => None,
        }
    }

    /// The names of the gateway's own tools on this endpoint.
    pub(crate) fn own_names(&self) -> impl Iterator<Item = &'static str> {
        let search = (self.mode == FacadeMode::Search).then_some(find::NAME);
        [inspect::NAME, exec::NAME].into_iter().chain(search)
    }

    /// Returns the `instructions` of the `initialize` result.
    pub(crate) fn instructions(&self) -> String {
        let how = match self.mode {
            FacadeMode::Lazy => {
                "Call tools with exec(server_name, tool_name, arguments); the description of \
                 inspect lists them, inspect(server_name, tool_name) shows a schema."
            }
            FacadeMode::Search => {
                "Find tools with search_tools(query), call them with exec(server_name, \
                 tool_name, arguments); inspect(server_name) shows all of a server."
            }
        };
        match &self.recover {
            Some(recover) => format!(
                "{how} Long results are cut to a digest: pass find or goal to exec, or query \
                 the full text with exec(\"{}\", \"{recover}\", {{\"prune_id\", \"query\"}}).",
                servers::GATEWAY_NAME
            ),
            None => how.to_owned(),
        }
    }

    /// Describes the tools of a server. Mistakes in the arguments are reported as a result.
    pub(crate) fn inspect(&self, arguments: Option<&Raw>) -> Result<Raw, Error> {
        into_result(self.inspected(arguments))
    }

    /// Returns the tools that fit a task, best first.
    pub(crate) fn search(&self, arguments: Option<&Raw>) -> Result<Raw, Error> {
        into_result(self.found(arguments))
    }

    /// Returns the recovery tool in the form in which clients call it.
    pub(crate) fn recover_tool(&self) -> Option<RecoverTool> {
        Some(RecoverTool {
            name: self.recover.as_deref()?.into(),
            form: RecoveryForm::Exec,
        })
    }

    /// Returns the action that a call to `exec` requests.
    pub(crate) fn exec(&self, arguments: Option<&Raw>) -> Result<ExecPlan, Error> {
        match self.exec_plan(arguments) {
            Ok(exec_plan) => Ok(exec_plan),
            Err(Refusal::ErrorResult(result)) => Ok(ExecPlan::Answered(result)),
            Err(Refusal::Denied(error)) => Err(error),
        }
    }

    /// Formats a tool's result for `exec`, after its repair and its budget.
    pub(crate) fn format_result(&self, result: Raw, form: ResultForm) -> Raw {
        format_result::format_result(result, &self.settings, form)
    }
}

fn into_result(answer: Result<Raw, Refusal>) -> Result<Raw, Error> {
    match answer {
        Ok(result) | Err(Refusal::ErrorResult(result)) => Ok(result),
        Err(Refusal::Denied(error)) => Err(error),
    }
}
