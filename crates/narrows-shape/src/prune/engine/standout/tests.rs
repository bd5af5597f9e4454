use crate::prune::{Deadline, Engine, Lexical, Lines, SourceType};

/// Returns the numbers of the lines that answer a goal.
fn relevant(source: SourceType, text: &str, goal: &str) -> Vec<usize> {
    let ranking = Lexical.rank(&Lines::new(text), goal, source, &Deadline::never());
    let relevant = ranking.expect("there is no limit").relevant;
    (0..relevant.len()).filter(|&at| relevant[at]).collect()
}

fn log(line: impl Fn(usize) -> String) -> String {
    (0..100).map(|at| line(at) + "\n").collect()
}

#[test]
fn words_in_no_line_do_not_discriminate() {
    let text = log(|at| format!("request {at} served"));
    for source in SourceType::ALL {
        assert!(relevant(source, &text, "zebra").is_empty());
        assert!(relevant(source, &text, "").is_empty());
    }
}

#[test]
fn words_in_nearly_all_lines_do_not_discriminate() {
    let text = log(|at| match at % 10 {
        0 => format!("ping {at}"),
        _ => format!("request {at} served"),
    });
    for source in SourceType::ALL {
        assert!(relevant(source, &text, "served request").is_empty());
    }
}

#[test]
fn words_in_few_lines_discriminate_with_context() {
    let text = log(|at| match at {
        50 => "the disk is full".to_owned(),
        _ => format!("request {at} served"),
    });
    let around: Vec<usize> = (47..=53).collect();
    assert_eq!(
        relevant(SourceType::Logs, &text, "which disk served"),
        around
    );
    assert!(relevant(SourceType::Docs, &text, "which disk served").contains(&50));
}

#[test]
fn errors_stand_out_for_goals_about_problems() {
    let text = log(|at| match at {
        50 => "ERROR no space left".to_owned(),
        _ => format!("request {at} served"),
    });
    assert!(relevant(SourceType::Logs, &text, "what went wrong?").contains(&50));
    assert!(relevant(SourceType::Logs, &text, "what went by?").is_empty());
}

#[test]
fn function_stands_out_by_name() {
    let text = log(|at| match at % 5 {
        0 => format!("def step_{at}(state):"),
        _ => format!("    state.add({at})"),
    });
    let text = format!("{text}def close_pool(state):\n    state.clear()\n");
    let answer = relevant(SourceType::Code, &text, "close the pool");
    assert!(answer.contains(&100) && answer.len() < 10, "{answer:?}");
}
