//! Tests that files and modules named in the documents exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    fs::read_to_string(root().join(document)).expect("the document is there")
}

#[test]
fn the_map_names_every_crate_and_no_other() {
    let map = read("ARCHITECTURE.md");
    let crates = fs::read_dir(root().join("crates")).expect("there are crates");
    let mut there: Vec<String> = crates
        .map(|entry| entry.expect("it can be read").file_name())
        .map(|name| name.into_string().expect("a plain name"))
        .collect();
    there.sort();
    let rows = map
        .lines()
        .filter_map(|line| line.strip_prefix("| `narrows"));
    let mut named: Vec<String> = rows
        .filter_map(|row| Some(format!("narrows{}", row.split_once('`')?.0)))
        .filter(|name| !name.contains('/'))
        .collect();
    named.sort();
    assert_eq!(named, there);
}

#[test]
fn every_linked_document_is_there() {
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(document);
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            assert!(root().join(file).exists(), "{document} links to {link}");
            let is_there = |line: &str| line.starts_with('#') && anchor(line) == section;
            let is_there = section.is_empty() || read(file).lines().any(is_there);
            assert!(is_there, "{document} links to {link}");
        }
    }
}

/// Returns the anchor of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.replace(' ', "-").replace(['`', ',', '.'], "")
}

#[test]
fn every_room_of_the_map_exists() {
    let map = read("ARCHITECTURE.md");
    let mut rooms = 0;
    for word in map.split('`').skip(1).step_by(2) {
        let Some((name, room)) = word.split_once('/') else {
            continue;
        };
        let sources = root().join(format!("crates/narrows-{name}/src"));
        if !sources.exists() {
            continue;
        }
        // `a/{b,c}` stands for `a/b` and `a/c`.
        let (before, inner) = room.split_once('{').unwrap_or((room, ""));
        for last in inner.trim_end_matches('}').split(',') {
            let module = sources.join(format!("{before}{last}.rs"));
            assert!(module.exists(), "ARCHITECTURE.md names {word}");
            rooms += 1;
        }
    }
    assert!(rooms > 40, "only {rooms} modules are named");
}
