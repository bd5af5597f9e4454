//! The endpoint that a command works on, its settings with those of the command line, and its
//! offer.

use std::sync::Arc;

use narrows_gateway::settings::{EndpointSettings, Expose, Settings};
use narrows_gateway::{Gateway, ToolReport, UpstreamReport};
use narrows_wire::Raw;

use super::{Exit, suggest};
use crate::cli;
use crate::config::Config;
use crate::terminal::{eprint_line, plain};

/// The tools that one endpoint offers, and its settings for them.
pub(super) struct EndpointTools {
    pub(super) endpoint: String,
    pub(super) expose: Expose,
    pub(super) preset: Option<String>,
    pub(super) report: Vec<UpstreamReport>,
    /// The listed tools, each with its name and JSON.
    pub(super) listed: Vec<(String, Raw)>,
    /// The gateway's tool for recovering cut text, if results are cut.
    pub(super) recover: Option<Arc<str>>,
}

impl EndpointTools {
    /// Returns the offer of the endpoint that [`choose`] has put first.
    pub(super) fn by(gateway: &Gateway, settings: &EndpointSettings) -> EndpointTools {
        let listed = gateway.listed(&settings.name).unwrap_or_default();
        let named = |tool: Raw| {
            let name = tool.member("name")?.as_text()?.into_owned();
            Some((name, tool))
        };
        EndpointTools {
            endpoint: settings.name.clone(),
            expose: settings.expose,
            preset: settings.preset.clone(),
            report: gateway.report(),
            listed: listed.into_iter().filter_map(named).collect(),
            recover: gateway.recover_tool(&settings.name),
        }
    }

    pub(super) fn lists(&self, name: &str) -> bool {
        self.listed.iter().any(|(listed, _)| listed == name)
    }
}

/// Returns the tools of a server that clients may use.
pub(super) fn allowed(server: &UpstreamReport) -> impl Iterator<Item = &ToolReport> + Clone {
    server.tools.iter().filter(|tool| tool.is_usable())
}

/// Moves an endpoint to the front, because reports use the names and the preset of the first one,
/// and applies the settings of the command line. Prints an error if the endpoint or the preset does
/// not exist.
pub(super) fn choose(
    config: &mut Config,
    name: &str,
    preset: Option<&str>,
    expose: Option<cli::Expose>,
) -> Result<(), Exit> {
    let endpoints = &config.checked.gateway.endpoints;
    if !endpoints.iter().any(|endpoint| endpoint.name == name) {
        let names = endpoints.iter().map(|endpoint| endpoint.name.as_str());
        let (name, hints) = (plain(name), suggest(name, names));
        eprint_line(format_args!("error: there is no endpoint '{name}'{hints}"));
        return Err(Exit::Usage);
    }
    if let Some(exit) = preset.and_then(|id| refuse_preset(config, id)) {
        return Err(exit);
    }
    choose_in(&mut config.checked.gateway, name, preset, expose);
    Ok(())
}

/// Does the same in `settings`, which stay unchanged if the endpoint does not exist.
pub(super) fn choose_in(
    settings: &mut Settings,
    name: &str,
    preset: Option<&str>,
    expose: Option<cli::Expose>,
) {
    let endpoints = &mut settings.endpoints;
    let Some(index) = endpoints.iter().position(|endpoint| endpoint.name == name) else {
        return;
    };
    endpoints[..=index].rotate_right(1);
    let chosen = &mut endpoints[0];
    if let Some(id) = preset {
        chosen.preset = Some(id.to_owned());
    }
    if let Some(expose) = expose {
        chosen.expose = match expose {
            cli::Expose::All => Expose::All,
            cli::Expose::Lazy => Expose::Lazy,
            cli::Expose::Search => Expose::Search,
        };
    }
}

/// Returns the value that the configuration uses.
pub(super) fn exposure_name(expose: Expose) -> &'static str {
    match expose {
        Expose::All => "all",
        Expose::Lazy => "lazy",
        Expose::Search => "search",
    }
}

fn refuse_preset(config: &Config, id: &str) -> Option<Exit> {
    let checked = &config.checked;
    let known = checked.gateway.presets.iter().map(|preset| &**preset.id());
    if known.clone().any(|known| known == id) {
        return None;
    }
    let shown = plain(id);
    if checked.skipped_presets.iter().any(|skipped| skipped == id) {
        config.problems.iter().for_each(eprint_line);
        eprint_line(format_args!(
            "error: the file of preset '{shown}' cannot be used"
        ));
    } else {
        let hints = suggest(id, known);
        eprint_line(format_args!("error: there is no preset '{shown}'{hints}"));
    }
    Some(Exit::Usage)
}
