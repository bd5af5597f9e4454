//! Checks `endpoints`: what they offer, under which names, and how.

use narrows_gateway::preset::{Pattern, Rule};
use narrows_gateway::settings::{
    self, EndpointSettings, Expose, FacadeSettings, ListingDetail, Structured, Uris,
};

use super::presets::{PresetTable, ReportedServers, ServerIds, ServerPart};
use super::shape::{self, ShapeLevel};
use crate::config::problem::Problems;
use crate::config::raw::{
    Encoding, ExposeWord, ListingWord, PresetChoice, RawEndpoint, RawFile, StructuredWord, UrisWord,
};
use crate::config::read::{Field, Given};

/// Sets the values whose keys exist both in an endpoint and at the top level.
macro_rules! set_form {
    ($facade:expr, $raw:expr) => {{
        let (facade, raw): (&mut FacadeSettings, _) = ($facade, $raw);
        if let Some(word) = raw.encoding.value() {
            facade.encoding = encoding(*word);
        }
        set(&mut facade.typescript, &raw.schema_compression_enabled);
        set(&mut facade.max_description_len, &raw.max_description_len);
        set(&mut facade.constraints, &raw.schema_constraints);
        set(&mut facade.toon_min_size, &raw.toon_compression_min_size);
    }};
}

const DEFAULT: &str = "default";

/// The built-in endpoint that offers all tools through two others.
const LAZY: &str = "lazy";

/// Returns the endpoints without any configuration.
pub(crate) fn built_in_endpoints() -> Vec<EndpointSettings> {
    let facade = FacadeSettings::default();
    vec![named(DEFAULT, &facade), named(LAZY, &facade)]
}

/// Returns all endpoints, the default one first, whether they are configured or not.
pub(super) fn check_all(
    raw: &RawFile,
    presets: &PresetTable,
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) -> Vec<EndpointSettings> {
    let top = facade_of_top(raw);
    let mut endpoints = vec![named(DEFAULT, &top)];
    let mut lazy_has_choice = false;
    let mut default_has_choice = false;
    for (name, raw) in raw.endpoints.value().iter().flat_map(|given| &given.0) {
        let settings = endpoint(name, &raw.value, &top, servers, problems);
        if let Some(given) = raw.value.preset.given()
            && let PresetChoice::Named(id) = &given.value
        {
            presets.check_named(id, &given.at, problems);
        }
        let has_choice = !raw.value.preset.is_absent();
        match settings.name.as_str() {
            DEFAULT => {
                endpoints[0] = settings;
                default_has_choice = has_choice;
            }
            LAZY => {
                endpoints.push(settings);
                lazy_has_choice = has_choice;
            }
            _ => endpoints.push(settings),
        }
    }
    if let Some(id) = raw
        .default_preset_id
        .given()
        .filter(|_| !default_has_choice)
    {
        presets.check_named(&id.value, &id.at, problems);
        endpoints[0].preset = Some(id.value.clone());
    }
    if !endpoints.iter().any(|endpoint| endpoint.name == LAZY) {
        endpoints.push(named(LAZY, &top));
    }
    // The lazy endpoint exists by default and must not bypass a preset.
    if !lazy_has_choice {
        let preset = endpoints[0].preset.clone();
        let lazy = endpoints
            .iter_mut()
            .filter(|endpoint| endpoint.name == LAZY);
        lazy.for_each(|lazy| lazy.preset.clone_from(&preset));
    }
    endpoints
}

/// Returns the settings of an endpoint without configuration.
fn named(name: &str, facade: &FacadeSettings) -> EndpointSettings {
    let mut settings = EndpointSettings::named(name);
    settings.facade = facade.clone();
    if name == LAZY {
        settings.expose = Expose::Lazy;
    }
    settings
}

