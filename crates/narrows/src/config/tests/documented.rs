//! The reference page knows every key.

const PAGE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/configuration.md"
));

#[test]
fn every_key_is_on_the_reference_page() {
    let keys = include_str!("../raw.rs")
        .lines()
        .filter_map(|line| line.trim().split_once(" => "));
    // Words of choices have no colon behind them: `"auto" => Auto,`.
    let keys = keys.filter(|(_, field)| field.contains(": "));
    let mut count = 0;
    for key in keys.flat_map(|(keys, _)| keys.split(" | ")) {
        let key = key.trim_matches('"');
        assert!(
            PAGE.contains(&format!("`{key}`")),
            "`{key}` is not on the page"
        );
        count += 1;
    }
    assert!(count > 60, "the tables are read");
}
