use proptest::collection::vec;
use proptest::prelude::*;

use super::super::OutOfTime;
use super::*;

/// An engine that ranks each line by the number it begins with.
struct Numbered;

impl Engine for Numbered {
    fn rank(
        &self,
        lines: &Lines<'_>,
        _goal: &str,
        _source: SourceType,
        _deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        let number = |line: &str| line.split(' ').next()?.parse().ok();
        let worth = lines.iter().map(|line| number(line).unwrap_or(0.0));
        Ok(Ranking::by_worth(worth.collect()))
    }
}

/// An engine that returns one value too few.
struct Short;

impl Engine for Short {
    fn rank(
        &self,
        lines: &Lines<'_>,
        _goal: &str,
        _source: SourceType,
        _deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        Ok(Ranking::by_worth(vec![1.0; lines.len() - 1]))
    }
}

fn run(
    text: &str,
    source: SourceType,
    ratio: f64,
    min_keep: usize,
    include_markers: bool,
) -> Result<Selection, Fallback> {
    let limits = Limits {
        max_prune_ratio: ratio,
        min_keep_lines: min_keep,
    };
    let style = Style {
        annotate_lines: false,
        include_markers,
    };
    select(
        &Numbered,
        &Lines::new(text),
        "",
        source,
        limits,
        style,
        &Deadline::never(),
    )
}

/// Returns lines with these worths, wide enough for any gap to be worth its marker.
fn wide(worths: &[i32]) -> String {
    let line = |worth: &i32| format!("{worth} {}\n", "some words of a line ".repeat(10));
    worths.iter().map(line).collect()
}

/// Returns the lines that are removed.
fn lines_of(found: &Selection) -> Vec<usize> {
    found.cut.iter().cloned().flatten().collect()
}

#[track_caller]
fn check(worths: &[i32], ratio: f64, cut: &[usize]) {
    let found = run(&wide(worths), SourceType::Logs, ratio, 0, true).expect("it can be done");
    assert_eq!(lines_of(&found), cut);
}

fn choose_with(worth: &[f32], units: &[Span], protected: &[usize], keep: usize) -> Vec<usize> {
    let mut found = Protected {
        lines: vec![false; worth.len()],
        units: units.to_vec(),
    };
    protected.iter().for_each(|&at| found.lines[at] = true);
    let choice = Choice::new(worth, &found);
    let protected = choice.kept.iter().filter(|&&is| is).count();
    let for_goal = keep.saturating_sub(protected).max(keep.div_ceil(2));
    let kept = choice.kept(for_goal);
    (0..worth.len()).filter(|&at| kept[at]).collect()
}

#[test]
fn least_relevant_lines_are_removed_first() {
    check(&[1, 9, 2, 8], 0.5, &[0, 2]);
    check(&[9, 1, 2, 8], 0.25, &[1]);
}

#[test]
fn equally_relevant_lines_keep_their_order() {
    check(&[9, 0, 0, 0, 0], 0.4, &[3, 4]);
}

#[test]
fn middle_is_removed_if_no_line_is_more_relevant() {
    check(&[0, 0, 0, 0], 0.5, &[1, 2]);
    check(&[7, 7, 7, 7, 7], 0.7, &[1, 2, 3]);
}

#[test]
fn fraction_of_a_line_is_not_removed() {
    check(&[3, 2, 1], 0.33, &[]);
    check(&[3, 2, 1], 0.34, &[2]);
    // A third, and slightly less.
    check(&[3, 2, 1], 1.0 / 3.0, &[]);
    check(&[4, 3, 2, 1], 0.25, &[3]);
    check(&[3, 2, 1], f64::NAN, &[]);
    check(&[3, 2, 1], 7.0, &[0, 1, 2]);
}

#[test]
fn protected_lines_leave_half_of_the_room_to_the_goal() {
    let worth = [0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 4.0, 0.0];
    assert_eq!(
        choose_with(&worth, &[], &[0, 1, 2, 3], 4),
        [0, 1, 2, 3, 4, 6]
    );
    assert_eq!(choose_with(&worth, &[], &[0], 4), [0, 4, 5, 6]);
}

#[test]
fn unit_is_kept_or_removed_whole() {
    let worth = [0.0, 0.0, 9.0, 0.0, 1.0, 0.0];
    assert_eq!(
        choose_with(&worth, &[Span { start: 1, end: 4 }], &[], 2),
        [1, 2, 3]
    );
    assert_eq!(
        choose_with(&worth, &[Span { start: 1, end: 4 }], &[3], 1),
        [1, 2, 3, 4]
    );
}

#[test]
fn nearly_complete_block_is_completed() {
    let mut worth = vec![2.0; 9];
    worth.extend([1.0; 11]);
    assert_eq!(choose_with(&worth, &[], &[], 8), (0..9).collect::<Vec<_>>());
    // The remaining five of eleven lines exceed the limit, and lines without worth form no block.
    assert_eq!(
        choose_with(&worth, &[], &[], 15),
        (0..15).collect::<Vec<_>>()
    );
    assert_eq!(
        choose_with(&[0.0; 9], &[], &[], 8),
        (0..8).collect::<Vec<_>>()
    );
}

