//! Digest of JSON rows: the contents of their fields, and the unusual rows.

use std::collections::HashMap;
use std::ops::Range;

use super::super::count;
use super::fields::{self, Sort};
use super::slots::{Slot, Usual};
use super::{Findings, MOST_PARTS, UnusualRun, best_first, chunks, clean};
use crate::budget::keep::Ends;
use crate::prune::{Deadline, Lines, OutOfTime};

/// The minimum number of bits of an unusual row.
const LEAST_BITS: f32 = 3.0;
/// Limits on the fields that are tracked and on those that are described.
const MOST_FIELDS: usize = 256;
const DESCRIBED: usize = 24;
/// The share of rows, as 1/n, that must have a field for it to be described.
const USUAL: u32 = 20;
/// The maximum number of values of a field that are named.
const NAMED: usize = 4;
const LONGEST_NOTE: usize = 1_200;
const LONGEST_NAME: usize = 40;
/// The maximum number of bytes of a text value that are compared.
const LONGEST_VALUE: usize = 256;
/// The minimum number of rows of a table.
const FEWEST: usize = 10;
const SAMPLE: usize = 50;
const ROWS_PER_CHECK: usize = 256;

/// Collects the findings of a digest of JSON Lines. Returns `None` for other text.
pub(super) fn find_in_lines(
    lines: &Lines<'_>,
    deadline: &Deadline<'_>,
) -> Result<Option<Findings>, OutOfTime> {
    let is_row = |line: &str| {
        let line = line.trim_ascii();
        line.starts_with('{') && line.ends_with('}') && line.contains("\":")
    };
    let sample = lines
        .iter()
        .filter(|line| !line.trim_ascii().is_empty())
        .take(SAMPLE);
    let (all, rows) = sample.fold((0, 0), |(all, rows), line| {
        (all + 1, rows + usize::from(is_row(line)))
    });
    if rows < FEWEST || rows * 10 < all * 9 {
        return Ok(None);
    }
    let start = lines.text().as_ptr() as usize;
    let spans: Vec<Range<usize>> = lines
        .iter()
        .map(|line| {
            let at = line.as_ptr() as usize - start;
            at..at + line.len()
        })
        .collect();
    let table = RowTable::read(lines.text(), &spans, deadline)?;
    let parts = table.rare.iter().map(|rare| UnusualRun {
        span: rare.row..rare.row + 1,
        label: rare.label.clone(),
    });
    Ok(Some(Findings {
        notes: table.note("$", LONGEST_NOTE).into_iter().collect(),
        more: None,
        ends: Ends::ALL,
        parts: parts.collect(),
        structure: Vec::new(),
        index: "rare lines not shown",
        index_share: 4,
    }))
}

/// Rows with roughly the same fields.
pub(crate) struct RowTable {
    rows: usize,
    /// The name and the contents of each field.
    fields: Vec<String>,
    pub(crate) rare: Vec<Rare>,
}

/// An unusual row.
pub(crate) struct Rare {
    /// The row number, counted from 0.
    pub(crate) row: usize,
    /// The value that makes the row unusual.
    pub(crate) label: String,
}

impl RowTable {
    /// Reads the rows at the given positions of a text.
    pub(crate) fn read(
        text: &str,
        rows: &[Range<usize>],
        deadline: &Deadline<'_>,
    ) -> Result<RowTable, OutOfTime> {
        let mut profile = RowProfile::new(text);
        for (at, row) in rows.iter().enumerate() {
            if at % ROWS_PER_CHECK == 0 {
                deadline.check()?;
            }
            profile.add(row);
        }
        let usual = profile.usual();
        let mut scores = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            if at % ROWS_PER_CHECK == 0 {
                deadline.check()?;
            }
            scores.push(profile.surprise(&usual, row, profile.shape_of[at]));
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.retain(|&at| scores[at].bits >= LEAST_BITS);
        best_first(&mut order, |at| scores[at].bits);
        order.truncate(MOST_PARTS);
        let rare = order.into_iter().map(|row| Rare {
            row,
            label: profile.label(&scores[row]),
        });
        Ok(RowTable {
            rows: rows.len(),
            rare: rare.collect(),
            fields: profile.describe(),
        })
    }

