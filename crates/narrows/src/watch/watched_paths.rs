//! The folders and symbolic links on the path to each file. A change to any of them can put another
//! file in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of nested links, as in the kernel.
const MAX_LINKS: usize = 40;

/// The maximum number of preset files to inspect, the same as the number read.
const MAX_PRESETS: usize = 1_000;

/// The path to the configuration file and to the folder of presets.
#[derive(Debug, Clone)]
pub(super) struct WatchedPaths {
    file: PathBuf,
    presets: Option<PathBuf>,
    pub(super) names: WatchedNames,
    /// The folders as they were found.
    identities: FolderIdentities,
}

/// Watched names, by folder.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedNames {
    /// The relevant names in each folder.
    by_folder: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// The folder in which preset files are relevant.
    presets: Option<PathBuf>,
}

/// A state of all files that can be compared without reading them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileStates {
    identities: FolderIdentities,
    files: Vec<(PathBuf, Option<Version>)>,
}

/// Folders with their identities.
type FolderIdentities = Vec<(PathBuf, Option<Identity>)>;

/// The device and inode of a file or folder.
type Identity = (u64, u64);

/// The state of a file: identity, size and times of change.
type Version = (Identity, u64, (i64, i64), (i64, i64));

impl WatchedPaths {
    pub(super) fn find(file: &Path, presets: Option<&Path>) -> WatchedPaths {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (file, presets) = (absolute(file), presets.map(absolute));
        let mut names = WatchedNames::default();
        names.add_folders(&file);
        if let Some(presets) = &presets {
            names.add_folders(presets);
            names.presets = Some(fs::canonicalize(presets).unwrap_or_else(|_| presets.clone()));
        }
        WatchedPaths {
            file,
            presets,
            identities: names.identities(),
            names,
        }
    }

    /// Returns true if the file can be read more than once.
    pub(super) fn is_lasting(&self) -> bool {
        let found = fs::metadata(&self.file);
        found.map_or(true, |found| found.is_file() || found.is_dir())
    }

    /// Returns the current state of all files.
    pub(super) fn look(&self) -> FileStates {
        let mut files = vec![(self.file.clone(), version(&self.file))];
        files.extend(self.presets.iter().flat_map(|folder| preset_files(folder)));
        FileStates {
            identities: self.names.identities(),
            files,
        }
    }

    /// Returns true if both trails watch the same folders.
    pub(super) fn is_same_way(&self, other: &WatchedPaths) -> bool {
        self.identities == other.identities && self.names.presets == other.names.presets
    }
}

impl WatchedNames {
    pub(super) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.by_folder.keys()
    }

    fn identities(&self) -> FolderIdentities {
        let folders = self.folders().map(|folder| {
            let found = fs::metadata(folder).ok();
            (folder.clone(), found.as_ref().map(identity))
        });
        folders.collect()
    }

    /// Returns true if an event at `path` may be relevant.
    pub(super) fn concern(&self, path: &Path) -> bool {
        let is_preset = |folder: &Path| self.presets.as_deref() == Some(folder);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return true;
        };
        // The folder itself was moved or removed.
        self.by_folder.contains_key(path)
            || is_preset(folder)
            || self
                .by_folder
                .get(folder)
                .is_some_and(|names| names.contains(name))
    }

    /// Adds every step of a path, following all links.
    fn add_folders(&mut self, path: &Path) {
        let mut links = 0;
        let mut rest: Vec<OsString> = steps(path);
        rest.reverse();
        let mut folder = PathBuf::from("/");
        while let Some(name) = rest.pop() {
            if name == ".." {
                folder.pop();
                continue;
            }
            let names = self.by_folder.entry(folder.clone()).or_default();
            names.insert(name.clone());
            let step = folder.join(&name);
            match fs::read_link(&step) {
                Ok(target) if links < MAX_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        folder = PathBuf::from("/");
                    }
                    rest.extend(steps(&target).into_iter().rev());
                }
                _ => folder = step,
            }
        }
        // If the path leads to a folder, its content is watched.
        if folder.is_dir() {
            self.by_folder.entry(folder).or_default();
        }
    }
}

fn steps(path: &Path) -> Vec<OsString> {
    let steps = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    steps.collect()
}

fn preset_files(folder: &Path) -> Vec<(PathBuf, Option<Version>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_preset = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("preset_") && name.ends_with(".json"))
    };
    let paths = entries.map(|entry| entry.path()).filter(is_preset);
    let mut paths: Vec<PathBuf> = paths.take(MAX_PRESETS).collect();
    paths.sort_unstable();
    let versions = paths.into_iter().map(|path| {
        let version = version(&path);
        (path, version)
    });
    versions.collect()
}

fn identity(found: &fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

fn version(path: &Path) -> Option<Version> {
    let found = fs::metadata(path).ok()?;
    let changed = (found.mtime(), found.mtime_nsec());
    let touched = (found.ctime(), found.ctime_nsec());
    Some((identity(&found), found.size(), changed, touched))
}
