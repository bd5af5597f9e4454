//! Tools that are told of and called, not listed: the gateway's own `inspect`,
//! `exec` and `search_tools`, which stand for all others on endpoints that
//! expose tools so.
//!
//! A [`Facade`] belongs to a view and knows nothing but what is in it: no
//! answer of `inspect` or `search_tools` asks a server. What it says is decided
//! here; who may see what was decided before, in `permit`.

mod answer;
mod arguments;

use std::sync::Arc;

use narrows_wire::Raw;

use crate::error::Error;
use crate::preset::Denial;
use crate::settings::{Expose, FacadeSettings};
use crate::upstream::{Item, Upstream};

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
    pub(crate) tools: Vec<Shown>,
    pub(crate) hidden: Vec<Hidden>,
}

/// A tool that may be used.
pub(crate) struct Shown {
    pub(crate) item: Item,
    /// As it is called on endpoints that list it.
    pub(crate) published: Box<str>,
}

/// A tool that the preset in force does not allow.
pub(crate) struct Hidden {
    pub(crate) name: Box<str>,
    pub(crate) published: Box<str>,
    pub(crate) denial: Arc<Denial>,
}

/// What `exec` was asked to do.
pub(crate) enum Errand {
    /// To call this tool; its arguments are as its schema wants them.
    Call {
        upstream: Arc<Upstream>,
        item: Item,
        arguments: Raw,
    },
    /// To give back what was cut, with the arguments of the gateway's own tool.
    Recover(Option<Raw>),
    /// Nothing that can be done; this result says why.
    Answered(Raw),
}

pub(crate) struct Facade {
    expose: Expose,
    settings: FacadeSettings,
    shelves: Vec<Shelf>,
    /// The most characters of text in one answer.
    max_chars: usize,
    /// Whether results may be cut here, so that there is a way to get them back.
    cuts: bool,
}

impl Facade {
    pub(crate) fn new(
        expose: Expose,
        settings: FacadeSettings,
        shelves: Vec<Shelf>,
        max_chars: usize,
        cuts: bool,
    ) -> Facade {
        Facade {
            expose,
            settings,
            shelves,
            max_chars,
            cuts,
        }
    }
}
