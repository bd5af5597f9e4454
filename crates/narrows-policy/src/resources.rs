//! An index of a server's resources and templates by normalised URI.

use std::collections::HashMap;

use crate::template::Template;
use crate::uri;

/// The listed URIs and URI templates of one server.
#[derive(Debug, Default)]
pub struct ResourceIndex {
    /// The listed URIs, by their normalised form.
    resources: HashMap<Box<str>, Vec<Box<str>>>,
    templates: Vec<ListedTemplate>,
}

#[derive(Debug)]
pub(crate) struct ListedTemplate {
    pub(crate) key: Box<str>,
    own: Option<Template>,
    plain: Option<Template>,
}

impl ResourceIndex {
    pub fn new<'a>(
        uris: impl Iterator<Item = &'a str>,
        templates: impl Iterator<Item = &'a str>,
    ) -> ResourceIndex {
        let mut resources: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
        for uri in uris {
            let plain = uri::plain(uri);
            let same = resources.entry(uri::without_slash(&plain).into());
            same.or_default().push(uri.into());
        }
        let template = |key: &str| ListedTemplate {
            key: key.into(),
            own: Template::parse(key),
            plain: Template::parse(&uri::plain(key)),
        };
        ResourceIndex {
            resources,
            templates: templates.map(template).collect(),
        }
    }

    /// Returns true if the server lists exactly this URI or template.
    pub(crate) fn lists(&self, uri: &str) -> bool {
        self.resources(&uri::plain(uri)).any(|key| key == uri)
            || self.templates.iter().any(|template| &*template.key == uri)
    }

    /// Returns the listed resources that match a normalised URI.
    pub(crate) fn resources(&self, plain: &str) -> impl Iterator<Item = &str> {
        let same = self.resources.get(uri::without_slash(plain));
        same.into_iter().flatten().map(|key| &**key)
    }

    /// Returns the templates, as written, that match a URI.
    pub(crate) fn templates(&self, uri: &str) -> impl Iterator<Item = &ListedTemplate> {
        self.templates.iter().filter(move |one| one.fits(uri))
    }

    /// Returns the templates that may expand to a normalised URI.
    pub(crate) fn templates_of_plain(&self, plain: &str) -> impl Iterator<Item = &ListedTemplate> {
        let may = move |one: &&ListedTemplate| {
            one.fits(plain) || (one.plain.as_ref()).is_some_and(|own| own.matches(plain))
        };
        self.templates.iter().filter(may)
    }
}

impl ListedTemplate {
    fn fits(&self, uri: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.matches(uri))
    }
}
