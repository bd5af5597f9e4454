//! A JSON text with comments, in which single values can be replaced, added and removed. All other
//! bytes stay unchanged.
//!
//! The parser that reads the configuration also gives the positions of values, commas and comments.
//! A change is a splice of the text, so it cannot lose anything outside the splice. The syntax tree
//! of `jsonc-parser` (0.34) prints a text unchanged, but its edits change bytes outside the edited
//! entry:
//! - Removing a member removes the comments on its line.
//! - Adding a member to an object on one line puts every member of the object on a line of its own.
//! - Adding a member removes blank lines after the opening and before the closing bracket.
//!
//! Its nodes have no positions and cannot insert whitespace, so it cannot be combined with splices
//! either.

use std::ops::Range;

use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};
use serde_json::{Number, Value};

use super::EditError;
use super::print::Style;
use crate::config::{lower_first, syntax};

const MARK: &str = "\u{feff}";

/// A text whose top-level value is an object.
pub(super) struct Document {
    text: String,
    /// True if the text started with a byte order mark.
    marked: bool,
}

/// One step of a path to a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    /// The member or element at this index.
    At(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Step::Key(key)
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean(bool),
    Null,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Document, EditError> {
        let unmarked = text.strip_prefix(MARK);
        let document = Document {
            text: unmarked.unwrap_or(text).to_owned(),
            marked: unmarked.is_some(),
        };
        let parsed = parse_to_ast(&document.text, &CollectOptions::default(), &syntax());
        let value = parsed.map_err(|error| {
            let what = lower_first(&error.kind().to_string());
            EditError::Unusable(format!("the file is not valid JSON: {what}"))
        })?;
        match value.value {
            Some(ast::Value::Object(_)) => Ok(document),
            Some(_) => Err(EditError::Unusable(
                "the file is not a JSON object".to_owned(),
            )),
            None => Err(EditError::Unusable("the file is empty".to_owned())),
        }
    }

    pub(super) fn into_text(self) -> String {
        match self.marked {
            true => format!("{MARK}{}", self.text),
            false => self.text,
        }
    }

    /// Returns the type of the value at a path, or `None` if the path does not exist.
    pub(super) fn kind(&self, path: &[Step<'_>]) -> Option<Kind> {
        self.look(path, |value| match value {
            ast::Value::StringLit(_) => Kind::String,
            ast::Value::NumberLit(_) => Kind::Number,
            ast::Value::BooleanLit(literal) => Kind::Boolean(literal.value),
            ast::Value::Object(_) => Kind::Object,
            ast::Value::Array(_) => Kind::Array,
            ast::Value::NullKeyword(_) => Kind::Null,
        })
    }

    /// Returns the keys of all members, in order.
    pub(super) fn keys(&self, path: &[Step<'_>]) -> Vec<String> {
        let keys = |value: &ast::Value<'_>| {
            let properties = value.as_object()?.properties.iter();
            let keys = properties.map(|property| key_of(&property.name).to_owned());
            Some(keys.collect())
        };
        self.look(path, keys).flatten().unwrap_or_default()
    }

    /// Returns the name of each element of a list and the key that gives it: the first of `keys`
    /// that is not null.
    pub(super) fn names(
        &self,
        path: &[Step<'_>],
        keys: &[&'static str],
    ) -> Vec<Option<(&'static str, String)>> {
        let name = |element: &ast::Value<'_>| {
            let object = element.as_object()?;
            let member = |key: &'static str| {
                let mut properties = object.properties.iter();
                let found = properties.find(|property| key_of(&property.name) == key)?;
                let is_null = found.value.as_null_keyword().is_some();
                (!is_null).then_some((key, &found.value))
            };
            let (key, value) = keys.iter().copied().find_map(member)?;
            Some((key, value.as_string_lit()?.value.to_string()))
        };
        let names = |value: &ast::Value<'_>| {
            let elements = value.as_array()?.elements.iter();
            Some(elements.map(name).collect())
        };
        self.look(path, names).flatten().unwrap_or_default()
    }

    /// Returns the index of a member.
    pub(super) fn position(&self, path: &[Step<'_>], key: &str) -> Option<usize> {
        let position = |value: &ast::Value<'_>| {
            let mut keys = value.as_object()?.properties.iter();
            keys.position(|property| key_of(&property.name) == key)
        };
        self.look(path, position)?
    }

    /// Sets or adds a member of an object. Does nothing if the value is already equal or if there
    /// is no object.
    pub(super) fn set(&mut self, path: &[Step<'_>], key: &str, value: &Value) {
        match self.position(path, key) {
            Some(at) => self.replace(&[path, &[Step::At(at)]].concat(), value),
            None => self.append(path, |style, indent| style.member(key, value, indent)),
        }
    }

    /// Adds an element to an array.
    pub(super) fn push(&mut self, path: &[Step<'_>], value: &Value) {
        self.append(path, |style, indent| style.print(value, indent));
    }

    /// Replaces a value.
    pub(super) fn replace(&mut self, path: &[Step<'_>], value: &Value) {
        let found = self.look(path, |old| (!equals_value(old, value)).then(|| span(old)));
        if let Some(Some(range)) = found {
            let style = Style::of(&self.text);
            let indent = self.indent_of_line(range.start).to_owned();
            let printed = style.print(value, &indent);
            self.text.replace_range(range, &printed);
        }
    }

    /// Removes a member or an element. Comments next to it stay. If nothing else is on its line,
    /// the line is removed.
    pub(super) fn remove(&mut self, path: &[Step<'_>], at: usize) {
        let Some(inside) = self.container(path) else {
            return;
        };
        let Some(item) = inside.items.get(at).cloned() else {
            return;
        };
        let before = at.checked_sub(1).and_then(|at| inside.items.get(at));
        let own_comma = self.comma_after(item.end);
        let comma_before = before.and_then(|before| self.comma_after(before.end));
        let mut cuts = Vec::new();
        match (own_comma, comma_before) {
            (Some(comma), _) if self.is_blank(item.end..comma) => {
                cuts.push(self.with_line(item.start..comma + 1));
            }
            // A comment between the item and its comma stays.
            (Some(comma), _) => {
                cuts.push(self.with_line(item.clone()));
                cuts.push(comma..comma + 1);
            }
            (None, Some(comma)) => {
                cuts.push(comma..comma + 1);
                cuts.push(self.with_line(item.clone()));
            }
            (None, None) => cuts.push(self.with_line(item.clone())),
        }
        if inside.items.len() == 1 && self.is_empty_without(&inside, &item, own_comma) {
            cuts.clear();
            cuts.push(inside.open + 1..inside.close);
        }
        for cut in cuts.into_iter().rev() {
            self.text.replace_range(cut, "");
        }
    }

    /// Appends an item after the existing ones. `print` formats it for a given indentation.
    fn append(&mut self, path: &[Step<'_>], print: impl Fn(&Style, &str) -> String) {
        let Some(inside) = self.container(path) else {
            return;
        };
        let style = Style::of(&self.text);
        let outer = self.indent_of_line(inside.open).to_owned();
        let Some(last) = inside.items.last() else {
            self.append_first(&inside, &outer, &style, print);
            return;
        };
        let begins_line = self.text[..last.start].trim_end_matches([' ', '\t']);
        let begins_line = begins_line.ends_with(['\n', '\r']);
        let indent = match begins_line {
            true => self.indent_of_line(last.start).to_owned(),
            false => format!("{outer}{}", style.unit),
        };
        let comma = self.comma_after(last.end);
        let (mut behind, after_line_comment) =
            self.end_of_remarks(comma.map_or(last.end, |comma| comma + 1));
        let gap = match begins_line || after_line_comment {
            true => {
                // Trailing blanks stay on their line.
                let rest = &self.text[behind..];
                let line_end = rest.trim_start_matches([' ', '\t']);
                if line_end.starts_with(['\r', '\n']) {
                    behind += rest.len() - line_end.len();
                }
                format!("{}{indent}", style.line_end)
            }
            false => " ".to_owned(),
        };
        let mut added = format!("{gap}{}", print(&style, &indent));
        if comma.is_some() {
            added.push(',');
        }
        let last_end = last.end;
        self.text.insert_str(behind, &added);
        if comma.is_none() {
            self.text.insert(last_end, ',');
        }
    }

    /// Adds the first item of an object or array that may contain comments.
    fn append_first(
        &mut self,
        inside: &ContainerSpan,
        outer: &str,
        style: &Style,
        print: impl Fn(&Style, &str) -> String,
    ) {
        let body = &self.text[inside.open + 1..inside.close];
        let begin = inside.open + 1 + body.trim_end().len();
        let indent = format!("{outer}{}", style.unit);
        let printed = print(style, &indent);
        let line_end = style.line_end;
        let added = match style.in_one_line {
            true => format!(" {printed} "),
            false => format!("{line_end}{indent}{printed}{line_end}{outer}"),
        };
        self.text.replace_range(begin..inside.close, &added);
    }

    /// Passes the value at a path to `look`.
    fn look<T>(&self, path: &[Step<'_>], look: impl FnOnce(&ast::Value<'_>) -> T) -> Option<T> {
        let parsed = parse_to_ast(&self.text, &CollectOptions::default(), &syntax());
        let top = parsed.ok()?.value?;
        let mut value = &top;
        for step in path {
            value = match (value, step) {
                (ast::Value::Object(object), Step::Key(key)) => {
                    let mut properties = object.properties.iter();
                    &properties
                        .find(|property| key_of(&property.name) == *key)?
                        .value
                }
                (ast::Value::Object(object), Step::At(at)) => &object.properties.get(*at)?.value,
                (ast::Value::Array(array), Step::At(at)) => array.elements.get(*at)?,
                _ => return None,
            };
        }
        Some(look(value))
    }

    fn container(&self, path: &[Step<'_>]) -> Option<ContainerSpan> {
        self.look(path, |value| {
            let items = match value {
                ast::Value::Object(object) => object
                    .properties
                    .iter()
                    .map(|property| property.start()..property.end())
                    .collect(),
                ast::Value::Array(array) => array.elements.iter().map(span).collect(),
                _ => return None,
            };
            Some(ContainerSpan {
                open: value.start(),
                close: value.end().checked_sub(1)?,
                items,
            })
        })?
    }

    /// Returns the next comma if only whitespace and comments come before it.
    fn comma_after(&self, from: usize) -> Option<usize> {
        let tokens = self.tokens_after(from);
        let next = tokens.iter().find(|token| !is_comment(token))?;
        matches!(next.token, Token::Comma).then(|| next.start())
    }

    /// Returns the end of the comments on the same line, and true if the last one is a line
    /// comment.
    fn end_of_remarks(&self, from: usize) -> (usize, bool) {
        let mut end = from;
        for token in self.tokens_after(from) {
            let on_the_line = !self.text[end..token.end()].contains(['\n', '\r']);
            if !is_comment(&token) || !on_the_line {
                break;
            }
            end = token.end();
            if matches!(token.token, Token::CommentLine(_)) {
                return (end, true);
            }
        }
        (end, false)
    }

    /// Returns the tokens, including comments, that start at or after a position.
    fn tokens_after(&self, from: usize) -> Vec<TokenAndRange<'_>> {
        let options = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(&self.text, &options, &syntax());
        let mut tokens = parsed.ok().and_then(|parsed| parsed.tokens);
        let tokens = tokens.get_or_insert_default();
        let first = tokens.partition_point(|token| token.start() < from);
        tokens.split_off(first)
    }

    /// Extends a range by the whitespace around it: the whole line if nothing else is on it, else
    /// the blanks before it.
    fn with_line(&self, range: Range<usize>) -> Range<usize> {
        let blank = [' ', '\t'];
        let before = self.text[..range.start].trim_end_matches(blank);
        let rest = &self.text[range.end..];
        let after = rest.trim_start_matches(blank);
        let end = range.end + rest.len() - after.len();
        let line_end = match after {
            _ if after.starts_with("\r\n") => 2,
            _ if after.starts_with('\n') => 1,
            _ => 0,
        };
        let line_before = before.strip_suffix('\n');
        let begins_line = line_before.is_some();
        let line_before = line_before.unwrap_or(before);
        let line_before = line_before.strip_suffix('\r').unwrap_or(line_before);
        let is_first = begins_line || before.ends_with(['{', '[']);
        match line_end {
            0 if begins_line
                && after.starts_with(['}', ']'])
                && !self.is_remark_before(range.start) =>
            {
                line_before.len()..range.end
            }
            0 if is_first => range.start..end,
            1.. if begins_line => before.len()..end + line_end,
            // The text before the range keeps its line end.
            _ => before.len()..range.end,
        }
    }

    /// Returns true if the line before the position ends with a line comment.
    fn is_remark_before(&self, at: usize) -> bool {
        let is_remark = |token: &TokenAndRange<'_>| {
            let is_line = matches!(token.token, Token::CommentLine(_));
            is_line && token.end() <= at && self.is_blank(token.end()..at)
        };
        self.tokens_after(0).iter().any(is_remark)
    }

    /// Returns true if only whitespace remains after removing the only item.
    fn is_empty_without(
        &self,
        inside: &ContainerSpan,
        item: &Range<usize>,
        comma: Option<usize>,
    ) -> bool {
        let behind = match comma {
            Some(comma) => self.is_blank(item.end..comma) && self.is_blank(comma + 1..inside.close),
            None => self.is_blank(item.end..inside.close),
        };
        behind && self.is_blank(inside.open + 1..item.start)
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.text[range].trim().is_empty()
    }

    /// Returns the indentation of the line at a position.
    fn indent_of_line(&self, at: usize) -> &str {
        let before = &self.text[..at];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let line = &before[line..];
        let rest = line.trim_start_matches([' ', '\t']);
        &line[..line.len() - rest.len()]
    }
}

/// The positions in an object or an array.
struct ContainerSpan {
    /// The positions of the brackets.
    open: usize,
    close: usize,
    items: Vec<Range<usize>>,
}

fn key_of<'a>(name: &'a ObjectPropName<'_>) -> &'a str {
    match name {
        ObjectPropName::String(text) => &text.value,
        ObjectPropName::Word(word) => word.value,
    }
}

fn span(value: &ast::Value<'_>) -> Range<usize> {
    value.start()..value.end()
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns true if a value of the text equals `expected`. The parser limits the depth.
fn equals_value(value: &ast::Value<'_>, expected: &Value) -> bool {
    match (value, expected) {
        (ast::Value::StringLit(text), Value::String(expected)) => *text.value == **expected,
        (ast::Value::NumberLit(number), Value::Number(expected)) => {
            let number: Result<Number, _> = number.value.parse();
            number.is_ok_and(|number| number == *expected)
        }
        (ast::Value::BooleanLit(literal), Value::Bool(expected)) => literal.value == *expected,
        (ast::Value::NullKeyword(_), Value::Null) => true,
        (ast::Value::Array(array), Value::Array(expected)) => {
            let pairs = array.elements.iter().zip(expected);
            array.elements.len() == expected.len()
                && pairs
                    .into_iter()
                    .all(|(value, expected)| equals_value(value, expected))
        }
        (ast::Value::Object(object), Value::Object(expected)) => {
            let mut seen: Vec<&str> = Vec::new();
            object.properties.len() == expected.len()
                && object.properties.iter().all(|property| {
                    let key = key_of(&property.name);
                    let is_new = !seen.contains(&key);
                    seen.push(key);
                    let expected = expected.get(key).filter(|_| is_new);
                    expected.is_some_and(|expected| equals_value(&property.value, expected))
                })
        }
        _ => false,
    }
}
