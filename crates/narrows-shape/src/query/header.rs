//! The names of columns in texts with tables: the first line of a CSV text, the
//! first row of a Markdown table.

use crate::prune::Lines;

/// Lines after the first that are compared with it.
const SAMPLE: usize = 20;

/// Characters that the name of a column may have.
const MAX_NAME: usize = 60;

/// Finds the header of the table that holds a line. Lines are asked for in
/// ascending order, so that each is looked at once.
pub(super) struct Headers<'q, 'a> {
    lines: &'q Lines<'a>,
    is_csv: bool,
    /// First line of the Markdown table that was looked at last, and the line up
    /// to which it is known.
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

    /// Returns the line that names the columns of the line `at`, both counted
    /// from 0.
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

/// `| --- | :-: |`
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.chars().all(|letter| "|-: ".contains(letter))
}

/// Returns true if the first line looks like names and the lines after it have
/// as many separators.
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
        // A quoted field may go on in the next line.
        let is_regular = equal >= 2 && equal * 10 >= all * 9;
        wanted > 0 && is_regular && header.split(separator).all(is_name)
    })
}

/// Separators outside of quotes.
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
