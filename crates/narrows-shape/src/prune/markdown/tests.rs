// Lists of one block are intended.
#![allow(clippy::single_range_in_vec_init)]

use proptest::prelude::*;

use super::{LineKind, read};
use crate::prune::{Lines, Span};

/// Checks the kinds of the lines, one character each: blank `.`, heading its level, underline `u`,
/// fenced `f`, item `i`, text `t`.
#[track_caller]
fn kinds(text: &str, expected: &str) {
    let letter = |kind: &LineKind| match kind {
        LineKind::Blank => '.',
        LineKind::Heading(level) => (b'0' + level) as char,
        LineKind::Underline => 'u',
        LineKind::Fenced => 'f',
        LineKind::Item => 'i',
        LineKind::Text => 't',
    };
    let found: String = read(&Lines::new(text)).kinds.iter().map(letter).collect();
    assert_eq!(found, expected, "{text:?}");
}

#[track_caller]
fn fences(text: &str, expected: &[Span]) {
    assert_eq!(read(&Lines::new(text)).fences, expected, "{text:?}");
}

#[test]
fn headings_are_recognised() {
    kinds(
        "# a\n###### b\n####### c\n#d\n#\n   ## e\n    # f",
        "16ttt2t",
    );
    kinds("#\u{a0}a\r\n# \r\n", "1t");
    kinds("<h1 align=x>\n<h7>\n<hr>\n<H2>", "1tt2");
}

#[test]
fn underlined_headings_are_recognised() {
    kinds("Title\n=====\n\nSub\n---\ntext", "1u.2ut");
    kinds("====\nOver\n====\n", "u1u");
    kinds("RST\n^^^\n", "3u");
    // The underline is too short for reStructuredText, and Markdown does not use this character.
    kinds("A longer title\n^^^\n", "tt");
    // A rule under a paragraph, a table, a list, a rule on its own.
    kinds("two\nlines\n---\n", "ttt");
    kinds("| a |\n---\n", "tt");
    kinds("- a\n---\n", "it");
    kinds("\n---\n\n---\n", ".t.t");
}

#[test]
fn list_items_are_recognised() {
    kinds("- a\n  b\n12. c\n* d\n-e\n1.f\n+\tg", "itiitti");
}

#[test]
fn fenced_blocks_are_recognised() {
    fences("a\n```\nb\n```\nc", &[1..4]);
    fences("  ~~~ rs\nb\n\t~~~\n", &[0..3]);
    fences("```\n```\n```\n```\n", &[0..2, 2..4]);
    fences("``\na\n``\n", &[]);
    kinds("```\n# a\n\n```\n# b", "ffff1");
}

#[test]
fn unclosed_fence_is_not_a_block() {
    fences("a\n```\nb\n# c", &[]);
    kinds("```\nb\n# c", "tt1");
}

#[test]
fn blocks_are_whole_in_both_parsers() {
    // A longer fence, and one of the other kind, around text that looks like a fence.
    fences("````\n```\na\n```\n````\n", &[0..5]);
    fences("~~~\n```\na\n```\n~~~\n", &[0..5]);
    // The strict reading does not close a block at a fence with an info string; the plain reading
    // does.
    fences("```\na\n```b\nc\n```\n", &[0..5]);
    // A stray fence shifts the plain reading; the blocks of both readings are joined.
    fences("~~~\n```\n~~~\nx\n```\ny\n```\n", &[0..7]);
}

#[test]
fn strict_parser_wins_after_long_disagreement() {
    let text = format!("~~~\n```\n~~~\n{}```\ny\n```\n", "x\n".repeat(300));
    fences(&text, &[0..3, 303..306]);
}

#[test]
fn headings_only_in_the_plain_parser_are_doubtful() {
    let structure = read(&Lines::new("````\n```\n# a\n```\n````\n"));
    assert_eq!(structure.doubtful_headings, [2]);
}

#[test]
fn front_matter_is_recognised() {
    let matter = |text: &str| read(&Lines::new(text)).front_matter;
    assert_eq!(matter("---\na: b\n---\nc"), Some(0..3));
    assert_eq!(matter("+++\na = 1\n+++\r\n"), Some(0..3));
    assert_eq!(matter("---\na: b\n"), None);
    assert_eq!(matter("a\n---\nb\n---\n"), None);
    assert_eq!(matter(&format!("---\n{}---\n", "a\n".repeat(100))), None);
    assert_eq!(matter(""), None);
}

proptest! {
    #[test]
    fn fences_are_ordered_and_disjoint(
        lines in prop::collection::vec(prop_oneof!["```", "~~~", "````", "```x", "# a", "b", ""], 0..40)
    ) {
        let text = lines.join("\n");
        let lines = Lines::new(&text);
        let structure = read(&lines);
        prop_assert_eq!(structure.kinds.len(), lines.len());
        prop_assert!(structure.fences.windows(2).all(|two| two[0].end <= two[1].start));
        prop_assert!(structure.fences.iter().all(|fence| fence.end <= lines.len()));
    }
}
