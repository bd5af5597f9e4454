//! The environment as a value, read once at the start and passed to pure functions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use narrows_gateway::settings::ProxySettings;
use narrows_upstream::chain::{CHAIN, chain_above};

use super::raw::InheritEnv;

#[derive(Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

/// The variables that a child process inherits by default: identity, locale, folders and network
/// access. By convention none of them is secret, and servers started by `npx` or `uvx` do not run
/// without them.
const USUAL: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "SHELL",
    "LANG",
    "LC_*",
    "TMPDIR",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

impl Environment {
    pub(crate) fn of_this_process() -> Self {
        let mut own: Environment = std::env::vars_os().collect();
        // A wrapper that clears the environment of a server does not hide the gateway that started
        // it. An empty value does.
        let chain = own.variables.entry(CHAIN.into());
        if let Entry::Vacant(place) = chain
            && let Some(above) = chain_above()
        {
            place.insert(above.into_string().into());
        }
        own
    }

    /// Returns the value of a variable. A value that is not UTF-8 counts as unset, because it does
    /// not fit into a header, a URL or an argument.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name))?.to_str()
    }

    /// Returns true if the user disabled colours (no-color.org).
    pub(crate) fn no_color(&self) -> bool {
        self.variables
            .get(OsStr::new("NO_COLOR"))
            .is_some_and(|value| !value.is_empty())
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.folder("HOME")
    }

    /// Returns the folder of the user's configuration.
    pub(crate) fn config_folder(&self) -> Option<PathBuf> {
        // The XDG base directory specification ignores relative values.
        let xdg = self
            .folder("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute());
        xdg.map(Path::to_owned)
            .or_else(|| Some(self.home()?.join(".config")))
    }

    /// Returns the environment of a child process: the inherited variables, overridden by the
    /// server's own `env`.
    pub(crate) fn for_child(
        &self,
        inherit: &InheritEnv,
        own: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(OsString, OsString)> {
        let named: &[String] = match inherit {
            InheritEnv::Named(names) => names,
            InheritEnv::All | InheritEnv::Usual => &[],
        };
        let patterns = || {
            USUAL
                .iter()
                .copied()
                .chain(named.iter().map(String::as_str))
        };
        let wanted = |name: &OsStr| {
            matches!(inherit, InheritEnv::All) || patterns().any(|pattern| matches(pattern, name))
        };
        let ours = self.variables.iter().filter(|(name, _)| wanted(name));
        let mut variables: BTreeMap<OsString, OsString> = ours
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        variables.extend(
            own.into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        variables.into_iter().collect()
    }

    /// Returns the proxies for outgoing requests. If a variable exists in both spellings, the
    /// lower-case one applies, as in curl.
    pub(crate) fn proxies(&self) -> ProxySettings {
        let first = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| self.text(name));
            values
                .find(|value| !value.is_empty())
                .unwrap_or_default()
                .to_owned()
        };
        ProxySettings {
            http: first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            no_proxy: first(&["no_proxy", "NO_PROXY"]),
        }
    }

    fn folder(&self, name: &str) -> Option<&Path> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then(|| Path::new(value))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        let variables = variables.into_iter();
        Environment {
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}

/// Matches a name, or a prefix of names if the pattern ends in a star.
fn matches(pattern: &str, name: &OsStr) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == OsStr::new(pattern),
    }
}
