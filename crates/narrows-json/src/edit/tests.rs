use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::strategy::{json_object, json_text};

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

/// The result of every edit must be valid JSON.
#[track_caller]
fn check(edited: Raw, expected: &str) {
    assert_eq!(edited.as_str(), expected);
    assert_eq!(Raw::parse(edited.clone().into_bytes()), Ok(edited));
}

#[test]
fn only_the_replaced_bytes_change() {
    let whole = raw(r#"{ "big":12345678901234567890.0, "name":"old" , "e":"\u00e9", "a":[1, 2] }"#);
    let name = whole.member("name").unwrap();
    let list = whole.member("a").unwrap();
    let second = list.elements().nth(1).unwrap();
    check(
        whole
            .edit()
            .replace(&second, raw("[null]"))
            .replace(&name, Raw::string("new"))
            .finish(),
        r#"{ "big":12345678901234567890.0, "name":"new" , "e":"\u00e9", "a":[1, [null]] }"#,
    );
}

#[test]
fn a_value_can_be_replaced_as_a_whole() {
    let whole = raw("[1]");
    check(whole.edit().replace(&whole, raw("{}")).finish(), "{}");
}

#[test]
fn empty_edit_copies_nothing() {
    let whole = raw("[1]");
    assert_eq!(
        whole.edit().finish().as_bytes().as_ptr(),
        whole.as_bytes().as_ptr()
    );
}

#[test]
fn members_are_appended_in_order() {
    let whole = raw(r#"{"a":1}"#);
    let edit = whole
        .edit()
        .insert(&whole, "b", raw("2"))
        .insert(&whole, "\"c\"", raw("3"));
    check(edit.finish(), r#"{"a":1,"b":2,"\"c\"":3}"#);
}

#[test]
fn first_member_of_an_empty_object_gets_no_comma() {
    let whole = raw(r#"{"_meta":{ },"x":{}}"#);
    let meta = whole.member("_meta").unwrap();
    let x = whole.member("x").unwrap();
    let edit = whole
        .edit()
        .insert(&meta, "a", raw("1"))
        .insert(&x, "c", raw("3"))
        .insert(&meta, "b", raw("2"));
    check(edit.finish(), r#"{"_meta":{ "a":1,"b":2},"x":{"c":3}}"#);
}

#[test]
fn last_value_can_be_replaced_while_a_member_is_added() {
    let whole = raw(r#"{"a":1}"#);
    let a = whole.member("a").unwrap();
    check(
        whole
            .edit()
            .insert(&whole, "b", raw("2"))
            .replace(&a, raw("[9]"))
            .finish(),
        r#"{"a":[9],"b":2}"#,
    );
}

#[test]
#[should_panic(expected = "a slice of the edited value")]
fn range_outside_the_text_is_rejected() {
    let whole = raw("[1]");
    let _ = whole.edit().replace(&raw("1"), raw("2"));
}

#[test]
#[should_panic(expected = "must not overlap")]
fn overlapping_edits_are_rejected() {
    let whole = raw("[[1]]");
    let inner = whole.elements().next().unwrap();
    let _ = whole
        .edit()
        .replace(&whole, raw("2"))
        .replace(&inner, raw("2"))
        .finish();
}

#[test]
fn with_member_replaces_or_appends() {
    check(
        raw(r#"{"a":1, "b": 2}"#).with_member("a", &raw("9")),
        r#"{"a":9, "b": 2}"#,
    );
    check(
        raw(r#"{"a":1}"#).with_member("b", &raw("9")),
        r#"{"a":1,"b":9}"#,
    );
    check(raw("{}").with_member("b", &raw("9")), r#"{"b":9}"#);
    check(raw("[1]").with_member("b", &raw("9")), "[1]");
}

#[test]
fn with_member_removes_duplicates() {
    check(
        raw(r#"{"a":1,"x":"y","\u0061":2,"z":0,"a":3}"#).with_member("a", &raw("9")),
        r#"{"a":9,"x":"y","z":0}"#,
    );
}

#[test]
fn without_member_removes_the_comma() {
    for (text, expected) in [
        (r#"{"a":1}"#, "{}"),
        (r#"{"a":1,"b":2}"#, r#"{"b":2}"#),
        (r#"{"b":2 , "a":1 }"#, r#"{"b":2}"#),
        (r#"{"b":2,"a":1,"c":3,"\u0061":4}"#, r#"{"b":2,"c":3}"#),
        (r#"{ "b": 2 }"#, r#"{ "b": 2 }"#),
        ("[]", "[]"),
    ] {
        check(raw(text).without_member("a"), expected);
    }
}

proptest! {
    #[test]
    fn with_member_agrees_with_serde_json(text in json_object(), name in "name|a|b|new|é\"", value in json_text()) {
        let edited = raw(&text).with_member(&name, &raw(&value));
        let mut expected: Value = serde_json::from_str(&text).expect("valid");
        expected[&name] = serde_json::from_str(&value).expect("valid");
        let edited = Raw::parse(edited.into_bytes()).expect("still valid");
        prop_assert_eq!(edited.decode::<Value>().expect("valid").to_string(), expected.to_string());
    }

    #[test]
    fn without_member_agrees_with_serde_json(text in json_object(), name in "name|a|b|new") {
        let edited = Raw::parse(raw(&text).without_member(&name).into_bytes()).expect("still valid");
        let mut expected: Value = serde_json::from_str(&text).expect("valid");
        expected.as_object_mut().expect("an object").shift_remove(&name);
        prop_assert_eq!(edited.decode::<Value>().expect("valid").to_string(), expected.to_string());
    }

    /// Follows `path` to any depth, replaces or adds a value there, and applies the same change to
    /// the model tree.
    #[test]
    fn edits_at_depth_agree_with_serde_json(
        text in json_text(),
        paths in proptest::collection::vec(proptest::collection::vec(0..5_usize, 0..5), 1..4),
        value in json_text(),
    ) {
        let whole = raw(&text);
        let mut tree = Tree::of(&whole);
        let mut edit = whole.edit();
        for path in paths {
            let (place, node) = descend(&whole, &mut tree, &path);
            match node {
                // Members can be added to the same object repeatedly.
                Tree::Object(members) => {
                    edit = edit.insert(&place, "new", raw(&value));
                    members.push(("new".to_owned(), Tree::Leaf(value.clone())));
                }
                Tree::Leaf(old) if old != "replaced" && old != &value => {
                    edit = edit.replace(&place, raw(&value));
                    *node = Tree::Leaf("replaced".to_owned());
                }
                _ => {}
            }
        }
        let edited = Raw::parse(edit.finish().into_bytes()).expect("still valid");
        let expected = raw(&tree.text(&value));
        prop_assert_eq!(Tree::of(&edited), Tree::of(&expected));
    }
}

/// The model: a tree of members and elements, with scalars as text.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Object(Vec<(String, Tree)>),
    Array(Vec<Tree>),
    Leaf(String),
}

impl Tree {
    fn of(raw: &Raw) -> Tree {
        match raw.kind() {
            Kind::Object => Tree::Object(
                raw.members()
                    .map(|(key, value)| (key.into_owned(), Tree::of(&value)))
                    .collect(),
            ),
            Kind::Array => Tree::Array(raw.elements().map(|element| Tree::of(&element)).collect()),
            _ => Tree::Leaf(raw.as_str().to_owned()),
        }
    }

    fn text(&self, replaced: &str) -> String {
        match self {
            Tree::Leaf(leaf) if leaf == "replaced" => replaced.to_owned(),
            Tree::Leaf(leaf) => leaf.clone(),
            Tree::Array(elements) => {
                let elements: Vec<String> =
                    elements.iter().map(|tree| tree.text(replaced)).collect();
                format!("[{}]", elements.join(","))
            }
            Tree::Object(members) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, tree)| {
                        format!("{}:{}", Raw::string(key).as_str(), tree.text(replaced))
                    })
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

fn descend<'t>(whole: &Raw, tree: &'t mut Tree, path: &[usize]) -> (Raw, &'t mut Tree) {
    let mut place = whole.clone();
    let mut node = tree;
    for &step in path {
        // The original does not contain the added members, so only its own members are visited.
        let children: Vec<Raw> = match place.kind() {
            Kind::Object => place.members().map(|(_, value)| value).collect(),
            _ => place.elements().collect(),
        };
        if children.is_empty() {
            break;
        }
        let step = step % children.len();
        place = children[step].clone();
        node = match node {
            Tree::Object(members) => &mut members[step].1,
            Tree::Array(elements) => &mut elements[step],
            Tree::Leaf(_) => unreachable!("the model has the original's shape"),
        };
    }
    (place, node)
}
