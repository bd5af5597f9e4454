//! All statements of several schemas about one value, collected by keyword. A schema and those it
//! merges through `allOf` or a reference count as one.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// The types of JSON Schema that TypeScript distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaType {
    String,
    Number,
    Boolean,
    Null,
    Object,
    Array,
    /// A type that no draft defines.
    Unknown,
}

/// The collected statements about one value. If keywords contradict each other, the first one
/// counts, except for types and literals, which are narrowed.
#[derive(Default)]
pub(super) struct Facets<'a> {
    /// The schemas themselves, for comments.
    pub(super) schemas: Vec<&'a Map<String, Value>>,
    /// Set if one of the schemas allows nothing.
    pub(super) is_never: bool,
    pub(super) is_nullable: bool,
    pub(super) kinds: Option<Vec<SchemaType>>,
    pub(super) literals: Option<Vec<&'a Value>>,
    /// The properties in order of appearance, each with all its schemas.
    pub(super) properties: Vec<(&'a str, Vec<&'a Value>)>,
    places: HashMap<&'a str, usize>,
    pub(super) required: HashSet<&'a str>,
    required_in_order: Vec<&'a str>,
    has_properties: bool,
    /// Schemas for members without a schema of their own.
    pub(super) others: Vec<&'a Value>,
    pub(super) items: Vec<&'a Value>,
    pub(super) tuple: Option<Tuple<'a>>,
    /// The members of each `anyOf` and `oneOf`.
    pub(super) unions: Vec<&'a [Value]>,
}

pub(super) struct Tuple<'a> {
    pub(super) elements: &'a [Value],
    /// The schema of further elements, if there is one.
    pub(super) rest: Option<&'a Value>,
    pub(super) min: usize,
}

/// Keywords that determine a type, as opposed to those that only describe it.
const TYPE_KEYWORDS: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "nullable",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "required",
    "type",
];

/// Returns `true` if `schema` has keywords that determine a type, other than `except`.
pub(super) fn tells_more_than(schema: &Map<String, Value>, except: &str) -> bool {
    TYPE_KEYWORDS
        .iter()
        .any(|&key| key != except && schema.contains_key(key))
}

impl<'a> Facets<'a> {
    /// Adds all keywords except `allOf` and `$ref`, which lead to other schemas.
    pub(super) fn add(&mut self, schema: &'a Map<String, Value>) {
        self.schemas.push(schema);
        self.is_nullable |= schema.get("nullable") == Some(&Value::Bool(true));
        if let Some(kinds) = schema.get("type").and_then(kinds) {
            self.narrow_kinds(kinds);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            self.narrow_literals(values.iter().collect());
        }
        if let Some(value) = schema.get("const") {
            self.narrow_literals(vec![value]);
        }
        self.add_members(schema);
        self.add_elements(schema);
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = schema.get(key)
                && !members.is_empty()
            {
                self.unions.push(members);
            }
        }
    }

    /// Returns `true` if a keyword describes an object's members.
    pub(super) fn is_about_objects(&self) -> bool {
        self.has_properties || !self.others.is_empty()
    }

    /// Returns `true` if a keyword describes an array's elements.
    pub(super) fn is_about_arrays(&self) -> bool {
        self.tuple.is_some() || !self.items.is_empty()
    }

    /// Adds members for required names without a schema. Must be called only for objects, because
    /// `required` does not apply to other values.
    pub(super) fn list_required(&mut self) {
        for name in std::mem::take(&mut self.required_in_order) {
            self.add_member(name, None);
        }
    }

    fn add_member(&mut self, name: &'a str, schema: Option<&'a Value>) {
        let place = *self.places.entry(name).or_insert_with(|| {
            self.properties.push((name, Vec::new()));
            self.properties.len() - 1
        });
        self.properties[place].1.extend(schema);
    }

    fn add_members(&mut self, schema: &'a Map<String, Value>) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.has_properties = true;
            for (name, property) in properties {
                self.add_member(name, Some(property));
            }
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            for name in required.iter().filter_map(Value::as_str) {
                if self.required.insert(name) {
                    self.required_in_order.push(name);
                }
            }
        }
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            self.others.extend(patterns.values());
        }
        if let Some(others @ (Value::Object(_) | Value::Bool(true))) =
            schema.get("additionalProperties")
        {
            self.others.push(others);
        }
    }

    /// Adds the elements of a tuple: `prefixItems` with `items` for the rest, or in older drafts
    /// `items` with `additionalItems`.
    fn add_elements(&mut self, schema: &'a Map<String, Value>) {
        let items = schema.get("items");
        let (elements, rest) = match (schema.get("prefixItems"), items) {
            (Some(Value::Array(elements)), _) if !elements.is_empty() => (elements, items),
            (_, Some(Value::Array(elements))) if !elements.is_empty() => {
                (elements, schema.get("additionalItems"))
            }
            (_, Some(items @ (Value::Object(_) | Value::Bool(_)))) => {
                self.items.push(items);
                return;
            }
            _ => return,
        };
        let min = schema.get("minItems").and_then(Value::as_u64);
        self.tuple.get_or_insert(Tuple {
            elements,
            rest: rest.filter(|rest| matches!(rest, Value::Object(_) | Value::Bool(true))),
            min: min.map_or(elements.len(), |min| {
                usize::try_from(min).unwrap_or(usize::MAX)
            }),
        });
    }

    fn narrow_kinds(&mut self, kinds: Vec<SchemaType>) {
        match &mut self.kinds {
            Some(before) => before.retain(|kind| kinds.contains(kind)),
            none => *none = Some(kinds),
        }
    }

    fn narrow_literals(&mut self, literals: Vec<&'a Value>) {
        match &mut self.literals {
            Some(before) => {
                let allowed: HashSet<_> = literals.iter().map(|value| literal_key(value)).collect();
                before.retain(|value| allowed.contains(&literal_key(value)));
            }
            none => *none = Some(literals),
        }
    }
}

/// Returns a key that distinguishes literals. All objects and arrays have the same key, because
/// their text is the same.
fn literal_key(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) | Value::Array(_) => None,
        scalar => Some(scalar.to_string()),
    }
}

/// Returns the types that the keyword lists, or `None` if it is not valid.
fn kinds(value: &Value) -> Option<Vec<SchemaType>> {
    let names = match value {
        Value::String(_) => std::slice::from_ref(value),
        Value::Array(names) if !names.is_empty() => names.as_slice(),
        _ => return None,
    };
    let mut kinds = Vec::new();
    for name in names {
        let kind = match name.as_str() {
            Some("string") => SchemaType::String,
            Some("number" | "integer") => SchemaType::Number,
            Some("boolean") => SchemaType::Boolean,
            Some("null") => SchemaType::Null,
            Some("object") => SchemaType::Object,
            Some("array") => SchemaType::Array,
            _ => SchemaType::Unknown,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Some(kinds)
}
