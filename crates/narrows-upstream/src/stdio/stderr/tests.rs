use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(chunks: &[&str], expected: Expect) {
    let mut printed = String::new();
    let mut each = |line: &[u8]| {
        let _ = writeln!(printed, "{}", printable(line));
    };
    let mut lines = LineSplitter::default();
    for chunk in chunks {
        lines.feed(chunk.as_bytes(), &mut each);
    }
    lines.finish(&mut each);
    expected.assert_eq(&printed);
}

#[test]
fn lines_are_assembled_from_chunks() {
    check(
        &["one\ntw", "o", "\r\n\n", "three"],
        expect![[r#"
        one
        two
        three
    "#]],
    );
}

#[test]
fn escape_sequences_and_control_characters_are_removed() {
    check(
        &["\x1b[1;31mred\x1b[0m \x07bell\ttab\n\x1b[2Kdone\n\x1b"],
        expect![[r#"
        red bell	tab
        done

    "#]],
    );
}

#[test]
fn long_line_is_truncated_for_any_chunking() {
    let long = "x".repeat(LINE_MAX);
    for chunks in [
        vec![long.clone() + "yz\nnext\n"],
        vec![long.clone(), "yz".into(), "\nnext\n".into()],
    ] {
        let mut seen = Vec::new();
        let mut lines = LineSplitter::default();
        for chunk in chunks {
            lines.feed(chunk.as_bytes(), |line| seen.push(line.to_vec()));
        }
        assert_eq!(seen, [format!("{long}…").into_bytes(), b"next".to_vec()]);
        assert!(lines.begun.capacity() <= 2 * LINE_MAX + 2);
    }
}

#[test]
fn last_lines_are_kept() {
    let tail = StderrTail::default();
    for n in 0..100 {
        tail.push(format!("line {n}").as_bytes());
    }
    let lines = tail.lines();
    assert_eq!(
        (lines.len(), lines[0].as_str(), lines[KEPT - 1].as_str()),
        (KEPT, "line 80", "line 99")
    );
}

#[tokio::test]
async fn end_is_reported_when_reading_is_aborted() {
    let (ours, theirs) = tokio::io::duplex(64);
    let tail = StderrTail::default();
    let task = tokio::spawn(read(
        theirs,
        "test".into(),
        Default::default(),
        tail.clone(),
        None,
    ));
    task.abort();
    tail.complete().await;
    drop(ours);
}

#[test]
fn lines_of_earlier_attempts_are_not_new_until_connected() {
    let history = StderrHistory::default();
    let check = |lines: &[(&str, bool)]| {
        for (line, expected) in lines {
            assert_eq!(history.is_new(line), *expected, "{line}");
        }
    };
    history.begin();
    check(&[
        ("12:01 pid 7: no key", true),
        ("----", true),
        ("----", true),
    ]);
    history.begin();
    check(&[
        ("12:02 pid 8: no key", false),
        ("----", false),
        ("other", true),
    ]);
    history.mark_connected();
    check(&[("----", true)]);
    history.begin();
    history.forget();
    check(&[("----", true)]);
}
