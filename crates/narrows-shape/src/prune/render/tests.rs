// Lists of one block are intended.
#![allow(clippy::single_range_in_vec_init)]

use proptest::prelude::*;

use super::{Annotation, Rendered, Style, rebuild, render};
use crate::prune::{Lines, Selection, Span};

const ID: &str = "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV";

const PLAIN: Style = Style {
    annotate_lines: false,
    include_markers: false,
};
const MARKED: Style = Style {
    annotate_lines: false,
    include_markers: true,
};
const NUMBERED: Style = Style {
    annotate_lines: true,
    include_markers: true,
};

fn rendered(text: &str, cut: &[Span], style: Style) -> Rendered {
    let lines = Lines::new(text);
    let selection = Selection {
        cut: cut.to_vec(),
        lines: lines.len(),
    };
    render(&lines, &selection, ID, style)
}

/// Checks the rendered text, in which `M` stands for the only marker.
#[track_caller]
fn check(text: &str, cut: &[Span], style: Style, expected: &str) {
    let result = rendered(text, cut, style);
    let marker = result.annotations.first().map(|it| it.marker.as_str());
    let expected = expected.replace('M', marker.unwrap_or("M"));
    assert_eq!(result.text, expected, "{text:?} without {cut:?}");
    assert_eq!(result.annotations.len(), cut.len());
}

#[test]
fn marker_format_is_stable() {
    let result = rendered("a\nb\nc\nd\n", &[1..3], MARKED);
    let marker =
        "⟦PRUNÉ: prune_id=prn_01ARZ3NDEKTSV4RRFFQ69G5FAV lignes 2-3 (2) raison=hors focus⟧";
    assert_eq!(result.text, format!("a\n{marker}\nd\n"));
    let annotation = Annotation {
        lines: 1..3,
        reason: "hors focus",
        marker: marker.to_owned(),
    };
    assert_eq!(result.annotations, [annotation]);
}

#[test]
fn uncut_text_is_unchanged() {
    for text in [
        "",
        "\n",
        "\n\n",
        "a",
        "a\n",
        "a\r\nb\r\n",
        "a\n\n",
        "\0\n\u{2028}",
    ] {
        check(text, &[], PLAIN, text);
        check(text, &[], MARKED, text);
    }
}

#[test]
fn final_newline_stays_with_the_last_line() {
    check("a\nb\n", &[0..1], MARKED, "M\nb\n");
    check("a\nb", &[0..1], MARKED, "M\nb");
    check("a\nb\n", &[1..2], MARKED, "a\nM");
    check("a\nb", &[1..2], MARKED, "a\nM");
    check("a\nb\n", &[0..1], PLAIN, "b\n");
    check("a\nb\n", &[1..2], PLAIN, "a");
    check("a\nb\n", &[0..2], MARKED, "M");
    check("a\nb\n", &[0..2], PLAIN, "");
    check("\n", &[0..1], PLAIN, "");
    // The kept empty line at the end of the text looks like a final LF.
    check("a\n\nb\n", &[2..3], PLAIN, "a\n");
}

#[test]
fn line_numbers_are_original_and_skip_markers() {
    check("a\r\nb\nc\n", &[1..2], NUMBERED, "1│ a\r\nM\n3│ c\n");
    check("a\n\n", &[], NUMBERED, "1│ a\n2│ \n");
    check("", &[], NUMBERED, "");
    let style = Style {
        include_markers: false,
        ..NUMBERED
    };
    check("a\nb\nc", &[0..1], style, "2│ b\n3│ c");
}

#[test]
fn overlapping_recovered_blocks_do_not_panic() {
    rebuild(["a"], [(3..5, "x"), (1..2, "y")], true);
    assert_eq!(rebuild([], [], true), "");
}

fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(String::new()),
        "[a-c \r\u{2028}\0é│]{0,6}",
        Just("⟦PRUNÉ: prune_id=prn_x lignes 1-2 (2) raison=x⟧".to_owned()),
    ];
    (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text = lines.join("\n");
        if ends && !lines.is_empty() {
            text.push('\n');
        }
        text
    })
}

/// Parses a marker as clients do. Returns `None` for other text.
fn parse(marker: &str) -> Option<(&str, usize, usize, usize, &str)> {
    let rest = marker
        .strip_prefix("⟦PRUNÉ: prune_id=")?
        .strip_suffix('⟧')?;
    let (id, rest) = rest.split_once(" lignes ")?;
    let (first, rest) = rest.split_once('-')?;
    let (last, rest) = rest.split_once(" (")?;
    let (count, reason) = rest.split_once(") raison=")?;
    let number = |digits: &str| digits.parse().ok();
    Some((id, number(first)?, number(last)?, number(count)?, reason))
}

proptest! {
    #[test]
    fn kept_and_cut_lines_cover_the_text(text in texts(), kept in prop::collection::vec(any::<bool>(), 12), annotate_lines: bool) {
        let lines = Lines::new(&text);
        let mut cut: Vec<Span> = Vec::new();
        for at in (0..lines.len()).filter(|&at| !kept[at]) {
            match cut.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => cut.push(at..at + 1),
            }
        }
        let style = Style { annotate_lines, include_markers: true };
        let result = rendered(&text, &cut, style);

        // The text that a client sees: the kept lines and the markers, joined by LF.
        let mut expected: Vec<String> = Vec::new();
        let mut next = 0;
        for annotation in &result.annotations {
            expected.extend((next..annotation.lines.start).map(|at| number(&lines, at, annotate_lines)));
            expected.push(annotation.marker.clone());
            let (first, last) = (annotation.lines.start + 1, annotation.lines.end);
            let whole = (ID, first, last, last - first + 1, annotation.reason);
            prop_assert_eq!(parse(&annotation.marker), Some(whole));
            next = annotation.lines.end;
        }
        expected.extend((next..lines.len()).map(|at| number(&lines, at, annotate_lines)));
        let mut expected = expected.join("\n");
        if next < lines.len() && lines.ends_with_newline() {
            expected.push('\n');
        }
        prop_assert_eq!(result.text, expected);

        // The client can restore the original from its parts.
        let kept_lines = (0..lines.len()).filter(|&at| kept[at]).map(|at| lines.line(at));
        let recovered = cut.iter().map(|cut| (cut.clone(), lines.span(cut)));
        let again = rebuild(kept_lines, recovered, lines.ends_with_newline());
        prop_assert_eq!(again, text.as_str());
    }
}

fn number(lines: &Lines<'_>, at: usize, annotate: bool) -> String {
    match annotate {
        true => format!("{}│ {}", at + 1, lines.line(at)),
        false => lines.line(at).to_owned(),
    }
}
