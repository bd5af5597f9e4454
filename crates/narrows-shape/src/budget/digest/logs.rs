//! Digest of logs: the templates with their counts, and the unusual lines.

use super::chunks::{self, Chunk, ChunkKind};
use super::templates::{Surprise, Template, Templates};
use super::{Findings, MOST_PARTS, UnusualRun, best_first, clean, clean_line};
use crate::budget::keep::Ends;
use crate::prune::failures::{self, LogSeverity};
use crate::prune::{Deadline, Lines, OutOfTime};

/// The minimum number of bits of an unusual line.
const LEAST_BITS: f32 = 3.0;
/// The bits from which all lines of a template count as rare, the later ones less than the first.
const RARE_TEMPLATE: f32 = 5.0;
const LEAST_SCORE: f32 = 0.1;
/// The maximum number of bits that a line gains by reporting an error, if few lines do.
const TROUBLE_BITS: f32 = 6.0;
/// Limits on the number of templates shown and on the length of each.
const MOST_TEMPLATES: usize = 24;
const LONGEST_PATTERN: usize = 160;
/// The share of all lines, as 1/n, that a template must have to be shown.
const FREQUENT: u32 = 200;
const WORDS_IN_LABEL: usize = 3;
/// The lines at each end that are enough to show the order, if the listed templates cover three
/// quarters of all lines.
const LINES_AT_END: usize = 8;
/// The maximum number of unlisted templates whose first lines are named.
const MOST_NAMED: usize = 8;

pub(super) fn find(lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<Findings, OutOfTime> {
    let templates = Templates::mine(lines, deadline)?;
    let surprises = templates.surprises(lines, deadline)?;
    find_by(lines, &templates, &surprises, deadline)
}

/// Collects the findings of a digest from templates that have already been mined.
pub(super) fn find_by(
    lines: &Lines<'_>,
    templates: &Templates,
    surprises: &[Surprise],
    deadline: &Deadline<'_>,
) -> Result<Findings, OutOfTime> {
    let scores = scores(lines, templates, surprises, deadline)?;
    let rare = (0..lines.len()).filter(|&at| scores[at] > 0.0);
    let mut order: Vec<usize> = rare.collect();
    best_first(&mut order, |at| scores[at]);
    order.truncate(MOST_PARTS);
    let parts = order.into_iter().map(|at| UnusualRun {
        span: at..at + 1,
        label: label(lines.line(at), &surprises[at]),
    });
    let order = by_count(templates);
    let notes = notes(lines, templates, &order);
    let listed = order.iter().take(notes.len());
    let listed: u32 = listed.map(|&at| templates.all[at].count).sum();
    let ends = match listed >= templates.lines / 4 * 3 && listed > 0 {
        true => Ends {
            head: LINES_AT_END,
            tail: LINES_AT_END,
        },
        false => Ends::ALL,
    };
    Ok(Findings {
        notes,
        more: Some(Box::new(unlisted(templates, &order))),
        ends,
        parts: parts.collect(),
        structure: Vec::new(),
        index: "rare lines not shown",
        index_share: 4,
    })
}

/// Returns the overall score of each line.
fn scores(
    lines: &Lines<'_>,
    templates: &Templates,
    surprises: &[Surprise],
    deadline: &Deadline<'_>,
) -> Result<Vec<f32>, OutOfTime> {
    let mut signs = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if at % 1_024 == 0 {
            deadline.check()?;
        }
        signs.push(failures::severity(line));
    }
    let bits = |severity: LogSeverity| {
        let count = signs.iter().filter(|&&it| it == severity).count();
        let share = lines.len() as f32 / count.max(1) as f32;
        (share.log2() / 2.0).clamp(0.0, TROUBLE_BITS)
    };
    let (error, warning) = (bits(LogSeverity::Error), bits(LogSeverity::Warning) / 2.0);
    // The first lines of a template rank above its later lines.
    let mut seen = vec![0_u32; templates.all.len()];
    let mut scores = Vec::with_capacity(lines.len());
    for (at, surprise) in surprises.iter().enumerate() {
        let nth = seen
            .get_mut(templates.of_line[at] as usize)
            .map_or(1, |seen| {
                *seen += 1;
                *seen
            });
        let template = surprise.template - (nth as f32).log2();
        let rare = template.max(surprise.value);
        let failures = match signs[at] {
            LogSeverity::Error => error,
            LogSeverity::Warning => warning,
            LogSeverity::None => 0.0,
        };
        let is_rare = rare >= LEAST_BITS || surprise.template >= RARE_TEMPLATE;
        scores.push(match is_rare {
            true => rare.max(LEAST_SCORE) + failures,
            false => 0.0,
        });
    }
    Ok(scores)
}