fn endpoint(
    name: &Given<String>,
    raw: &RawEndpoint,
    top: &FacadeSettings,
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) -> EndpointSettings {
    let in_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    if name.value.is_empty() || !name.value.chars().all(in_path) {
        let help = "it is part of the path /mcp/{name}: use letters, digits, - _ . ~";
        problems.error(
            &name.at,
            format!("`{}` is not a valid endpoint name", name.value),
            help,
        );
    }
    if narrows_serve::is_fixed_path(&name.value) {
        let help = format!(
            "/{0}/mcp is another path; use /mcp/{0} or another name",
            name.value
        );
        let what = format!("endpoint `{}` has the name of a fixed path", name.value);
        problems.warn(&name.at, what, help);
    }
    let mut settings = named(&name.value, top);
    if let Some(separator) = raw.separator.given() {
        let unfit = |c: char| c.is_whitespace() || c.is_control();
        // Server names never contain such a character, so two pairs of server and tool cannot have
        // the same published name.
        let is_distinctive = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
        let fits = separator.value == "__" || separator.value.contains(is_distinctive);
        if !fits || separator.value.contains(unfit) {
            let help = "common separators are \"__\", \":\" and \"::\"";
            problems.error(
                &separator.at,
                "a separator must be `__` or contain a character that server names cannot contain",
                help,
            );
        }
        settings.separator.clone_from(&separator.value);
    }
    if let Some(UrisWord::Wrapped) = raw.uris.value() {
        settings.uris = Uris::Wrapped;
    }
    if let Some(name_max) = raw.name_max.given() {
        // A smaller limit leaves no room for server, separator, tool and hash.
        if !(20..=128).contains(&name_max.value) {
            let help = "50 leaves room for the prefixes that clients add";
            problems.error(&name_max.at, "`name_max` must be from 20 to 128", help);
        }
        settings.name_max = name_max.value;
    }
    settings.shape = shape::choice(&raw.shape, ShapeLevel::EndpointOrTool, problems);
    if let Some(word) = raw.structured.value() {
        settings.structured = match word {
            StructuredWord::Auto => Structured::Auto,
            StructuredWord::Keep => Structured::Keep,
            StructuredWord::Drop => Structured::Drop,
        };
    }
    settings.preset = match raw.preset.value() {
        Some(PresetChoice::Named(id)) => Some(id.clone()),
        Some(PresetChoice::Free) | None => None,
    };
    if let Some(expose) = raw.expose.value() {
        settings.expose = match expose {
            ExposeWord::All => Expose::All,
            ExposeWord::Lazy => Expose::Lazy,
            ExposeWord::Search => Expose::Search,
        };
    }
    facade(&mut settings, raw, servers, problems);
    settings
}

/// Sets how the endpoint describes tools. Unset values are those of the top level.
fn facade(
    settings: &mut EndpointSettings,
    raw: &RawEndpoint,
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) {
    if let Some(pin) = raw.pin.given() {
        settings.facade.pin = pins(&pin.value, servers, problems);
        // An invalid `expose` has already been reported.
        if settings.expose != Expose::Search && !matches!(raw.expose, Field::Bad) {
            let what = match settings.expose {
                Expose::All => "`pin` has no effect here: every tool is listed",
                _ => "`pin` has no effect here: a lazy endpoint lists only its two tools",
            };
            problems.warn(&pin.at, what, "use it with \"expose\": \"search\"");
        }
    }
    if let Some(most) = raw.listing_max_chars.given()
        && !(500..=1_000_000).contains(&most.value)
    {
        let what = "`listing_max_chars` must be from 500 to 1000000";
        problems.error(&most.at, what, "");
    }
    let facade = &mut settings.facade;
    set(&mut facade.listing_max_chars, &raw.listing_max_chars);
    set(&mut facade.signatures, &raw.signatures);
    if let Some(listing) = raw.listing.value() {
        facade.listing = match listing {
            ListingWord::Full => ListingDetail::Full,
            ListingWord::Capped => ListingDetail::Capped,
            ListingWord::Names => ListingDetail::Names,
            ListingWord::Servers => ListingDetail::Servers,
        };
    }
    set_form!(facade, raw);
}

/// Returns the settings at the top level, which apply to all endpoints.
fn facade_of_top(raw: &RawFile) -> FacadeSettings {
    let mut facade = FacadeSettings::default();
    if raw.toon_compression_enabled.value() == Some(&false) {
        facade.encoding = settings::Encoding::Json;
    }
    set_form!(&mut facade, raw);
    facade
}

/// Returns the patterns of tools to list anyway. Unlike presets, pins accept only plain patterns.
fn pins(
    given: &[Given<String>],
    servers: &ServerIds<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Pattern> {
    let mut pins = Vec::new();
    for given in given {
        let (text, at) = (given.value.as_str(), &given.at);
        let item = text.rsplit_once('/').map_or(text, |(_, item)| item);
        if text.starts_with('!') {
            let what = format!("`{text}` denies tools, but `pin` can only list them");
            problems.error(at, what, "use a preset to hide tools");
        } else if item.starts_with('@') {
            let what = format!("`{text}` selects by hints, which only presets support");
            problems.error(at, what, "name tools: server/tool");
        } else if let (Ok(rule), Ok(pin)) = (Rule::parse(text), Pattern::parse(text)) {
            let (server, mut reported) = (ServerPart::of(&rule), ReportedServers::default());
            servers.check_rule(&rule, server, &mut reported, at, problems);
            pins.push(pin);
        } else {
            let what = format!("`{text}` is not a valid pattern");
            let help = "write server/tool; * matches any text in either part";
            problems.error(at, what, help);
        }
    }
    pins
}

fn encoding(word: Encoding) -> settings::Encoding {
    match word {
        Encoding::Auto => settings::Encoding::Shorter,
        Encoding::Toon => settings::Encoding::Toon,
        Encoding::Json => settings::Encoding::Json,
    }
}

fn set<T: Copy>(field: &mut T, given: &Field<T>) {
    if let Some(value) = given.value() {
        *field = *value;
    }
}
