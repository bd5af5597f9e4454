//! Limits on the work that a schema can cause.
//!
//! A few lines of schema can cause years of work, for example `allOf` with two references, each to
//! another `allOf` with two references, and so on, or a recursive schema that applies itself twice
//! at each level of the arguments. A chain of references can also exhaust the stack. When a schema
//! is compiled, the worst case is computed for each depth of arguments, with the same steps as the
//! validator. Arguments deeper than the limits allow are not checked.

use std::collections::HashMap;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::keywords::{IN_PLACE_LISTS, IN_PLACE_MAPS, REFERENCES, resolve};

/// The maximum number of schemas applied on the path to one value of the arguments.
const MAX_VISITS: u64 = 10_000;

/// The maximum nesting of applied schemas. Each level uses stack.
const MAX_HEIGHT: usize = 500;

/// The maximum nesting of schemas that apply to the same value.
const MAX_IN_PLACE: usize = 60;

/// The maximum number of steps from value to value in all schemas together.
const MAX_STEPS: usize = 100_000;

/// The maximum depth of arguments. Deeper JSON cannot be parsed.
const MAX_DEPTH: usize = 128;

/// The worst-case cost of checking arguments.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// The maximum depth of arguments at which the cost stays within the limits.
    pub(super) deepest: usize,
    /// The maximum number of schemas applied on the path to one value at this depth.
    pub(super) visits: u64,
}

/// Upper bounds of the keywords in a schema. A property with the name of a keyword is counted too.
pub(super) struct SchemaCounts {
    /// Regular expressions.
    pub(super) patterns: usize,
    /// `anyOf` and `oneOf` keywords.
    pub(super) choices: usize,
}

/// Computes the cost of a schema. Fails if even flat arguments exceed the limits.
pub(super) fn estimate(root: &Value, draft: Draft) -> Result<Effort, String> {
    let mut survey = SchemaWalk {
        root,
        identifier: match draft {
            Draft::Draft4 => "id",
            _ => "$id",
        },
        places: vec![root],
        known: HashMap::from([(std::ptr::from_ref(root), 0)]),
        levels: Vec::new(),
        steps: 0,
    };
    while let Some(place) = survey.places.get(survey.levels.len()) {
        let mut level = SchemaLevel::default();
        survey.apply(place, &mut level, &mut Vec::new(), 1)?;
        survey.levels.push(level);
    }
    match compute(&survey.levels) {
        Effort { deepest: 0, .. } => Err("checking it takes too much work".into()),
        effort => Ok(effort),
    }
}

/// Counts the keywords in a single pass over the schema.
pub(super) fn count(schema: &Value) -> SchemaCounts {
    let (mut patterns, mut choices) = (0, 0);
    let mut left = vec![schema];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(members) => {
                let by_pattern = members.get("patternProperties").and_then(Value::as_object);
                patterns += by_pattern.map_or(0, Map::len);
                patterns += usize::from(members.get("pattern").is_some_and(Value::is_string));
                choices += usize::from(members.contains_key("anyOf"));
                choices += usize::from(members.contains_key("oneOf"));
                left.extend(members.values());
            }
            Value::Array(elements) => left.extend(elements),
            _ => {}
        }
    }
    SchemaCounts { patterns, choices }
}

/// All schemas that one schema applies to a value and to its members or elements.
#[derive(Default)]
struct SchemaLevel<'v> {
    /// The number of schemas applied to the value itself, counting repetitions.
    visits: u64,
    /// The maximum nesting of these schemas.
    height: usize,
    /// Schemas for a specific member or element.
    some: HashMap<Step<'v>, Vec<usize>>,
    /// Schemas for any member.
    members: Vec<usize>,
    /// Schemas for any element.
    elements: Vec<usize>,
}

#[derive(PartialEq, Eq, Hash)]
enum Step<'v> {
    Member(&'v str),
    Element(usize),
}

struct SchemaWalk<'v> {
    root: &'v Value,
    /// The keyword that gives a schema its own base URI.
    identifier: &'static str,
    /// The schemas that are applied to a nested value, in the order in which they were found.
    places: Vec<&'v Value>,
    known: HashMap<*const Value, usize>,
    levels: Vec<SchemaLevel<'v>>,
    steps: usize,
}

