use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

/// Reads one list of these items as the gateway with the mark `me`.
fn read(items: &[&str]) -> ReadList {
    let mut list = ReadList::default();
    let mut seen = HashMap::new();
    for item in items {
        list.add(ListKind::Tools, raw(item), "me", &mut seen);
    }
    list
}

/// Returns a tool whose definition has this nesting depth.
fn nested(levels: usize) -> String {
    let inner = levels - 1;
    let schema = format!("{}1{}", r#"{"[\"{":"#.repeat(inner), "}".repeat(inner));
    format!(r#"{{"name":"t{levels}","inputSchema":{schema}}}"#)
}

#[test]
fn too_deeply_nested_definitions_are_omitted() {
    let (deepest, deeper) = (nested(MAX_DEPTH), nested(MAX_DEPTH + 1));
    let list = read(&[&deepest, &deeper, &nested(100_000)]);
    let names: Vec<&str> = list.items.iter().map(|item| &*item.key).collect();
    assert_eq!(names, ["t100"]);
    assert_eq!(list.too_deep, 2);
}

#[test]
fn looping_items_are_omitted() {
    let via =
        |name: &str, via: &str| format!(r#"{{"name":"{name}","_meta":{{"narrows/via":"{via}"}}}}"#);
    let list = read(&[
        &via("far", "a,b"),
        &via("own", "a,me,b"),
        &via("long", "1,2,3,4,5,6,7,8"),
        r#"{"name":"plain"}"#,
    ]);
    let items: Vec<_> = (list.items.iter())
        .map(|item| (&*item.key, item.via.as_deref(), item.raw.as_str()))
        .collect();
    assert_eq!(
        items,
        [
            ("far", Some("a,b"), r#"{"name":"far"}"#),
            ("plain", None, r#"{"name":"plain"}"#),
        ]
    );
    assert_eq!((list.looped, list.unusable), (2, 0));
}

#[test]
fn nearest_item_wins_among_duplicates() {
    let via = |via: &str| format!(r#"{{"name":"x","_meta":{{"narrows/via":"{via}"}}}}"#);
    for items in [[via("a,b"), via("b")], [via("b"), via("a,b")]] {
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let list = read(&items);
        assert_eq!(list.items.len(), 1);
        assert_eq!(list.items[0].via.as_deref(), Some("b"), "{items:?}");
        assert_eq!(list.unusable, 0);
    }
    let twice = read(&[r#"{"name":"x","n":1}"#, r#"{"name":"x","n":2}"#]);
    assert_eq!((twice.items.len(), twice.unusable), (1, 1));
}
