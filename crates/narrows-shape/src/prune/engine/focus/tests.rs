use crate::prune::{Deadline, Lexical, Limits, Lines, SourceType, Style, select};

/// Checks that the line with the answer is kept from a block that is too long to be kept whole.
#[track_caller]
fn check(source: SourceType, line: impl Fn(usize) -> String, goal: &str, answer: usize) {
    let text: String = (0..100).map(line).collect();
    let lines = Lines::new(&text);
    let limits = Limits {
        max_prune_ratio: 0.9,
        min_keep_lines: 0,
    };
    let style = Style {
        annotate_lines: false,
        include_markers: true,
    };
    let never = Deadline::never();
    let found = select(&Lexical, &lines, goal, source, limits, style, &never);
    let found = found.expect("it can be done");
    assert!(found.pruned_lines() > 50, "{found:?}");
    let went = found.cut.iter().any(|cut| cut.contains(&answer));
    assert!(!went, "line {answer} went: {:?}", found.cut);
}

#[test]
fn long_function_is_narrowed_to_relevant_lines() {
    let line = |at: usize| match at {
        0 => "def run(a):\n".to_owned(),
        70 => "    close_sessions(pool)\n".to_owned(),
        at => format!("    step_{at}(a, {at})\n"),
    };
    check(SourceType::Code, line, "where are sessions closed?", 70);
}

#[test]
fn long_paragraph_is_narrowed_to_relevant_lines() {
    let line = |at: usize| match at {
        60 => "Sessions are closed by the reaper after ten minutes of silence.\n".to_owned(),
        at => format!("Some other words about weather and cooking, number {at}.\n"),
    };
    check(SourceType::Docs, line, "when are sessions closed?", 60);
}

#[test]
fn goals_without_code_words_are_accepted() {
    for goal in ["支付失败", "C++", "x", "Ошибка"] {
        let line = |at: usize| match at {
            0 => "def run(a):\n".to_owned(),
            70 => format!("    raise Refused('{goal}')\n"),
            at => format!("    step_{at}(a, {at})\n"),
        };
        check(SourceType::Code, line, goal, 70);
    }
}

#[test]
fn four_line_text_is_ranked() {
    for source in SourceType::ALL {
        let text = "aaa\nbbb\nneedle\nddd";
        let lines = Lines::new(text);
        let limits = Limits {
            max_prune_ratio: 0.5,
            min_keep_lines: 1,
        };
        let never = Deadline::never();
        let found = select(
            &Lexical,
            &lines,
            "needle",
            source,
            limits,
            Style::default(),
            &never,
        );
        let found = found.expect("it can be done");
        assert!(
            !found.cut.iter().any(|cut| cut.contains(&2)),
            "{source}: {:?}",
            found.cut
        );
    }
}
