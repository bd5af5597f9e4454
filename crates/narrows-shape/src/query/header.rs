//! Finds the column names of tables: the first line of a CSV text, or the first row of a Markdown
//! table.

use crate::prune::Lines;

/// The number of lines that are compared with the first one.
const SAMPLE: usize = 20;

/// The longest column name in characters.
const MAX_NAME: usize = 60;

/// Finds the header of the table that contains a line. Lines must be requested in ascending order,
/// so that each is read only once.
pub(super) struct Headers<'q, 'a> {
    lines: &'q Lines<'a>,
    is_csv: bool,
    /// The first line of the last Markdown table, and the line up to which that table has been
    /// read.
    table: Option<(usize, usize)>,
}

impl<'q, 'a> Headers<'q, 'a> {
    pub(super) fn new(lines: &'q Lines<'a>) -> Headers<'q, 'a> {
        Headers {
            lines,
            is_csv: is_csv(lines),
            table: None,
        }
    }

    /// Returns the header line for the line `at`, both counted from 0.
    pub(super) fn of(&mut self, at: usize) -> Option<usize> {
        if self.is_csv {
            return Some(0);
        }
        if !is_table_row(self.lines.line(at)) {
            return None;
        }
        let mut start = at;
        while start > 0 && is_table_row(self.lines.line(start - 1)) {
            start -= 1;
            if let Some((first, known)) = self.table
                && start == known
            {
                start = first;
                break;
            }
        }
        self.table = Some((start, at));
        let has_names = start + 1 < self.lines.len() && is_delimiter(self.lines.line(start + 1));
        has_names.then_some(start)
    }
}

fn is_table_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// Returns `true` for a delimiter row, such as `| --- | :-: |`.
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.chars().all(|letter| "|-: ".contains(letter))
}

/// Returns `true` if the first line looks like column names and the lines after it have the same
/// number of separators.
fn is_csv(lines: &Lines<'_>) -> bool {
    if lines.len() < 3 {
        return false;
    }
    let header = lines.line(0).trim_start_matches('\u{feff}');
    [',', '\t', ';'].into_iter().any(|separator| {
        let wanted = separators(header, separator);
        let sample = (1..lines.len().min(SAMPLE + 1)).map(|at| lines.line(at));
        let sample = sample.filter(|line| !line.trim().is_empty());
        let (mut equal, mut all) = (0, 0);
        for line in sample {
            all += 1;
            equal += usize::from(separators(line, separator) == wanted);
        }
        // A tenth of the lines may differ, because quoted fields can contain line breaks.
        let is_regular = equal >= 2 && equal * 10 >= all * 9;
        wanted > 0 && is_regular && header.split(separator).all(is_name)
    })
}

/// Counts the separators outside quotes.
fn separators(line: &str, separator: char) -> usize {
    let mut in_quotes = false;
    let mut count = 0;
    for letter in line.chars() {
        match letter {
            '"' => in_quotes = !in_quotes,
            letter if letter == separator && !in_quotes => count += 1,
            _ => {}
        }
    }
    count
}

fn is_name(field: &str) -> bool {
    let field = field.trim().trim_matches('"');
    let starts = |letter: char| letter.is_alphabetic() || matches!(letter, '_' | '#' | '%' | '$');
    field.starts_with(starts)
        && field.chars().count() <= MAX_NAME
        && !field.contains(['=', '{', '}', ':'])
}
