//! What the configuration can say already and this version does not do yet.
//! Whatever comes to life loses its line here.

use crate::config::problem::{At, Problems};
use crate::config::raw::{Expose, RawFile};
use crate::config::read::Table;

const TOP_LEVEL: &[&str] = &[
    "presets",
    "preset_dir",
    "encoding",
    "schema_compression_enabled",
    "max_description_len",
    "schema_constraints",
    "toon_compression_min_size",
];

const ENDPOINT: &[&str] = &[
    "preset",
    "listing",
    "pin",
    "encoding",
    "schema_compression_enabled",
    "max_description_len",
    "schema_constraints",
    "toon_compression_min_size",
];

/// Words that ask for what is done anyway are fine: `"expose": "all"`.
pub(super) fn warn_of_keys_without_effect(raw: &RawFile, problems: &mut Problems<'_>) {
    warn_of(raw, TOP_LEVEL, problems);
    for (_, endpoint) in raw
        .endpoints
        .value()
        .iter()
        .flat_map(|endpoints| &endpoints.0)
    {
        let endpoint = &endpoint.value;
        warn_of(endpoint, ENDPOINT, problems);
        let expose = endpoint.expose.given();
        if let Some(expose) = expose.filter(|expose| expose.value != Expose::All) {
            no_effect("expose", &expose.at, problems);
        }
    }
}

fn warn_of(table: &dyn Table, keys: &[&str], problems: &mut Problems<'_>) {
    for (key, at) in table.given() {
        if keys.contains(&key) {
            no_effect(key, at, problems);
        }
    }
}

fn no_effect(key: &str, at: &At, problems: &mut Problems<'_>) {
    let help = match key {
        "preset" | "presets" | "preset_dir" => "until then every tool is allowed",
        _ => "",
    };
    problems.warn(at, format!("`{key}` has no effect yet"), help);
}