    /// Describes the contents of the fields, in brackets and in at most `most` characters.
    pub(crate) fn note(&self, path: &str, most: usize) -> Option<String> {
        let of = match path {
            "$" => String::new(),
            path => format!(" of {path}"),
        };
        let mut note = format!("⟦{} rows{of}", self.rows);
        let mut chars = count::chars(&note) + 1;
        for field in &self.fields {
            chars += count::chars(field) + 2;
            if chars > most {
                break;
            }
            note.push_str("; ");
            note.push_str(field);
        }
        (chars.min(count::chars(&note) + 1) <= most).then(|| note + "⟧")
    }
}

/// The bits of an unusual row, and the field and value that make it unusual.
struct RareScore {
    bits: f32,
    cause: Option<(u32, Range<usize>)>,
}

struct RowProfile<'a> {
    text: &'a str,
    fields: Vec<RowField>,
    by_name: HashMap<(Option<u32>, u64), u32>,
    /// The sequences of fields that rows have.
    shapes: Slot,
    shape_of: Vec<u64>,
}

#[derive(Default)]
struct RowField {
    name: String,
    values: Slot,
    /// The text values with all numbers masked.
    forms: Slot,
    sorts: Slot,
    present: u32,
}

struct UsualOfField {
    values: Usual,
    forms: Usual,
    sorts: Usual,
}

impl UsualOfField {
    fn most(&self) -> f32 {
        let most = self.values.most().max(self.forms.most());
        most.max(self.sorts.most())
    }
}

impl<'a> RowProfile<'a> {
    fn new(text: &'a str) -> RowProfile<'a> {
        RowProfile {
            text,
            fields: Vec::new(),
            by_name: HashMap::new(),
            shapes: Slot::default(),
            shape_of: Vec::new(),
        }
    }

    fn add(&mut self, row: &Range<usize>) {
        let mut shape = 0_u64;
        let text = self.text;
        fields::each(text, row, &mut |around, key, value, sort| {
            let field = self.field(around, key)?;
            shape =
                (shape.rotate_left(5) ^ u64::from(field + 1)).wrapping_mul(0x517c_c1b7_2722_0a95);
            self.fields[field as usize].add(text, &value, sort);
            Some(field)
        });
        self.shapes.add(shape, row, 1);
        self.shape_of.push(shape);
    }

    fn field(&mut self, around: Option<u32>, key: Range<usize>) -> Option<u32> {
        let name = &self.text[key];
        let key = (around, chunks::hash(name.as_bytes()));
        if let Some(&field) = self.by_name.get(&key) {
            return Some(field);
        }
        if self.fields.len() == MOST_FIELDS {
            return None;
        }
        let field = self.fields.len() as u32;
        let around = around.and_then(|at| self.fields.get(at as usize));
        let around = around.map_or(String::new(), |field| format!("{}.", field.name));
        let name: String = name.chars().take(LONGEST_NAME).collect();
        self.fields.push(RowField {
            name: clean(&(around + &name)),
            ..RowField::default()
        });
        self.by_name.insert(key, field);
        Some(field)
    }

    fn usual(&self) -> (Usual, Vec<UsualOfField>) {
        let fields = self.fields.iter().map(|field| UsualOfField {
            values: field.values.usual(),
            forms: field.forms.usual(),
            sorts: field.sorts.usual(),
        });
        (self.shapes.usual(), fields.collect())
    }

    fn surprise(
        &self,
        usual: &(Usual, Vec<UsualOfField>),
        row: &Range<usize>,
        shape: u64,
    ) -> RareScore {
        let mut score = RareScore {
            bits: self.shapes.surprise(&usual.0, shape),
            cause: None,
        };
        // The least common field of a row explains a rare shape.
        let mut fewest = self.shape_of.len() as u32 / 2;
        let has_rare_shape = score.bits >= LEAST_BITS;
        fields::each(self.text, row, &mut |around, key, value, sort| {
            let name = (around, chunks::hash(self.text[key].as_bytes()));
            let at = *self.by_name.get(&name)?;
            let field = &self.fields[at as usize];
            let bits = field.surprise(&usual.1[at as usize], self.text, &value, sort);
            if bits > score.bits {
                score.bits = bits;
                score.cause = Some((at, value));
            } else if has_rare_shape && field.present < fewest && score.cause.is_none() {
                fewest = field.present;
                score.cause = Some((at, value));
            }
            Some(at)
        });
        score
    }

    fn label(&self, score: &RareScore) -> String {
        let Some((field, value)) = &score.cause else {
            return String::new();
        };
        let value = self.text[value.clone()].trim_matches('"');
        clean(&format!("{}={value}", self.fields[*field as usize].name))
    }

    /// Describes the names and the contents of the first fields.
    fn describe(&self) -> Vec<String> {
        let rows = self.shape_of.len() as u32;
        let is_leaf = |field: &&RowField| field.sorts.count() > 0;
        let is_usual = |field: &&RowField| field.present * USUAL >= rows;
        let leaves = self.fields.iter().filter(is_leaf);
        let fields = leaves.clone().filter(is_usual);
        let mut all: Vec<String> = fields
            .clone()
            .take(DESCRIBED)
            .map(|field| field.describe(self.text, rows))
            .collect();
        let others = leaves.count().saturating_sub(all.len());
        if others > 0 {
            let fields = if others == 1 { "field" } else { "fields" };
            all.push(format!("{others} other {fields} in few rows"));
        }
        all
    }
}

impl RowField {
    fn add(&mut self, text: &str, value: &Range<usize>, sort: Sort) {
        self.present += 1;
        if sort == Sort::Object {
            return;
        }
        self.sorts.add(sort as u64, value, 1);
        match number(text, value, sort) {
            Some(number) => self.values.add_number(number, value),
            None => self.values.add(exact(text, value, sort), value, 1),
        }
        if sort == Sort::Text {
            self.forms.add(form(text, value), value, 1);
        }
    }

