//! Presets as files `preset_<id>.json` in a folder.
//!
//! One that cannot be used is skipped with a warning, so that a slip in it
//! does not keep a gateway from starting. Whoever names it is allowed nothing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use narrows_gateway::preset::Preset;

use super::{ServerIds, preset};
use crate::config::problem::{At, Problem, Problems, Severity, Source};
use crate::config::raw::RawPreset;
use crate::config::read_text;
use crate::terminal::grouped;

/// More files than anybody has presets.
const MOST_FILES: usize = 1_000;

/// More than any preset needs.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Default)]
pub(super) struct Files {
    pub(super) presets: Vec<Preset>,
    /// The ids of those that cannot be used.
    pub(super) skipped: Vec<String>,
}

/// Reads the files of `folder`, which messages call `shown`. Those whose id is
/// among the `others` already are passed over.
pub(super) fn read_all(
    folder: &Path,
    shown: &Path,
    servers: &ServerIds<'_>,
    others: &[Preset],
    problems: &mut Problems<'_>,
) -> io::Result<Files> {
    let mut ids = ids(folder)?;
    ids.sort_unstable();
    let mut files = Files::default();
    if ids.len() > MOST_FILES {
        let (all, most) = (grouped(ids.len()), grouped(MOST_FILES));
        files.skipped = ids.split_off(MOST_FILES);
        let what = format!("of {all} presets only the first {most} are read, by name");
        let file = shown.display().to_string();
        problems.add_of_other([Problem::warn_of_file(&file, what, None)]);
    }
    for id in ids {
        let name = format!("preset_{id}.json");
        let (path, shown) = (folder.join(&name), shown.join(&name));
        if others.iter().any(|other| **other.id() == *id) {
            let what = format!("the configuration has a preset `{id}` as well, which goes before");
            let help = "keep one of them".to_owned();
            let file = shown.display().to_string();
            problems.add_of_other([Problem::warn_of_file(&file, what, Some(help))]);
            continue;
        }
        let (preset, found) = read_one(&id, &path, &shown, servers);
        problems.add_of_other(found);
        match preset {
            Some(preset) => files.presets.push(preset),
            None => files.skipped.push(id),
        }
    }
    Ok(files)
}

/// The ids that the names of files say. Other files are nobody's.
fn ids(folder: &Path) -> io::Result<Vec<String>> {
    let mut ids = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("preset_"));
        let id = id.and_then(|rest| rest.strip_suffix(".json"));
        ids.extend(id.filter(|id| !id.is_empty()).map(str::to_owned));
    }
    Ok(ids)
}

/// A file and what is to be said of it; without a preset it is skipped.
fn read_one(
    id: &str,
    path: &Path,
    shown: &Path,
    servers: &ServerIds<'_>,
) -> (Option<Preset>, Vec<Problem>) {
    let text = match read_text_of(path) {
        Ok(text) => text,
        Err(what) => {
            let what = format!("{what}; the file is skipped");
            let problem = Problem::warn_of_file(&shown.display().to_string(), what, None);
            return (None, vec![problem]);
        }
    };
    let source = Source::new(shown, &text);
    let mut problems = Problems::new(&source);
    let example = "write {\"tools\": [\"*/*\"]}";
    let raw: Option<RawPreset> = read_text(&source, example, &mut problems);
    let read = raw.map(|raw| {
        if let Some(own) = raw.id.given().filter(|own| own.value != id) {
            let what = format!(
                "by its name it is the preset `{id}`, by its `id` `{}`",
                own.value
            );
            problems.error(&own.at, what, "make both the same");
        }
        preset(id, &raw, &At::default(), servers, &mut problems)
    });
    let mut found = problems.finish();
    let errors = found
        .iter_mut()
        .filter(|found| found.severity == Severity::Error);
    let mut is_broken = false;
    for error in errors {
        error.severity = Severity::Warning;
        if !is_broken {
            error.what.push_str("; the file is skipped");
        }
        is_broken = true;
    }
    (read.filter(|_| !is_broken), found)
}

/// The text of a regular file, or what is wrong with it.
fn read_text_of(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    // Before it is opened: a pipe would keep us waiting for a writer.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut file = file.take(MOST_BYTES + 1);
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is larger than 1 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}
