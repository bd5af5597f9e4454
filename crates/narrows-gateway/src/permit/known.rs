//! What is asked of a server's URIs again and again, made once.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use super::uri;
use crate::catalogue::Template;
use crate::upstream::Offer;

/// Belongs to one offer and is made when it is first asked: without a preset
/// nobody asks.
#[derive(Default)]
pub(crate) struct KnownUris(OnceLock<Box<Known>>);

pub(super) struct Known {
    /// Where in the offer the resources of a plain URI are.
    resources: HashMap<Box<str>, Vec<usize>>,
    templates: Vec<KnownTemplate>,
}

pub(super) struct KnownTemplate {
    pub(super) key: Box<str>,
    own: Option<Template>,
    plain: Option<Template>,
}

impl KnownUris {
    pub(super) fn of<'a>(&'a self, offer: &Offer) -> &'a Known {
        self.0.get_or_init(|| Box::new(Known::read(offer)))
    }
}

impl Known {
    fn read(offer: &Offer) -> Known {
        let mut resources: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        for (at, item) in offer.resources.iter().enumerate() {
            let plain = uri::plain(&item.key);
            let same = resources.entry(uri::without_slash(&plain).into());
            same.or_default().push(at);
        }
        let template = |key: &str| KnownTemplate {
            key: key.into(),
            own: Template::parse(key),
            plain: Template::parse(&uri::plain(key)),
        };
        let templates = offer.templates.iter();
        Known {
            resources,
            templates: templates.map(|item| template(&item.key)).collect(),
        }
    }

    /// The listed resources that a plain URI may stand for.
    pub(super) fn resources<'a>(
        &'a self,
        offer: &'a Offer,
        plain: &str,
    ) -> impl Iterator<Item = &'a str> {
        let same = self.resources.get(uri::without_slash(plain));
        let items = same.into_iter().flatten();
        items.filter_map(|at| Some(&*offer.resources.get(*at)?.key))
    }

    /// The templates that a URI fits as they are written.
    pub(super) fn templates(&self, uri: &str) -> impl Iterator<Item = &KnownTemplate> {
        self.templates.iter().filter(move |one| one.fits(uri))
    }

    /// The templates that a plain URI may come from.
    pub(super) fn templates_of_plain(&self, plain: &str) -> impl Iterator<Item = &KnownTemplate> {
        let may = move |one: &&KnownTemplate| {
            one.fits(plain) || (one.plain.as_ref()).is_some_and(|own| own.matches(plain))
        };
        self.templates.iter().filter(may)
    }
}

impl KnownTemplate {
    fn fits(&self, uri: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.matches(uri))
    }
}

/// A copy of an offer is made to be changed.
impl Clone for KnownUris {
    fn clone(&self) -> KnownUris {
        KnownUris::default()
    }
}

impl fmt::Debug for KnownUris {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownUris")
    }
}
