use super::uri::{climbs, path, plain};

#[test]
fn spellings_of_one_uri() {
    for (uri, expected) in [
        ("file:///a/b", "file:///a/b"),
        ("FILE:///a/./x/..//b", "file:///a/b"),
        ("file:///%61/%62", "file:///a/b"),
        ("file:///%2561/b", "file:///a/b"),
        ("file:///a%2fb", "file:///a/b"),
        ("file:///../../a/b", "file:///a/b"),
        ("test://Host/A", "test://host/A"),
        ("test://%zz", "test://%zz/"),
        ("test://%", "test://%/"),
        ("test:a", "test:///a"),
        ("", ":///"),
    ] {
        assert_eq!(plain(uri), expected, "{uri}");
    }
}

#[test]
fn uris_that_do_not_lead_where_they_begin() {
    for uri in ["x:///a/../b", "x:///a/..%2fb", "x:///a/%252e%2e\\b", "x:.."] {
        assert!(climbs(uri), "{uri}");
    }
    for uri in ["x:///a/b", "x:///a/..b/c..", "x:///a/.../b", "x:///a/./b"] {
        assert!(!climbs(uri), "{uri}");
    }
}

#[test]
fn queries_and_fragments_are_left_out() {
    for uri in ["x:///a/b", "x:///a/b?c#d", "x:///a/b#c?d", "x:///a/b%23c"] {
        assert_eq!(path(&plain(uri)), "x:///a/b", "{uri}");
    }
}
