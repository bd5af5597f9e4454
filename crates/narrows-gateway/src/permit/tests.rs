use super::uri::plain;

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
