use super::*;

#[track_caller]
fn check_slugs(ids: &[&str], expected: &[&str]) {
    assert_eq!(slugs(ids), expected);
}

#[test]
fn server_id_becomes_a_slug() {
    check_slugs(
        &["files", "io.github.x/y", "a__b", "tail_", "ünï", "--"],
        &["files", "io_github_x_y", "a_b", "tail", "_n", "--"],
    );
    check_slugs(&[""], &["server"]);
}

#[test]
fn equal_slugs_get_a_hash_unless_explicit() {
    let made = slugs(&["a.b", "a/b", "a_b"]);
    assert_eq!(made[2], "a_b");
    assert!(
        made[0].starts_with("a_b_") && made[1].starts_with("a_b_") && made[0] != made[1],
        "{made:?}"
    );
    assert_eq!(made, slugs(&["a.b", "a/b", "a_b"]), "stable");
}

#[test]
fn safe_names_are_accepted_by_providers() {
    let long = "x".repeat(200);
    let names = ["read_file", "a.b", "search:web", &long, "été", "a_b"];
    for name in publish("io_github_x_y", &names, SAFE_SEPARATOR, 50) {
        assert!(name.len() <= 50 && name.chars().all(safe), "{name}");
    }
}

#[test]
fn colliding_names_stay_distinct_and_exact_wins() {
    let made = publish("s", &["a.b", "a_b", "a/b"], SAFE_SEPARATOR, 50);
    assert_eq!(made[1], "s__a_b");
    assert!(
        made[0] != made[2] && made[0] != made[1] && made[2] != made[1],
        "{made:?}"
    );
}

#[test]
fn custom_separators_keep_names_unchanged() {
    assert_eq!(publish("s", &["a.b"], "::", 50), ["s::a.b"]);
}

#[test]
fn published_name_is_parsed_in_every_possible_way() {
    let made: Vec<_> = readings("a::b__c").collect();
    assert_eq!(
        made,
        [("a", "b__c"), ("a::b", "c"), ("a", ":b__c"), ("a:", "b__c")]
    );
    assert_eq!(readings("plain").count(), 0);
    assert_eq!(
        readings("::x").count(),
        1,
        "{:?}",
        readings("::x").collect::<Vec<_>>()
    );
}

#[test]
fn nearest_names_are_suggested() {
    assert_eq!(
        nearest(
            "files__raed_file",
            ["files__read_file", "git__log"].into_iter()
        ),
        ["files__read_file"]
    );
}
