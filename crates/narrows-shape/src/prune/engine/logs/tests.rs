use crate::prune::{Deadline, Engine, Lexical, Lines, OutOfTime, Ranking, SourceType};

fn rank(text: &str, goal: &str, deadline: &Deadline<'_>) -> Result<Ranking, OutOfTime> {
    Lexical.rank(&Lines::new(text), goal, SourceType::Logs, deadline)
}

fn of(text: &str, goal: &str) -> Vec<f32> {
    let ranking = rank(text, goal, &Deadline::never());
    ranking.expect("no deadline").worth
}

/// Returns the line numbers, ordered by descending worth.
fn order(text: &str, goal: &str) -> Vec<usize> {
    let worth = of(text, goal);
    let mut order: Vec<usize> = (0..worth.len()).collect();
    order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
    order
}

const CALM: &str = "12:00 served page 1\n12:01 served page 2\n12:02 served page 3\n12:03 served page 4\n12:04 served page 5\n";

#[test]
fn name_is_found_exactly() {
    let text = format!("{CALM}from 10.0.0.71 in\n{CALM}from 10.0.0.7 in\n{CALM}from 10.0.7.0 in\n");
    assert_eq!(order(&text, "What happened to address 10.0.0.7?")[0], 11);
}

#[test]
fn event_is_found_by_synonyms() {
    let text = format!("{CALM}worker started\n{CALM}worker idle\n");
    assert_eq!(order(&text, "when did the worker begin")[0], 5);
}

#[test]
fn context_weight_decreases_with_distance() {
    let text = format!("{CALM}disk full\n{CALM}");
    let worth = of(&text, "disk");
    assert!(worth[5] > worth[4] && worth[4] > worth[3] && worth[3] > worth[1]);
    assert!(worth[5] > worth[6] && worth[6] > worth[7] && worth[7] > worth[9]);
}

#[test]
fn goals_about_problems_find_errors_with_context() {
    let text = format!(
        "{CALM}child 1 found\n{CALM}child 2 found\n{CALM}[error] child 3 not found\n{CALM}"
    );
    let best = &order(&text, "why could it not locate the child")[..3];
    assert_eq!(best, [17, 16, 18]);
}

#[test]
fn unique_lines_rank_before_repeated_ones() {
    let text = format!("{CALM}{CALM}listening on all ports\n{CALM}");
    assert_eq!(order(&text, "zebra")[0], 10);
}

#[test]
fn expired_deadline_stops_ranking() {
    let deadline = Deadline::new(&|| true);
    assert_eq!(rank(CALM, "a", &deadline), Err(OutOfTime));
}
