use super::worth;
use crate::prune::{Deadline, Lines, OutOfTime};

/// Checks that lines marked `!` are worth more than all lines marked `?`. Lines marked with a blank
/// do not matter, such as headings, which are always kept. The mark is not part of the text.
#[track_caller]
fn check(goal: &str, marked: &str) {
    let (signs, lines): (Vec<&str>, Vec<&str>) =
        marked.lines().map(|line| line.split_at(1)).unzip();
    let text = lines.join("\n");
    let (worth, _) = worth(&Lines::new(&text), goal, &Deadline::never()).expect("no deadline");
    let of = |sign: &str| {
        signs
            .iter()
            .zip(&worth)
            .filter(move |(it, _)| **it == sign)
            .map(|(_, worth)| *worth)
            .collect::<Vec<f32>>()
    };
    let least = of("!").into_iter().fold(f32::INFINITY, f32::min);
    let most = of("?").into_iter().fold(f32::NEG_INFINITY, f32::max);
    assert!(least > most, "{worth:?}");
}

const GUIDE: &str = " # Guide\n \n?Welcome to this.\n \n ## Install\n \n?Run the setup.\n \n ## Caching\n \n?Entries expire after an hour.\n \n ## Licence\n \n?Free for all.";

#[test]
fn section_is_found_by_its_heading() {
    check(
        "How do I deal with caching?",
        &GUIDE.replace("?Entries", "!Entries"),
    );
}

#[test]
fn section_is_found_by_its_text() {
    check(
        "which section covers when an entry is expired",
        &GUIDE.replace("?Entries", "!Entries"),
    );
}

#[test]
fn section_is_found_by_synonyms() {
    check("installation", &GUIDE.replace("?Run", "!Run"));
    check("terms", &GUIDE.replace("?Free", "!Free"));
}

#[test]
fn release_notes_are_found_by_version() {
    check(
        "what changed in 1.2.0",
        " # Changes\n ## 1.3.0\n ### Fixed\n?- alpha\n?- gamma\n ## 1.2.0\n ### Fixed\n!- beta\n!- delta\n ## 1.1.0\n ### Fixed\n?- eta\n?- theta",
    );
}

#[test]
fn text_without_headings_is_split_into_parts() {
    let filler = "?nothing of note is here\n?\n".repeat(60);
    check(
        "zebra stripes",
        &format!("{filler}!zebras have stripes\n?\n{filler}?the end"),
    );
}

#[test]
fn expired_deadline_stops_ranking() {
    let text = "a\n".repeat(1000);
    let deadline = Deadline::new(&|| true);
    let late = worth(&Lines::new(&text), "a", &deadline);
    assert!(matches!(late, Err(OutOfTime)));
}

#[test]
fn empty_text_has_no_scores() {
    let none = worth(&Lines::new(""), "a", &Deadline::never());
    assert!(matches!(none, Ok((worth, _)) if worth.is_empty()));
}
