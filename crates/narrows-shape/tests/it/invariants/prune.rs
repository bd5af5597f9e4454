//! Checks that must hold for any text, goal and limits. The fuzz target of this name includes this
//! file, and `main.rs` replays its corpus through it, so that failures found by fuzzing stay
//! covered without a fuzzer.

use narrows_shape::prune::{
    Deadline, Fallback, Lexical, Limits, Lines, Selection, SourceType, Style, rebuild, render,
    select,
};

const ID: &str = "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// Checks fuzzer input. The first four bytes are the options, followed by the goal up to a NUL; the
/// rest is the text. Invalid UTF-8 is replaced.
pub(crate) fn check(data: &[u8]) {
    let Some((&[kind, ratio, keep, style], rest)) = data.split_first_chunk() else {
        return;
    };
    let rest = String::from_utf8_lossy(rest);
    let (goal, text) = rest.split_once('\0').unwrap_or(("", &rest));
    let source = SourceType::ALL[usize::from(kind) % SourceType::ALL.len()];
    let limits = Limits {
        max_prune_ratio: f64::from(ratio) / 255.0,
        min_keep_lines: usize::from(keep) % 16,
    };
    let style = Style {
        annotate_lines: style & 1 != 0,
        include_markers: style & 2 != 0,
    };
    hold(text, goal, source, limits, style);
}

/// Prunes a text, checks all guarantees of the result, and returns the removed lines.
pub(crate) fn hold(
    text: &str,
    goal: &str,
    source: SourceType,
    limits: Limits,
    style: Style,
) -> Option<Selection> {
    let lines = Lines::new(text);
    let run =
        |deadline: &Deadline<'_>| select(&Lexical, &lines, goal, source, limits, style, deadline);
    let selection = match run(&Deadline::never()) {
        Ok(selection) => selection,
        Err(fallback) => {
            assert_eq!(fallback, Fallback::ConstraintsUnmet);
            assert!(limits.min_keep_lines > lines.len());
            return None;
        }
    };
    assert_eq!(
        run(&Deadline::never()).as_ref(),
        Ok(&selection),
        "not the same twice"
    );
    match run(&Deadline::new(&|| true)) {
        Ok(untouched) => assert!(untouched.cut.is_empty(), "pruned after the deadline"),
        Err(fallback) => assert_eq!(fallback, Fallback::Timeout),
    }
    within_limits(&lines, &selection, limits);
    protected(&lines, &selection, source);
    check_rendering(&lines, &selection, style);
    Some(selection)
}

fn within_limits(lines: &Lines<'_>, selection: &Selection, limits: Limits) {
    let count = lines.len();
    assert_eq!(selection.lines, count);
    assert!(
        selection
            .cut
            .iter()
            .all(|cut| cut.start < cut.end && cut.end <= count)
    );
    // Adjacent blocks must be joined into one.
    assert!(
        selection
            .cut
            .windows(2)
            .all(|two| two[0].end < two[1].start)
    );
    assert!(selection.pruned_lines() as f64 <= limits.max_prune_ratio * count as f64);
    assert!(selection.kept_lines() >= limits.min_keep_lines.min(count));
    assert_eq!(selection.pruned_lines() + selection.kept_lines(), count);
}

/// Checks the lines that must at least be protected, found in the simplest possible manner.
fn protected(lines: &Lines<'_>, selection: &Selection, source: SourceType) {
    let mut inside = false;
    let is_plain = !lines
        .text()
        .contains(['`', '~', '-', '+', '<', '>', '\u{feff}']);
    for (at, line) in lines.iter().enumerate() {
        // Lines with several marks are left to other tests.
        let marks = line.matches("⟦NO_PRUNE_").count();
        if marks > 1 {
            return;
        }
        inside |= line.contains("⟦NO_PRUNE_BEGIN⟧");
        let ends = line.contains("⟦NO_PRUNE_END⟧");
        let small = line.to_ascii_lowercase();
        let is_error = || {
            ["error", "exception", "traceback"]
                .iter()
                .any(|word| small.contains(word))
        };
        let is_import = || line.starts_with("import ") || line.starts_with("def ");
        let must_stay = inside
            || ends
            || match source {
                SourceType::Code => is_import(),
                SourceType::Logs => is_error(),
                // Without fences and front matter, this is a heading.
                SourceType::Docs => is_plain && line.starts_with("# x"),
            };
        inside &= !ends;
        let went = selection.cut.iter().any(|cut| cut.contains(&at));
        assert!(!(must_stay && went), "line {} went: {line:?}", at + 1);
    }
}

fn check_rendering(lines: &Lines<'_>, selection: &Selection, style: Style) {
    let rendered = render(lines, selection, ID, style);
    assert_eq!(rendered.annotations.len(), selection.cut.len());
    if selection.cut.is_empty() && !style.annotate_lines {
        assert_eq!(rendered.text, lines.text());
    }
    let mut expected: Vec<String> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    let mut next = 0;
    let end = lines.len()..lines.len();
    for cut in selection.cut.iter().chain([&end]) {
        for at in next..cut.start {
            kept.push(lines.line(at));
            expected.push(match style.annotate_lines {
                true => format!("{}│ {}", at + 1, lines.line(at)),
                false => lines.line(at).to_owned(),
            });
        }
        if style.include_markers && !cut.is_empty() {
            let (first, last, count) = (cut.start + 1, cut.end, cut.len());
            expected.push(format!(
                "⟦PRUNÉ: prune_id={ID} lignes {first}-{last} ({count}) raison=hors focus⟧"
            ));
        }
        next = cut.end;
    }
    let mut expected = expected.join("\n");
    let keeps_end = selection.cut.last().is_none_or(|cut| cut.end < lines.len());
    if keeps_end && lines.ends_with_newline() {
        expected.push('\n');
    }
    assert_eq!(rendered.text, expected);
    let recovered = selection
        .cut
        .iter()
        .map(|cut| (cut.clone(), lines.span(cut)));
    assert_eq!(
        rebuild(kept, recovered, lines.ends_with_newline()),
        lines.text()
    );
}