impl<'v> SchemaWalk<'v> {
    /// Adds a schema and everything that it applies to the same value. Recurses at most
    /// [`MAX_IN_PLACE`] levels deep.
    fn apply(
        &mut self,
        schema: &'v Value,
        level: &mut SchemaLevel<'v>,
        within: &mut Vec<*const Value>,
        times: u64,
    ) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            level.visits += times;
            return Ok(());
        };
        let itself = std::ptr::from_ref(schema);
        // The validator also stops at such cycles.
        if within.contains(&itself) {
            return Ok(());
        }
        // Below a schema with its own base URI, references resolve differently, which is not
        // supported here.
        if !std::ptr::eq(schema, self.root)
            && keywords.get(self.identifier).is_some_and(Value::is_string)
        {
            return Err("a subschema has its own base URI".into());
        }
        within.push(itself);
        level.visits += times;
        level.height = level.height.max(within.len());
        if level.visits > MAX_VISITS || within.len() > MAX_IN_PLACE {
            return Err("too many schemas apply to one value".into());
        }
        self.descend(keywords, level)?;
        // The validator finds the unevaluated members by applying all schemas again.
        let leftover = |name| keywords.contains_key(name);
        let times = match leftover("unevaluatedProperties") || leftover("unevaluatedItems") {
            true => times * 3,
            false => times,
        };
        for inner in in_place(keywords) {
            self.apply(inner, level, within, times)?;
        }
        for keyword in REFERENCES {
            let Some(reference) = keywords.get(keyword) else {
                continue;
            };
            let target = resolve(self.root, reference)
                .ok_or_else(|| "it has an external or unresolvable reference".to_string())?;
            self.apply(target, level, within, times)?;
        }
        within.pop();
        Ok(())
    }

    /// Records the schemas that apply to members and elements of the value.
    fn descend(
        &mut self,
        keywords: &'v Map<String, Value>,
        level: &mut SchemaLevel<'v>,
    ) -> Result<(), String> {
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties {
                        let place = self.place(schema)?;
                        level
                            .some
                            .entry(Step::Member(name))
                            .or_default()
                            .push(place);
                    }
                }
                ("patternProperties", Value::Object(patterns)) => {
                    for schema in patterns.values() {
                        level.members.push(self.place(schema)?);
                    }
                }
                ("additionalProperties" | "unevaluatedProperties", schema) => {
                    level.members.push(self.place(schema)?);
                }
                ("items" | "prefixItems", Value::Array(schemas)) => {
                    for (position, schema) in schemas.iter().enumerate() {
                        let place = self.place(schema)?;
                        level
                            .some
                            .entry(Step::Element(position))
                            .or_default()
                            .push(place);
                    }
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", schema) => {
                    level.elements.push(self.place(schema)?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&mut self, schema: &'v Value) -> Result<usize, String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err("it has too many subschemas".into());
        }
        let next = self.places.len();
        let place = *self.known.entry(std::ptr::from_ref(schema)).or_insert(next);
        if place == next {
            self.places.push(schema);
        }
        Ok(place)
    }
}

/// Returns the schemas that apply to the same value.
fn in_place(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let single = ["not", "if", "then", "else", "propertyNames"];
    let single = single.into_iter().filter_map(|name| keywords.get(name));
    let lists = IN_PLACE_LISTS
        .into_iter()
        .filter_map(|name| keywords.get(name)?.as_array());
    let maps = IN_PLACE_MAPS
        .into_iter()
        .filter_map(|name| keywords.get(name)?.as_object());
    single
        .chain(lists.flatten())
        .chain(maps.flat_map(Map::values))
}

/// Returns the greatest depth at which both limits are met, computed from the leaves up.
fn compute(levels: &[SchemaLevel<'_>]) -> Effort {
    // The cost at depth 0: scalar values.
    let mut worst: Vec<(u64, usize)> = levels
        .iter()
        .map(|level| (level.visits, level.height))
        .collect();
    for depth in 1..=MAX_DEPTH {
        let next: Vec<(u64, usize)> = levels.iter().map(|level| above(level, &worst)).collect();
        let (visits, height) = next[0];
        if visits > MAX_VISITS || height > MAX_HEIGHT {
            return Effort {
                deepest: depth - 1,
                visits: worst[0].0,
            };
        }
        if next == worst {
            // The cost no longer grows, because the schema describes no deeper values.
            break;
        }
        worst = next;
    }
    Effort {
        deepest: MAX_DEPTH,
        visits: worst[0].0,
    }
}

/// Returns the cost of a level, including its most expensive member or element.
fn above(level: &SchemaLevel<'_>, below: &[(u64, usize)]) -> (u64, usize) {
    let sum = |places: &[usize]| {
        places.iter().fold((0_u64, 0), |(visits, height), place| {
            let (more, high) = below[*place];
            (visits.saturating_add(more), height.max(high))
        })
    };
    let members = sum(&level.members);
    let elements = sum(&level.elements);
    let dearest = |so_far: (u64, usize), (step, places): (&Step<'_>, &Vec<usize>)| {
        let own = sum(places);
        let others = match step {
            Step::Member(_) => members,
            Step::Element(_) => elements,
        };
        (
            so_far.0.max(own.0.saturating_add(others.0)),
            so_far.1.max(own.1).max(others.1),
        )
    };
    let start = (members.0.max(elements.0), members.1.max(elements.1));
    let (visits, height) = level.some.iter().fold(start, dearest);
    (level.visits.saturating_add(visits), level.height + height)
}
