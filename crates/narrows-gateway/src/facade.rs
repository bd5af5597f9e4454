//! Tools that are told of and called, not listed: the gateway's own `inspect`,
//! `exec` and `search_tools`, which stand for all others on endpoints that
//! expose tools so.
//!
//! A [`Facade`] belongs to a view and knows nothing but what is in it: no
//! answer of `inspect` or `search_tools` asks a server. What it says is decided
//! here; who may see what was decided before, in `permit`. Whatever is wrong
//! with a question is a result that says so, since models read those and can do
//! better; only what a preset forbids is an error.

mod answer;
mod dress;
mod entry;
mod exec;
mod failure;
mod find;
mod inspect;
mod request;
mod servers;
mod settings;
mod telling;
#[cfg(test)]
mod tests;
mod topics;

use std::sync::{Arc, OnceLock};

use narrows_policy::preset::{Denial, Pattern};
use narrows_shape::budget::RecoveryForm;
use narrows_shape::search::Index;
use narrows_wire::Raw;

pub(crate) use self::dress::ResultForm;
pub use self::exec::NAME as EXEC_TOOL;
pub(crate) use self::failure::call_failure;
use self::servers::{Refusal, Servers};
pub use self::settings::{Encoding, FacadeSettings, Telling};
use self::telling::Listing;
use crate::error::Error;
use crate::permit;
use crate::target::Target;
use narrows_results::shaping::{Policies, RecoverTool, ResultArguments};
use narrows_upstream::{Item, Upstream};

/// How a client comes to know which tools there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The description of `inspect` says it.
    Lazy,
    /// It searches.
    Search,
}

/// The gateway's own tools on such an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnTool {
    Inspect,
    Exec,
    Search,
}

/// One server that is up, with what it offers.
pub(crate) struct Shelf {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) server_info: Raw,
    pub(crate) instructions: Option<String>,
    /// What the preset in force says against all of it.
    pub(crate) denied: Option<Arc<Denial>>,
    pub(crate) tools: Vec<Shown>,
    pub(crate) hidden: Vec<Hidden>,
    pub(crate) task_only: Vec<TaskOnly>,
}

/// A tool that may be used.
pub(crate) struct Shown {
    pub(crate) item: Item,
    /// As it is called on endpoints that list it.
    pub(crate) published: Box<str>,
    /// Where calls of it lead.
    pub(crate) target: Target,
}

/// A tool that the preset in force does not allow.
pub(crate) struct Hidden {
    pub(crate) name: Box<str>,
    pub(crate) published: Box<str>,
    pub(crate) denial: Arc<Denial>,
}

/// A tool that runs only as a task, which cannot be called here.
pub(crate) struct TaskOnly {
    pub(crate) name: Box<str>,
    pub(crate) published: Box<str>,
}

/// What `exec` was asked to do.
pub(crate) enum Errand {
    /// To call this tool; its arguments are as its schema wants them.
    Call {
        target: Target,
        /// As it is called on endpoints that list it.
        published: Box<str>,
        arguments: Raw,
        /// What its result is wanted for.
        looks_for: ResultArguments,
    },
    /// To give back what was cut, with the arguments of the gateway's own tool.
    Recover(Option<Raw>),
    /// Nothing that can be done; this result says why.
    Answered(Raw),
}

pub(crate) struct Facade {
    way: Way,
    settings: FacadeSettings,
    servers: Servers,
    /// What is said of the servers where tools are listed.
    listing: Listing,
    /// The most characters of text in one answer.
    max_chars: usize,
    /// How `exec` is told to get back what was cut, where anything is.
    recover: Option<Box<str>>,
    /// Made by the first search: most views are never searched.
    index: OnceLock<Index>,
}

impl Facade {
    /// Made of the servers that are up; of those that are `down` it can say so.
    /// That happens with every change of every server, so whatever is not listed
    /// is made when it is first asked for.
    pub(crate) fn new(
        way: Way,
        settings: FacadeSettings,
        shelves: Vec<Shelf>,
        down: Vec<Arc<Upstream>>,
        policies: &Policies,
        cuts: bool,
    ) -> Facade {
        let servers = Servers::new(shelves, down, cuts);
        Facade {
            way,
            listing: match way {
                Way::Lazy => telling::listing(&servers, &settings),
                Way::Search => topics::listing(&servers, &settings),
            },
            recover: cuts.then(|| exec::recover_name(&servers)),
            settings,
            servers,
            max_chars: policies.own_max_chars(),
            index: OnceLock::new(),
        }
    }

