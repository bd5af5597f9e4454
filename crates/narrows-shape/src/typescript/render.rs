//! Converts schemas to types, with limits against hostile schemas.

mod references;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::comment::comment;
use super::facets::{Facets, SchemaType, Tuple, tells_more_than};
use super::name;
use super::text::Type;
use super::{TypeScript, TypeScriptOptions};
use references::{Progress, Use, resolve};

/// The deepest nesting of schemas, including references. Real schemas have about ten levels.
const MAX_DEPTH: usize = 64;

/// The budget for a whole schema in bytes of output. Reading a schema counts as a few bytes. When
/// the budget is used up, the rest becomes `unknown`.
const FUEL: usize = 4 << 20;
const FUEL_PER_SCHEMA: usize = 16;

/// The maximum number of references that are merged with the keywords next to them. A type that
/// extends another is easier to read in merged form, but merging repeatedly is expensive. Beyond
/// the limit, the type becomes the intersection of both.
const MAX_MERGES: usize = 1_000;

/// The address of a schema in the document, which identifies the target of a reference regardless
/// of its spelling.
type Target = *const Value;

pub(super) struct Renderer<'a> {
    root: &'a Value,
    options: &'a TypeScriptOptions,
    targets: HashMap<Target, Progress>,
    /// The type names in use.
    names: HashMap<String, Use>,
    declarations: Vec<(String, String)>,
    unresolved: Vec<String>,
    /// Named targets that still have to be written.
    waiting: Vec<&'a Value>,
    /// The shelter at which each type under way began.
    under_way: Vec<usize>,
    fuel: usize,
    repeated: usize,
    /// The number of schemas around the current one.
    depth: usize,
    /// The number of object, array and index types around the current one. TypeScript allows a type
    /// to refer to itself only inside one of them.
    shelter: usize,
    /// Types under way that were mentioned, with the shelter at that position.
    mentions: Vec<(Target, usize)>,
    /// The number of names written so far.
    named: usize,
    /// The number of references merged so far, and those merged around the current schema.
    merges: usize,
    merged: HashSet<Target>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(root: &'a Value, options: &'a TypeScriptOptions) -> Self {
        Self {
            root,
            options,
            targets: HashMap::new(),
            names: HashMap::new(),
            declarations: Vec::new(),
            unresolved: Vec::new(),
            waiting: Vec::new(),
            under_way: Vec::new(),
            fuel: FUEL,
            repeated: 0,
            depth: 0,
            shelter: 0,
            mentions: Vec::new(),
            named: 0,
            merges: 0,
            merged: HashSet::new(),
        }
    }

    pub(super) fn run(mut self) -> TypeScript {
        let expression = self.write_target(self.root, None).into_text();
        while let Some(schema) = self.waiting.pop() {
            if let Some(Progress::Waiting { name }) = self.targets.get(&(schema as Target)) {
                let name = name.clone();
                self.write_target(schema, Some(name));
            }
        }
        TypeScript {
            expression,
            declarations: self.declarations,
            unresolved: self.unresolved,
        }
    }

    /// Returns the type of one schema.
    fn schema(&mut self, schema: &'a Value, hint: Option<&[SchemaType]>) -> Type {
        match schema {
            Value::Bool(false) => Type::never(),
            Value::Object(keywords) => match lone_reference(keywords) {
                Some(reference) => {
                    let own = comment(&[keywords], self.options);
                    self.reference(reference).with_comment(own)
                }
                None => self.deeper(|this| this.all_of(&[schema], hint)),
            },
            _ => Type::unknown(),
        }
    }

    /// Calls `write` one level deeper, or returns `unknown` if the depth or the fuel is exhausted.
    fn deeper(&mut self, write: impl FnOnce(&mut Self) -> Type) -> Type {
        if self.depth >= MAX_DEPTH || !self.burn(FUEL_PER_SCHEMA) {
            return Type::unknown();
        }
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        written
    }

    /// Calls `write` inside an object, array or index type.
    fn sheltered<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        self.shelter += 1;
        let written = write(self);
        self.shelter -= 1;
        written
    }

    /// Uses fuel and returns `true` if some is left.
    fn burn(&mut self, amount: usize) -> bool {
        self.fuel = self.fuel.saturating_sub(amount);
        self.fuel > 0
    }

    /// Returns the type of a value that all of `schemas` describe.
    fn all_of(&mut self, schemas: &[&'a Value], hint: Option<&[SchemaType]>) -> Type {
        let (mut facets, others, merged) = self.gather(schemas);
        let said = comment(&facets.schemas, self.options);
        self.burn(said.len());
        let is_nullable = facets.is_nullable;
        let mut factors = others;
        let says_nothing = facets.kinds.is_none()
            && facets.literals.is_none()
            && facets.unions.is_empty()
            && factors.is_empty()
            && !facets.is_about_objects()
            && !facets.is_about_arrays();
        if says_nothing {
            facets.kinds = hint.map(<[SchemaType]>::to_vec);
        }
        factors.extend(self.narrowed(&mut facets));
        for target in merged {
            self.merged.remove(&target);
        }
        let whole = Type::intersection(factors);
        let whole = if is_nullable { whole.or_null() } else { whole };
        whole.with_comment(said)
    }

    /// Collects `schemas` and everything they are merged with. Also returns the types that cannot
    /// be merged, because they are under way, are outside the document, or have already been merged
    /// further out, and the references that were merged.
    fn gather(&mut self, schemas: &[&'a Value]) -> (Facets<'a>, Vec<Type>, Vec<Target>) {
        let mut facets = Facets::default();
        let (mut others, mut merged) = (Vec::new(), Vec::new());
        let mut queue: Vec<&'a Value> = schemas.to_vec();
        let mut seen: HashSet<Target> = queue.iter().map(|&schema| schema as Target).collect();
        let mut next = 0;
        while let Some(&schema) = queue.get(next) {
            next += 1;
            if !self.burn(FUEL_PER_SCHEMA) {
                break;
            }
            let keywords = match schema {
                Value::Object(keywords) => keywords,
                Value::Bool(false) => {
                    facets.is_never = true;
                    continue;
                }
                _ => continue,
            };
            facets.add(keywords);
            self.burn(reading(keywords));
            if let Some(Value::String(reference)) = keywords.get("$ref") {
                match resolve(self.root, reference) {
                    Some(target) if !seen.insert(target) => {}
                    Some(target) if self.may_merge(target) => {
                        self.merges += 1;
                        self.merged.insert(target);
                        merged.push(target as Target);
                        queue.push(target);
                    }
                    Some(target) => {
                        others.push(self.target(target, &name::last_segment(reference)));
                    }
                    None => others.push(self.unresolved(reference)),
                }
            }
            if let Some(Value::Array(parts)) = keywords.get("allOf") {
                queue.extend(parts.iter().filter(|&part| seen.insert(part)));
            }
        }
        (facets, others, merged)
    }

    fn may_merge(&self, target: Target) -> bool {
        let is_under_way = matches!(self.targets.get(&target), Some(Progress::UnderWay { .. }));
        !is_under_way && !self.merged.contains(&target) && self.merges < MAX_MERGES
    }

    /// Returns the type from the keywords without unions, and the type of each union.
    fn narrowed(&mut self, facets: &mut Facets<'a>) -> Vec<Type> {
        if facets.is_never {
            return vec![Type::never()];
        }
        if let Some(literals) = &facets.literals {
            let union = Type::union(literals.iter().map(|value| literal(value)));
            self.burn(union.len());
            return vec![union];
        }
        let unions = std::mem::take(&mut facets.unions);
        let implied = facets.kinds.is_none();
        let kinds = facets.kinds.clone().unwrap_or_else(|| {
            let object = facets.is_about_objects().then_some(SchemaType::Object);
            let array = facets.is_about_arrays().then_some(SchemaType::Array);
            object.into_iter().chain(array).collect()
        });
        if kinds.is_empty() && !implied {
            return vec![Type::never()];
        }
        if kinds.contains(&SchemaType::Object) {
            facets.list_required();
        }
        let mut factors = Vec::new();
        for members in &unions {
            let hint = (!kinds.is_empty()).then_some(kinds.as_slice());
            let union: Vec<Type> = members
                .iter()
                .map(|member| self.schema(member, hint))
                .collect();
            factors.push(Type::union(union));
        }
        // A bare type next to a union is redundant, because the members of the union are more
        // specific.
        let is_bare =
            facets.properties.is_empty() && !facets.is_about_objects() && !facets.is_about_arrays();
        let is_told = factors.iter().any(|factor| !factor.is_unknown());
        if kinds.is_empty() || (is_bare && is_told) {
            return factors;
        }
        factors.retain(|factor| !factor.is_any_object());
        let base = kinds.iter().map(|kind| self.kind(*kind, facets));
        factors.insert(0, Type::union(base.collect::<Vec<_>>()));
        factors
    }

    fn kind(&mut self, kind: SchemaType, facets: &Facets<'a>) -> Type {
        match kind {
            SchemaType::String => Type::of("string"),
            SchemaType::Number => Type::of("number"),
            SchemaType::Boolean => Type::of("boolean"),
            SchemaType::Null => Type::of("null"),
            SchemaType::Unknown => Type::unknown(),
            SchemaType::Object => self.object(facets),
            SchemaType::Array => self.array(facets),
        }
    }

    fn object(&mut self, facets: &Facets<'a>) -> Type {
        let mut text = String::from("{");
        for (name, schemas) in &facets.properties {
            self.burn(name.len());
            let member = self.sheltered(|this| this.merged(schemas));
            if text.len() > 1 {
                text.push_str("; ");
            }
            text.push_str(&name::member(name));
            if !facets.required.contains(name) {
                text.push('?');
            }
            text.push_str(": ");
            text.push_str(&member.into_text());
        }
        text.push('}');
        if facets.others.is_empty() {
            return Type::of(text);
        }
        let index = self.index(facets);
        match (facets.properties.is_empty(), index) {
            (true, Some(index)) => Type::of(index),
            (true, None) => Type::of("Record<string, unknown>"),
            (false, Some(index)) => Type::intersection(vec![Type::of(text), Type::of(index)]),
            (false, None) => Type::of(text),
        }
    }

    /// Returns the type of members without a schema of their own, or `None` if any type is allowed.
    fn index(&mut self, facets: &Facets<'a>) -> Option<String> {
        let named = self.named;
        let others = self.sheltered(|this| {
            let others = facets.others.iter();
            Type::union(
                others
                    .map(|other| this.schema(other, None))
                    .collect::<Vec<_>>(),
            )
        });
        if others.is_unknown() {
            return None;
        }
        let text = others.into_text();
        // TypeScript rejects a type that refers to itself through `Record`, but accepts the
        // equivalent index signature.
        Some(if self.named == named {
            format!("Record<string, {text}>")
        } else {
            format!("{{[key: string]: {text}}}")
        })
    }

    fn array(&mut self, facets: &Facets<'a>) -> Type {
        if let Some(tuple) = &facets.tuple {
            return self.sheltered(|this| this.tuple(tuple));
        }
        let element = self.sheltered(|this| this.merged(&facets.items));
        Type::array(element)
    }

    /// Returns a tuple type. Listed elements count as required and further elements as forbidden,
    /// unless the schema says otherwise, although JSON Schema has the opposite defaults.
    fn tuple(&mut self, tuple: &Tuple<'a>) -> Type {
        let mut elements = Vec::new();
        for (n, element) in tuple.elements.iter().enumerate() {
            let element = self.schema(element, None);
            elements.push(if n < tuple.min {
                element.into_text()
            } else {
                element.optional_element()
            });
        }
        if let Some(rest) = tuple.rest {
            let rest = self.schema(rest, None);
            elements.push(format!("...{}", Type::array(rest).into_text()));
        }
        Type::of(format!("[{}]", elements.join(", ")))
    }

    fn merged(&mut self, schemas: &[&'a Value]) -> Type {
        match schemas {
            [] => Type::unknown(),
            [schema] => self.schema(schema, None),
            _ => self.deeper(|this| this.all_of(schemas, None)),
        }
    }
}

/// Returns the reference of a schema that contains nothing else about the type. The reference may
/// be wrapped in `allOf`, which allows a description next to it.
fn lone_reference(keywords: &Map<String, Value>) -> Option<&str> {
    if let Some(Value::String(reference)) = keywords.get("$ref") {
        return (!tells_more_than(keywords, "$ref")).then_some(reference);
    }
    match keywords.get("allOf") {
        Some(Value::Array(parts)) if !tells_more_than(keywords, "allOf") => {
            match parts.as_slice() {
                [Value::Object(part)] if !tells_more_than(part, "$ref") => {
                    part.get("$ref")?.as_str()
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the cost of reading a schema's own keywords, which may contain long lists and
/// descriptions.
fn reading(keywords: &Map<String, Value>) -> usize {
    let long = |value: &Value| match value {
        Value::Array(values) => values.len(),
        Value::Object(values) => values.len(),
        Value::String(text) => text.len() / FUEL_PER_SCHEMA,
        _ => 0,
    };
    keywords.values().map(|value| 1 + long(value)).sum()
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Object(_) | Value::Array(_) => Type::unknown(),
        Value::String(text) => Type::of(name::string_literal(text)),
        _ => Type::of(value.to_string()),
    }
}
