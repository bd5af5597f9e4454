use super::*;

/// Returns characters distributed like those of encoded bytes, from a simple generator.
fn letters(count: usize, alphabet: &str) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(alphabet[(state >> 16) as usize % alphabet.len()])
    };
    (0..count).map(|_| next()).collect()
}

const STANDARD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn found(text: &str, form: Escaping) -> Vec<(String, String, usize)> {
    let blobs = find(text, 0..text.len(), form);
    let show = |blob: Blob| (text[blob.span].to_owned(), blob.kind, blob.bytes);
    blobs.into_iter().map(show).collect()
}

#[track_caller]
fn check(before: &str, blob: &str, after: &str, form: Escaping, kind: &str) {
    let text = format!("{before}{blob}{after}");
    let found = found(&text, form);
    assert_eq!(found.len(), 1, "{text}");
    assert_eq!((&*found[0].0, &*found[0].1), (blob, kind));
}

#[track_caller]
fn check_none(text: &str) {
    assert!(found(text, Escaping::Plain).is_empty(), "{text}");
}

#[test]
fn base64_is_found_with_padding_and_data_url() {
    let body = letters(1_000, STANDARD);
    check(
        "a word ",
        &format!("{body}=="),
        " and more",
        Escaping::Plain,
        "binary",
    );
    check(
        "(",
        &body.replace(['+', '/'], "_"),
        ")",
        Escaping::Plain,
        "binary",
    );
    let url = format!("data:image/svg+xml;charset=utf-8;base64,{body}=");
    check("url('", &url, "')", Escaping::Plain, "image/svg+xml");
    // After such a prefix, even a run of one character counts.
    let zeros = format!("data:application/octet-stream;base64,{}", "A".repeat(1_200));
    check("", &zeros, "", Escaping::Plain, "application/octet-stream");
    assert_eq!(found(&format!("{body}=="), Escaping::Plain)[0].2, 750);
}

#[test]
fn leading_bytes_determine_the_media_type() {
    let body = letters(1_000, STANDARD);
    for (first, kind) in [
        ("iVBORw0KGgoAAAANSUhEUg", "image/png"),
        ("/9j/4AAQSkZJRgABAQ", "image/jpeg"),
        ("R0lGODlh", "image/gif"),
        ("UklGRiQAAABXRUJQVlA4", "image/webp"),
        ("JVBERi0xLjcK", "application/pdf"),
        ("UEsDBBQAAAAI", "application/zip"),
        ("H4sIAAAAAAAA", "application/gzip"),
        ("AGFzbQEAAAAB", "application/wasm"),
    ] {
        check("", &format!("{first}{body}"), "", Escaping::Plain, kind);
    }
}

#[test]
fn lines_of_equal_width_form_one_run() {
    for width in [60, 64, 76] {
        for end in ["\n", "\r\n"] {
            let lines: Vec<String> = (0..20).map(|_| letters(width, STANDARD)).collect();
            let body = format!("{}{end}{}=", lines.join(end), letters(31, STANDARD));
            check(
                "-----BEGIN-----\n",
                &body,
                "\n-----END-----\n",
                Escaping::Plain,
                "binary",
            );
            // The line of words after the base64 is not part of it.
            let words = format!("{end}Some words");
            check("", &lines.join(end), &words, Escaping::Plain, "binary");
        }
    }
    check_none(&vec![letters(40, STANDARD); 40].join("\n"));
}

#[test]
fn json_escapes_are_part_of_a_run_in_json_only() {
    let body = letters(1_200, STANDARD).replace('/', "\\/");
    check("\\n", &body, "\\n", Escaping::Escaped, "binary");
    check("\\u00e9", &body, "\\\"", Escaping::Escaped, "binary");
    let jpeg = format!("\\/9j\\/4AAQSkZJRgABAQ{body}");
    check("", &jpeg, "", Escaping::Escaped, "image/jpeg");
    let url = format!("data:image\\/png;base64,{body}");
    check("", &url, "", Escaping::Escaped, "image/png");
    let lines = vec![letters(64, STANDARD.trim_end_matches('/')); 20].join("\\n");
    check("", &lines, "\\n", Escaping::Escaped, "binary");
}

#[test]
fn other_long_runs_are_ignored() {
    check_none(&"A".repeat(5_000));
    check_none(&letters(5_000, "0123456789abcdef"));
    check_none(&letters(5_000, "0123456789ABCDEF"));
    check_none(&letters(5_000, "abcdefghijklmnopqrstuvwxyz"));
    check_none(&letters(5_000, "ACGT"));
    check_none(&letters(5_000, "0123456789"));
    check_none(&"src/Shape-2/Budget_9/".repeat(100));
    check_none(&letters(999, STANDARD));
    check_none("-".repeat(4_000).as_str());
}

/// The word "data" consists of base64 characters, so it belongs to the run before it.
#[test]
fn adjacent_runs_do_not_overlap() {
    let body = letters(1_000, STANDARD);
    let text = format!("{body}data:image/png;base64,{body} {body},data:;base64,{body}");
    for form in [Escaping::Plain, Escaping::Escaped] {
        let blobs = find(&text, 0..text.len(), form);
        let ends: Vec<usize> = blobs
            .iter()
            .flat_map(|blob| [blob.span.start, blob.span.end])
            .collect();
        assert!(ends.is_sorted(), "{ends:?}");
        assert!(blobs.len() >= 3, "{ends:?}");
    }
}