    /// The tools as they are listed: ours, in a stable order. Pinned ones are
    /// listed by the view.
    pub(crate) fn own_tools(&self) -> Vec<Raw> {
        let recover = self.recover.as_deref();
        match self.way {
            Way::Lazy => vec![inspect::tool(&self.listing.text), exec::tool(recover)],
            Way::Search => vec![
                find::tool(&self.listing.text),
                inspect::tool(inspect::AFTER_SEARCH),
                exec::tool(recover),
            ],
        }
    }

    /// Whether a tool is listed all the same.
    pub(crate) fn is_pinned(&self, upstream: &Upstream, name: &str) -> bool {
        let fits = |pattern: &Pattern| pattern.matches(permit::server_name(upstream), name);
        self.way == Way::Search && self.settings.pin.iter().any(fits)
    }

    /// Which of ours a name means.
    pub(crate) fn own(&self, name: &str) -> Option<OwnTool> {
        match (self.way, name) {
            (_, inspect::NAME) => Some(OwnTool::Inspect),
            (_, exec::NAME) => Some(OwnTool::Exec),
            (Way::Search, find::NAME) => Some(OwnTool::Search),
            _ => None,
        }
    }

    /// The names of the gateway's own tools on this endpoint.
    pub(crate) fn own_names(&self) -> impl Iterator<Item = &'static str> {
        let search = (self.way == Way::Search).then_some(find::NAME);
        [inspect::NAME, exec::NAME].into_iter().chain(search)
    }

    /// What `initialize` says as instructions on such an endpoint.
    pub(crate) fn instructions(&self) -> String {
        let how = match self.way {
            Way::Lazy => {
                "Call tools with exec(server_name, tool_name, arguments); the description of \
                 inspect lists them, inspect(server_name, tool_name) shows a schema."
            }
            Way::Search => {
                "Find tools with search_tools(query), call them with exec(server_name, \
                 tool_name, arguments); inspect(server_name) shows all of a server."
            }
        };
        match &self.recover {
            Some(recover) => format!(
                "{how} Long results are cut to a digest: pass find or goal to exec, or look \
                 into the whole with exec(\"{}\", \"{recover}\", {{\"prune_id\", \"query\"}}).",
                servers::OURS
            ),
            None => how.to_owned(),
        }
    }

    /// What the servers' tools do and take: a result, also where it says what
    /// is wrong with the question.
    pub(crate) fn inspect(&self, arguments: Option<&Raw>) -> Result<Raw, Error> {
        told(self.inspected(arguments))
    }

    /// The tools for a task, best first.
    pub(crate) fn search(&self, arguments: Option<&Raw>) -> Result<Raw, Error> {
        told(self.found(arguments))
    }

    /// The tool that gives back what was cut, as clients call it.
    pub(crate) fn recover_tool(&self) -> Option<RecoverTool> {
        Some(RecoverTool {
            name: self.recover.as_deref()?.into(),
            form: RecoveryForm::Exec,
        })
    }

    /// What a call of `exec` is to do.
    pub(crate) fn exec(&self, arguments: Option<&Raw>) -> Result<Errand, Error> {
        match self.errand(arguments) {
            Ok(errand) => Ok(errand),
            Err(Refusal::Told(result)) => Ok(Errand::Answered(result)),
            Err(Refusal::Denied(error)) => Err(error),
        }
    }

    /// A tool's result in the form of `exec`, after its repair and its budget.
    pub(crate) fn dress(&self, result: Raw, form: ResultForm) -> Raw {
        dress::dress(result, &self.settings, form)
    }
}

fn told(answer: Result<Raw, Refusal>) -> Result<Raw, Error> {
    match answer {
        Ok(result) | Err(Refusal::Told(result)) => Ok(result),
        Err(Refusal::Denied(error)) => Err(error),
    }
}
