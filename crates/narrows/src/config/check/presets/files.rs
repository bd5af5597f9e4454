//! Reads presets from files `preset_<id>.json` in a folder.
//!
//! An invalid file is skipped with a warning, so that a typo does not keep the gateway from
//! starting. A client or endpoint that names a skipped preset is allowed nothing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use narrows_gateway::preset::Preset;

use super::{ServerIds, preset};
use crate::config::problem::{At, Problem, Problems, Severity, Source};
use crate::config::raw::RawPreset;
use crate::config::read_text;
use crate::terminal::grouped;

/// The maximum number of files, more than anyone needs.
const MOST_FILES: usize = 1_000;

/// The size limit of a file, larger than any preset needs to be.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Default)]
pub(super) struct PresetFiles {
    pub(super) presets: Vec<Preset>,
    /// The ids of presets that cannot be used.
    pub(super) skipped: Vec<String>,
}

/// Reads the files of `folder`, which messages call `shown`. Skips presets whose id is among
/// `others`.
pub(super) fn read_all(
    folder: &Path,
    shown: &Path,
    servers: &ServerIds<'_>,
    others: &[Preset],
    problems: &mut Problems<'_>,
) -> io::Result<PresetFiles> {
    let mut ids = ids(folder)?;
    ids.sort_unstable();
    let mut files = PresetFiles::default();
    if ids.len() > MOST_FILES {
        let (all, most) = (grouped(ids.len()), grouped(MOST_FILES));
        files.skipped = ids.split_off(MOST_FILES);
        let what =
            format!("only the first {most} of {all} presets are read, in order of their names");
        let file = shown.display().to_string();
        problems.add_of_other([Problem::warn_of_file(&file, what, None)]);
    }
    for id in ids {
        let name = format!("preset_{id}.json");
        let (path, shown) = (folder.join(&name), shown.join(&name));
        if others.iter().any(|other| **other.id() == *id) {
            let what =
                format!("the configuration also has a preset `{id}`, which takes precedence");
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

/// Returns the ids in the names of preset files. Other files are ignored.
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

/// Reads a file and returns its problems. Without a preset, the file is skipped.
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
                "the file name says preset `{id}`, but its `id` is `{}`",
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

/// Reads a regular file, or returns the reason why it cannot be read.
fn read_text_of(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    // Checked first, because opening a pipe would block until a writer opens it.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("it is not a regular file".to_owned());
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
