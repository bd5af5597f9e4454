//! Tests of which file is read.

use std::path::{Path, PathBuf};

use crate::config::{Environment, locate};

#[track_caller]
fn check(flag: Option<&str>, variables: &[(&str, &str)], there: &[&str], expected: Option<&str>) {
    let environment: Environment = variables.iter().copied().collect();
    let exists = |path: &Path| there.iter().any(|other| Path::new(other) == path);
    let found = locate(flag.map(Path::new), &environment, exists);
    assert_eq!(found, expected.map(PathBuf::from));
}

#[test]
fn flag_then_current_then_user_file_is_used() {
    let home = [("HOME", "/home/u")];
    let users = "/home/u/.config/narrows/narrows.json";
    check(Some("x.json"), &home, &["narrows.json"], Some("x.json"));
    check(None, &home, &["narrows.json", users], Some("narrows.json"));
    check(None, &home, &[users], Some(users));
    check(None, &home, &[], None);
    check(None, &[], &[], None);
    let xdg = [("HOME", "/home/u"), ("XDG_CONFIG_HOME", "/x")];
    check(
        None,
        &xdg,
        &["/x/narrows/narrows.json", users],
        Some("/x/narrows/narrows.json"),
    );
    // The XDG specification ignores a relative folder.
    let relative = [("HOME", "/home/u"), ("XDG_CONFIG_HOME", "x")];
    check(
        None,
        &relative,
        &["x/narrows/narrows.json", users],
        Some(users),
    );
}
