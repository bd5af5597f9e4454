//! Makes one mistake in a valid call, once for each known kind of mistake.

use serde_json::{Map, Value, json};

use super::form::{self, Keywords};
use super::making::size;
use crate::arguments::message;

pub(super) struct Mutant {
    pub(super) mistake: &'static str,
    /// A JSON pointer to the mistake.
    pub(super) pointer: String,
    pub(super) call: Value,
}

/// Returns the mutants of a call and the kinds of mistakes that were skipped.
pub(super) fn of(schema: &Value, call: &Value) -> (Vec<Mutant>, Vec<&'static str>) {
    let mut breeder = Mutator {
        root: schema,
        call,
        mutants: Vec::new(),
        left_out: Vec::new(),
    };
    breeder.visit(schema, call, "");
    (breeder.mutants, breeder.left_out)
}

struct Mutator<'s> {
    root: &'s Value,
    call: &'s Value,
    mutants: Vec<Mutant>,
    left_out: Vec<&'static str>,
}

impl Mutator<'_> {
    fn visit(&mut self, schema: &Value, value: &Value, pointer: &str) {
        let Some(keywords) = form::flat(self.root, schema) else {
            self.left_out.push("mistakes where parts do not merge");
            return;
        };
        self.visit_flat(&keywords, value, pointer);
    }

    fn visit_flat(&mut self, keywords: &Keywords, value: &Value, pointer: &str) {
        if !pointer.is_empty() {
            self.wrong_type(keywords, pointer);
        }
        if let Some(forms) = form::forms(keywords) {
            let kind = form::kind_of(value);
            let fitting: Vec<&Value> = forms
                .iter()
                .filter(|form| form::may_be(self.root, form, kind))
                .collect();
            let only = match fitting[..] {
                [only] => form::in_form(self.root, keywords, only),
                _ => None,
            };
            match only {
                Some(keywords) => self.below(&keywords, value, pointer),
                None => self
                    .left_out
                    .push("mistakes where several forms may be meant"),
            }
            return;
        }
        self.below(keywords, value, pointer);
    }

    fn below(&mut self, keywords: &Keywords, value: &Value, pointer: &str) {
        if form::forms(keywords).is_some() {
            self.visit_flat(keywords, value, pointer);
            return;
        }
        self.wrong_choice(keywords, value, pointer);
        match value {
            Value::String(text) => self.wrong_length(keywords, text, pointer),
            Value::Number(_) => self.out_of_bounds(keywords, pointer),
            Value::Array(elements) => self.elements(keywords, elements, pointer),
            Value::Object(members) => self.members(keywords, members, pointer),
            _ => {}
        }
        if keywords.contains_key("pattern") {
            self.left_out.push("strings that do not match a pattern");
        }
    }

    fn wrong_type(&mut self, keywords: &Keywords, pointer: &str) {
        // Schemas with choices but no type are tested with a wrong choice instead.
        if form::choices(keywords).is_some() && !keywords.contains_key("type") {
            return;
        }
        for (kind, value) in form::samples() {
            if !form::keywords_may_be(self.root, keywords, kind) {
                self.put("a wrong type", pointer, value);
            }
        }
    }

    fn wrong_choice(&mut self, keywords: &Keywords, value: &Value, pointer: &str) {
        let Some(choices) = form::choices(keywords) else {
            return;
        };
        let kind = form::kind_of(value);
        for (_, other) in form::samples()
            .into_iter()
            .filter(|sample| sample.0 == kind)
        {
            if !choices.contains(&other) {
                self.put("a value that is no choice", pointer, other);
            }
        }
    }

    fn wrong_length(&mut self, keywords: &Keywords, text: &str, pointer: &str) {
        if let Some(least) = size(keywords, "minLength").filter(|least| *least > 0) {
            let short: String = text.chars().take(least - 1).collect();
            self.put("too short", pointer, json!(short));
        }
        if let Some(most) = size(keywords, "maxLength").filter(|most| *most < 100_000) {
            self.put("too long", pointer, json!("ü".repeat(most + 1)));
        }
    }

    fn out_of_bounds(&mut self, keywords: &Keywords, pointer: &str) {
        for (bound, beyond) in [
            ("minimum", -1.0),
            ("exclusiveMinimum", 0.0),
            ("maximum", 1.0),
            ("exclusiveMaximum", 0.0),
        ] {
            if let Some(bound) = keywords.get(bound).and_then(Value::as_f64) {
                self.put("out of bounds", pointer, json!(bound + beyond));
            }
        }
    }

    fn elements(&mut self, keywords: &Keywords, elements: &[Value], pointer: &str) {
        if let Some(least) = size(keywords, "minItems").filter(|least| *least > 0) {
            let few = json!(elements[..elements.len().min(least - 1)]);
            self.put("too few items", pointer, few);
        }
        if let Some(most) = size(keywords, "maxItems").filter(|most| *most < 1_000)
            && let Some(first) = elements.first()
        {
            self.put("too many items", pointer, json!(vec![first; most + 1]));
        }
        for (position, element) in elements.iter().enumerate() {
            let first = keywords
                .get("prefixItems")
                .and_then(|first| first.get(position));
            if let Some(schema) = first.or(keywords.get("items")) {
                self.visit(schema, element, &format!("{pointer}/{position}"));
            }
        }
    }

    fn members(&mut self, keywords: &Keywords, members: &Map<String, Value>, pointer: &str) {
        let required = keywords.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let mut fewer = members.clone();
            fewer.shift_remove(name);
            self.put_for("a missing name", pointer, name, fewer);
        }
        let others = keywords.get("additionalProperties");
        let is_closed = match others {
            None => {
                pointer.is_empty()
                    && keywords.contains_key("properties")
                    && !keywords.contains_key("patternProperties")
            }
            Some(others) => *others == json!(false),
        };
        if is_closed {
            let mut more = members.clone();
            more.insert("zzz~/unknown".into(), json!(1));
            self.put_for("an unknown name", pointer, "zzz~/unknown", more);
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, value) in members {
            let own = properties.and_then(|properties| properties.get(name));
            if let Some(schema) =
                own.or(others.filter(|_| !keywords.contains_key("patternProperties")))
            {
                self.visit(schema, value, &message::member(pointer, name));
            }
        }
    }

    fn put(&mut self, mistake: &'static str, pointer: &str, value: Value) {
        let mut call = self.call.clone();
        *call.pointer_mut(pointer).expect("the place was visited") = value;
        self.mutants.push(Mutant {
            mistake,
            pointer: pointer.into(),
            call,
        });
    }

    fn put_for(
        &mut self,
        mistake: &'static str,
        object: &str,
        name: &str,
        members: Map<String, Value>,
    ) {
        self.put(mistake, object, Value::Object(members));
        let last = self.mutants.last_mut().expect("it was just put there");
        last.pointer = message::member(object, name);
    }
}