#[test]
fn gap_cheaper_than_its_marker_is_kept() {
    let long = "0 ".to_owned() + &"some words of a long line ".repeat(20);
    let text = format!("9 a\n0 b\n9 c\n{long}\n8 d\n{long}");
    let cut = |markers| {
        let found = run(&text, SourceType::Logs, 0.5, 0, markers);
        lines_of(&found.expect("it can be done"))
    };
    // The joined line counts among the kept ones, so that the last but one may be removed.
    assert_eq!(cut(true), [3, 4, 5]);
    assert_eq!(cut(false), [1, 3, 5]);
}

#[test]
fn unprofitable_gaps_are_all_removed() {
    let found = run("9 L1\n0 L2\n0 L3\n0 L4", SourceType::Logs, 0.75, 1, true);
    assert_eq!(lines_of(&found.expect("it can be done")), [1, 2, 3]);
}

#[test]
fn unmet_constraints_and_failures_are_reported() {
    let cut = run("a\nb", SourceType::Logs, 0.5, 3, true);
    assert_eq!(cut, Err(Fallback::ConstraintsUnmet));
    let limits = Limits {
        max_prune_ratio: 1.0,
        min_keep_lines: 0,
    };
    let text = wide(&[1, 2]);
    let lines = Lines::new(&text);
    let with = |engine: &dyn Engine, deadline: &Deadline<'_>| {
        select(
            engine,
            &lines,
            "",
            SourceType::Logs,
            limits,
            Style::default(),
            deadline,
        )
    };
    assert_eq!(
        with(&Short, &Deadline::never()),
        Err(Fallback::InternalError)
    );
    assert_eq!(
        with(&Numbered, &Deadline::new(&|| true)),
        Err(Fallback::Timeout)
    );
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[0-9] [a-z ]{0,60}",
        "(def|class|fn|import|use) [a-z_]{1,8}.{0,20}",
        "    (return|if|let) .{0,80}",
        "(# |## |```|- ).{0,30}",
        "(ERROR|INFO) [a-z ]{0,40}\r",
        "[{}()\\[\\]]{0,6}",
        Just("⟦NO_PRUNE_BEGIN⟧".to_owned()),
        Just("⟦NO_PRUNE_END⟧".to_owned()),
    ]
}

fn any_source() -> impl Strategy<Value = SourceType> {
    prop::sample::select(SourceType::ALL.to_vec())
}

proptest! {
    #[test]
    fn limits_hold_for_any_text(
        text in vec(any_line(), 0..80).prop_map(|lines| lines.join("\n")),
        goal in ".{0,60}",
        source in any_source(),
        ratio in prop_oneof![0.0..=1.0, prop::sample::select(vec![0.0, 0.1, 0.29, 0.5, 0.7, 0.9, 1.0])],
        min_keep in 0usize..100,
        include_markers: bool,
    ) {
        let lines = Lines::new(&text);
        let limits = Limits { max_prune_ratio: ratio, min_keep_lines: min_keep };
        let style = Style { annotate_lines: false, include_markers };
        let run = || select(&crate::prune::Lexical, &lines, &goal, source, limits, style, &Deadline::never());
        let found = run();
        prop_assert_eq!(&found, &run());
        let Ok(found) = found else {
            prop_assert_eq!(found, Err(Fallback::ConstraintsUnmet));
            prop_assert!(min_keep > lines.len());
            return Ok(());
        };
        prop_assert_eq!(found.lines, lines.len());
        prop_assert!(found.pruned_lines() as f64 <= ratio * lines.len() as f64);
        prop_assert!(found.kept_lines() >= min_keep);
        let protected = protect::find(&lines, source);
        let mut last = None;
        for cut in &found.cut {
            prop_assert!(cut.start < cut.end && cut.end <= lines.len());
            prop_assert!(last.is_none_or(|last| last < cut.start), "side by side");
            prop_assert!(!protected.lines[cut.clone()].contains(&true));
            for unit in &protected.units {
                let inside = unit.start < cut.end && cut.start < unit.end;
                prop_assert!(!inside || (cut.start <= unit.start && unit.end <= cut.end));
            }
            last = Some(cut.end);
        }
    }

    #[test]
    fn larger_ratio_removes_at_least_as_much(
        worths in vec(0i32..9, 1..60),
        ratio in 0.0..=1.0f64,
        more in 0.0..=1.0f64,
    ) {
        let text = wide(&worths);
        let pruned = |ratio| run(&text, SourceType::Logs, ratio, 0, false).expect("it can be done").pruned_lines();
        prop_assert!(pruned(ratio.min(more)) <= pruned(ratio.max(more)));
    }
}
