//! Generates calls that match a schema.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::form::{self, Keywords};
use crate::arguments::tests::{checker, raw};

/// Strings that match the patterns in real schemas.
const FOR_PATTERNS: [&str; 10] = [
    "a",
    "abc",
    "ABC-1",
    "12",
    "2024-01-31",
    "2024-01-31to2024-02-29",
    "example.com",
    "123e4567-e89b-42d3-a456-426614174000",
    "=A1+B2",
    "SlicerStyleLight1",
];

pub(super) struct CallGenerator<'s> {
    root: &'s Value,
    rng: Rng,
    /// If false, only required members are generated.
    all: bool,
    depth: usize,
    /// Descriptions of the values that could not be generated.
    pub(super) unable: Vec<String>,
}

impl<'s> CallGenerator<'s> {
    pub(super) fn new(root: &'s Value, seed: u64, all: bool) -> CallGenerator<'s> {
        CallGenerator {
            root,
            rng: Rng::with_seed(seed),
            all,
            depth: 0,
            unable: Vec::new(),
        }
    }

    pub(super) fn make(&mut self, schema: &Value) -> Option<Value> {
        let Some(keywords) = form::flat(self.root, schema) else {
            return self.cannot("a schema whose parts do not merge");
        };
        self.depth += 1;
        let made = match self.depth > 20 {
            true => self.cannot("a value that never ends"),
            false => self.of(&keywords),
        };
        self.depth -= 1;
        made
    }

    fn of(&mut self, keywords: &Keywords) -> Option<Value> {
        if let Some(choices) = form::choices(keywords) {
            return self.rng.choice(choices);
        }
        if let Some(forms) = form::forms(keywords) {
            // At greater depth, always use the last alternative, so that generation ends sooner.
            let form = match self.depth > 6 {
                true => forms.last()?,
                false => &forms[self.rng.usize(..forms.len())],
            };
            let Some(keywords) = form::in_form(self.root, keywords, form) else {
                return self.cannot("a form that does not merge");
            };
            return self.of(&keywords);
        }
        let named = match keywords.get("type") {
            Some(Value::Array(kinds)) => self.rng.choice(kinds)?.as_str(),
            Some(kind) => kind.as_str(),
            None if keywords.contains_key("properties") => Some("object"),
            None if keywords.contains_key("items") => Some("array"),
            None => Some("string"),
        };
        match named? {
            "string" => self.string(keywords),
            "integer" => Some(json!(self.number(keywords).ceil() as i64)),
            "number" => Some(json!(self.number(keywords))),
            "boolean" => Some(json!(self.rng.bool())),
            "null" => Some(Value::Null),
            "array" => self.array(keywords),
            "object" => self.object(keywords),
            _ => self.cannot("an unknown type"),
        }
    }

    fn string(&mut self, keywords: &Keywords) -> Option<Value> {
        if let Some(pattern) = keywords.get("pattern") {
            let wanted = json!({"properties": {"x": {"pattern": pattern}}}).to_string();
            let fits = |text: &&&str| {
                checker(&wanted)
                    .check(&raw(&json!({"x": text}).to_string()))
                    .is_ok()
            };
            return match FOR_PATTERNS.iter().find(fits) {
                Some(text) => Some(json!(text)),
                None => self.cannot(&format!("a string for the pattern {pattern}")),
            };
        }
        let mut text = match keywords.get("format").and_then(Value::as_str) {
            Some("uri" | "url") => "https://example.com/a".to_owned(),
            Some("uuid") => "123e4567-e89b-42d3-a456-426614174000".to_owned(),
            Some("date") => "2024-01-31".to_owned(),
            Some("date-time") => "2024-01-31T12:00:00Z".to_owned(),
            Some("email") => "a@example.com".to_owned(),
            _ => ["", "x", "some words", "ümläut 😀", "/tmp/a.txt"][self.rng.usize(..5)].to_owned(),
        };
        let least = size(keywords, "minLength").unwrap_or(0);
        while text.chars().count() < least {
            text.push('y');
        }
        if let Some(most) = size(keywords, "maxLength") {
            text = text.chars().take(most).collect();
        }
        Some(json!(text))
    }

    fn number(&mut self, keywords: &Keywords) -> f64 {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
        let least = bound("minimum").or(bound("exclusiveMinimum").map(|bound| bound + 1.0));
        let most = bound("maximum").or(bound("exclusiveMaximum").map(|bound| bound - 1.0));
        let number = match (least, most) {
            (Some(least), Some(most)) => [least, most, (least + most) / 2.0][self.rng.usize(..3)],
            (Some(least), None) => least + f64::from(self.rng.u8(..)),
            (None, Some(most)) => most - f64::from(self.rng.u8(..)),
            (None, None) => self.rng.i16(..).into(),
        };
        match bound("multipleOf") {
            Some(step) => (number / step).ceil() * step,
            // Round down to a whole number, but not below the minimum.
            None => number.floor().max(least.unwrap_or(f64::MIN)),
        }
    }

    fn array(&mut self, keywords: &Keywords) -> Option<Value> {
        let least = size(keywords, "minItems").unwrap_or(0);
        let most = size(keywords, "maxItems").unwrap_or(usize::MAX);
        let wanted = if self.all && self.depth < 8 { 2 } else { 0 };
        let mut elements = Vec::new();
        for position in 0..wanted.max(least).min(most) {
            let first = keywords
                .get("prefixItems")
                .and_then(|first| first.get(position));
            let schema = first
                .or(keywords.get("items"))
                .unwrap_or(&Value::Bool(true));
            elements.push(self.make(schema)?);
        }
        Some(Value::Array(elements))
    }

    fn object(&mut self, keywords: &Keywords) -> Option<Value> {
        let required = keywords.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut members = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let must = required.contains(&name.as_str());
            if must || self.all && self.depth < 8 && *schema != json!(false) {
                members.insert(name.clone(), self.make(schema)?);
            }
        }
        let others = keywords.get("additionalProperties");
        if let Some(others) = others.filter(|others| self.all && others.is_object()) {
            let names = json!({"type": "string", "minLength": 1});
            let names = keywords.get("propertyNames").unwrap_or(&names);
            if let Some(Value::String(name)) = self.make(names) {
                let value = self.make(others)?;
                members.entry(name).or_insert(value);
            }
        }
        for name in required {
            members.entry(name).or_insert(json!("of no schema"));
        }
        Some(Value::Object(members))
    }

    fn cannot(&mut self, what: &str) -> Option<Value> {
        self.unable.push(what.to_owned());
        None
    }
}

pub(super) fn size(keywords: &Keywords, name: &str) -> Option<usize> {
    usize::try_from(keywords.get(name)?.as_u64()?).ok()
}