/// Returns the value that makes a line rare, or the first words of the line.
fn label(line: &str, surprise: &Surprise) -> String {
    if surprise.value > surprise.template
        && let Some(value) = line.get(surprise.chunk())
    {
        return clean(value);
    }
    let mut chunks = Vec::new();
    chunks::read(line, &mut chunks);
    let is_level = |chunk: &Chunk| {
        let word = &line[chunk.span.clone()];
        word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let mut words = chunks
        .iter()
        .skip_while(|chunk| chunk.kind != ChunkKind::Word || is_level(chunk));
    let Some(first) = words.next() else {
        return String::new();
    };
    let last = words.take(WORDS_IN_LABEL - 1).last().unwrap_or(first);
    clean(&line[first.span.start..last.span.end])
}

/// Returns the templates, the most frequent first.
fn by_count(templates: &Templates) -> Vec<usize> {
    let mut order: Vec<usize> = (0..templates.all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(templates.all[at].count));
    order
}

/// Writes a note for each frequent template.
fn notes(lines: &Lines<'_>, templates: &Templates, order: &[usize]) -> Vec<String> {
    let is_frequent =
        |template: &&Template| template.count >= 3 && template.count >= templates.lines / FREQUENT;
    let note = |template: &Template| {
        let pattern = clean_line(&template.pattern(lines));
        let pattern: String = pattern.chars().take(LONGEST_PATTERN).collect();
        format!("⟦{}× {pattern}⟧", template.count)
    };
    let frequent = order.iter().map(|&at| &templates.all[at]);
    let frequent = frequent.take_while(is_frequent).take(MOST_TEMPLATES);
    frequent.map(note).collect()
}

/// Returns a function that counts the lines of unlisted templates, so that the notes account for
/// all lines.
fn unlisted(templates: &Templates, order: &[usize]) -> impl Fn(usize) -> Option<String> + 'static {
    let all: Vec<(u32, usize)> = order
        .iter()
        .map(|&at| (templates.all[at].count, templates.all[at].first + 1))
        .collect();
    let blank = templates.of_line.len() - templates.lines as usize;
    move |listed| {
        let others = all.get(listed..).filter(|_| listed > 0)?;
        let blank = match blank {
            0 => String::new(),
            1 => "1 blank line".to_owned(),
            blank => format!("{blank} blank lines"),
        };
        if others.is_empty() {
            return (!blank.is_empty()).then(|| format!("⟦{blank}⟧"));
        }
        let sum: u32 = others.iter().map(|(count, _)| count).sum();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let mut note = format!(
            "⟦{sum} line{} in {} more template{}",
            plural(sum as usize),
            others.len(),
            plural(others.len())
        );
        if others.len() <= MOST_NAMED {
            let mut first: Vec<usize> = others.iter().map(|(_, first)| *first).collect();
            first.sort_unstable();
            let first: Vec<String> = first.iter().map(usize::to_string).collect();
            note += &format!(
                ", first at line{} {}",
                plural(first.len()),
                first.join(", ")
            );
        }
        if !blank.is_empty() {
            note = note + "; " + &blank;
        }
        Some(note + "⟧")
    }
}
