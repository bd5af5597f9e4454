use super::{has_ignored_characters, has_parent_segments, plain, plain_pattern, readings};

#[test]
fn equivalent_uri_spellings_normalize_equally() {
    for (uri, expected) in [
        ("file:///a/b", "file:///a/b"),
        ("FILE:///a/./x/..//b", "file:///a/b"),
        ("file:///%61/%62", "file:///a/b"),
        ("file:///%2561/b", "file:///a/b"),
        ("file:///a%2fb", "file:///a/b"),
        ("file:///../../a/b", "file:///a/b"),
        ("file:/a\\b", "file:///a/b"),
        ("file://\\a/b", "file:///a/b"),
        ("file://LOCALHOST/a/b", "file:///a/b"),
        ("file://127.0.0.1/a/b", "file:///a/b"),
        ("file://me@localhost./a/b", "file:///a/b"),
        ("file:///a/b/", "file:///a/b/"),
        ("file:///a/b/.", "file:///a/b/"),
        ("http://u:p@Host:80/a", "http://host/a"),
        ("http://host:0080/a", "http://host/a"),
        ("http://host:/a", "http://host/a"),
        ("http://host./a", "http://host/a"),
        ("https:host/a", "https://host/a"),
        ("https:/\\host:443/a", "https://host/a"),
        ("http://host:443/a", "http://host:443/a"),
        ("http://x%2F@host/a", "http://host/a"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://[::1]/a", "http://[::1]/a"),
        ("http://host?a/../b", "http://host/?a/../b"),
        // For schemes without a known user syntax, the user is kept.
        ("mail://me@host/A", "mail://me@host/A"),
        ("x:///a/b?c/../d#e", "x:///a/b?c/../d#e"),
        ("test://Host/A", "test://host/A"),
        ("test://%zz", "test://%zz/"),
        ("test://%", "test://%/"),
        ("test:a", "test:///a"),
        (" x:///a\tb\n", "x:///ab"),
        ("", ":///"),
    ] {
        assert_eq!(plain(uri), expected, "{uri}");
    }
}

#[test]
fn preset_entries_are_normalized() {
    for (item, expected) in [
        ("file:///My%20Docs/*", "file:///My Docs/*"),
        ("http://host:80/*", "http://host/*"),
        ("http://host*", "http://host*"),
        ("file://*", "file://*"),
        ("file:*", "file:*"),
        ("file:/*", "file:/*"),
        ("file:///*", "file:///*"),
        ("*/My%20Docs/*", "*/My Docs/*"),
        ("*", "*"),
        ("x:///*/../b", "x:///*/../b"),
        ("x:///{name}", "x:///{name}"),
    ] {
        assert_eq!(plain_pattern(item), expected, "{item}");
    }
}

#[test]
fn dot_segments_that_change_the_path_are_detected() {
    for uri in [
        "x:///a/../b",
        "x:///a/..%2fb",
        "x:///a/%252e%2e\\b",
        "x:..",
        "x:///a/..%23",
        "x:///a%23/..?b",
    ] {
        assert!(has_parent_segments(uri), "{uri}");
    }
    for uri in ["x:///a/b", "x:///a/..b/c..", "x:///a/.../b", "x:///a/./b"] {
        assert!(!has_parent_segments(uri), "{uri}");
    }
}

#[test]
fn ignored_characters_are_detected() {
    for uri in [
        "x:///a\tb",
        "x:///a%09b",
        "x:///a%2509b",
        "x:///a\u{7f}",
        " x:///a",
        "x:///a%20",
        "x:///a%00",
    ] {
        assert!(has_ignored_characters(uri), "{uri:?}");
    }
    for uri in ["x:///a b", "x:///a%20b", "x:///%zz", "x:///ä"] {
        assert!(!has_ignored_characters(uri), "{uri:?}");
    }
}

/// Any server reads one of these spellings, whichever step it takes first.
#[test]
fn all_interpretations_of_a_uri_are_listed() {
    for (uri, reading) in [
        ("x:///a/b?c#d", "x:///a/b"),
        ("x:///a/b#c?d", "x:///a/b"),
        ("x:///a/b%23c", "x:///a/b"),
        ("x:///a/b?%2F..%2Fc", "x:///a/b"),
        ("x:///a/b?%2F..%2Fc", "x:///a/c"),
        ("x:///a/c%3F/../b", "x:///a/b"),
        ("x:///a/c%3F/../b", "x:///a/c"),
        ("x:///a/b/", "x:///a/b"),
        ("file://other/a/b", "file:///a/b"),
        ("db://me@host/a", "db://host/a"),
        ("http://a%2F@b/c", "http://a/@b/c"),
    ] {
        let all = readings(uri);
        assert_eq!(all[0], plain(uri));
        assert!(all.iter().any(|one| one == reading), "{uri}: {all:?}");
    }
}

#[test]
fn non_ascii_hosts_are_detected() {
    for (uri, odd) in [
        ("http://\u{ff45}xample.com/hidden", true),
        ("https://%EF%BD%85xample.com/", true),
        ("http://example.com/h\u{e9}", false),
        ("memo://\u{e9}/x", false),
    ] {
        assert_eq!(has_ignored_characters(uri), odd, "{uri}");
    }
}