    fn surprise(&self, usual: &UsualOfField, text: &str, value: &Range<usize>, sort: Sort) -> f32 {
        if sort == Sort::Object || usual.most() < LEAST_BITS {
            return 0.0;
        }
        let by_sort = self.sorts.surprise(&usual.sorts, sort as u64);
        let by_value = match number(text, value, sort) {
            _ if usual.values.most() < LEAST_BITS => 0.0,
            Some(number) => self.values.surprise_of_number(&usual.values, number),
            None => self
                .values
                .surprise(&usual.values, exact(text, value, sort)),
        };
        let by_form = match sort {
            Sort::Text if usual.forms.most() >= LEAST_BITS => {
                self.forms.surprise(&usual.forms, form(text, value))
            }
            _ => 0.0,
        };
        by_sort.max(by_value).max(by_form)
    }

    /// Describes the field, such as `status active 4800, failed 190, 3 more` or `total 0.5..98`.
    fn describe(&self, text: &str, rows: u32) -> String {
        let mut out = self.name.clone();
        if self.present * 10 < rows * 9 {
            out.push_str(&format!(" (in {})", self.present));
        }
        let (frequent, others) = self.values.frequent(NAMED);
        if self.values.numbers() * 10 > self.present * 9 && (others > 0 || self.values.has_many()) {
            let (least, most) = self.values.span();
            out.push_str(&format!(" {least}..{most}"));
        } else if self.values.has_many() {
            out.push_str(" many values");
        } else {
            for (nth, (place, count)) in frequent.into_iter().enumerate() {
                let value: String = text[place]
                    .trim_matches('"')
                    .chars()
                    .take(LONGEST_NAME)
                    .collect();
                let comma = if nth > 0 { "," } else { "" };
                out.push_str(&format!("{comma} {} {count}", clean(&value)));
            }
            if others > 0 {
                out.push_str(&format!(", {others} more"));
            }
        }
        out
    }
}

fn number(text: &str, value: &Range<usize>, sort: Sort) -> Option<f64> {
    let number = (sort == Sort::Number).then(|| text[value.clone()].parse().ok());
    number.flatten().filter(|number: &f64| number.is_finite())
}

/// Returns the hash of a value. All arrays have the same hash, whatever their contents.
fn exact(text: &str, value: &Range<usize>, sort: Sort) -> u64 {
    match sort {
        Sort::Array | Sort::Object => 1,
        _ => {
            chunks::hash(&text.as_bytes()[value.start..value.end.min(value.start + LONGEST_VALUE)])
        }
    }
}

/// Returns the hash of a text in which all numbers are masked.
fn form(text: &str, value: &Range<usize>) -> u64 {
    let bytes = &text.as_bytes()[value.start..value.end.min(value.start + LONGEST_VALUE)];
    let runs = bytes.chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit());
    runs.fold(0, |hash: u64, run| {
        let byte = if run[0].is_ascii_digit() {
            b'0'
        } else {
            run[0]
        };
        (hash ^ u64::from(byte))
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(7)
    })
}
