//! References: their targets are written inline, or by name if they contain themselves, would be
//! repeated too often, or are nested too deep.

use std::collections::HashSet;

use serde_json::Value;

use super::super::name;
use super::super::text::Type;
use super::{Renderer, Target};

/// The depth from which targets of references get a name and are written at the end, so that a long
/// chain of references does not reach the depth limit.
const NAMED_DEPTH: usize = 24;

/// The maximum amount of text, in bytes, that references may repeat before their targets get names
/// instead. Real schemas repeat a few hundred bytes. A chain of twenty types that each refer to the
/// next twice would repeat a million times as much.
const MAX_REPEATED: usize = 16 << 10;

/// The state of a reference's target.
pub(super) enum Progress {
    /// The target was mentioned by this name and will be written later.
    Waiting { name: String },
    /// The target is being written and began at this shelter. It gets a name once it turns out to
    /// contain itself.
    UnderWay {
        shelter: usize,
        name: Option<String>,
    },
    Written {
        form: ReferenceForm,
        /// Types under way that this one contains without shelter. The type cannot be used where
        /// one of them is still under way and there is no shelter either.
        bare: Vec<Target>,
    },
}

pub(super) enum ReferenceForm {
    Inline(Type),
    Named(String),
}

/// The use of a type name.
pub(super) enum Use {
    /// A declared type, and the number of other types that wanted the same name.
    Declared {
        others: usize,
    },
    Unresolved {
        others: usize,
    },
}

impl<'a> Renderer<'a> {
    pub(super) fn reference(&mut self, reference: &str) -> Type {
        match resolve(self.root, reference) {
            Some(target) => self.target(target, &name::last_segment(reference)),
            None => self.unresolved(reference),
        }
    }

    pub(super) fn unresolved(&mut self, reference: &str) -> Type {
        let segment = name::last_segment(reference);
        if !name::is_type_name(&segment) {
            return Type::unknown();
        }
        match self.names.get(&segment) {
            Some(Use::Unresolved { .. }) => {}
            Some(Use::Declared { .. }) => return Type::unknown(),
            None => {
                let unresolved = Use::Unresolved { others: 0 };
                self.names.insert(segment.clone(), unresolved);
                self.unresolved.push(segment.clone());
            }
        }
        self.named += 1;
        Type::of(segment)
    }

    /// Returns the type of a reference's target, inline or by name.
    pub(super) fn target(&mut self, schema: &'a Value, segment: &str) -> Type {
        let target: Target = schema;
        let name = match self.targets.get(&target) {
            Some(Progress::UnderWay { .. }) => {
                return match self.mention(target, segment) {
                    Some(name) => Type::of(name),
                    // The type would be defined as itself, which has no meaning.
                    None => Type::unknown(),
                };
            }
            Some(Progress::Written { .. }) => return self.repeat(target, segment),
            Some(Progress::Waiting { name }) => Some(name.clone()),
            None => None,
        };
        // The target is not known yet, so a position without shelter is not safe: a type under way
        // might then be defined as itself.
        let is_sheltered = self.under_way.last().is_none_or(|&at| at < self.shelter);
        if self.depth < NAMED_DEPTH || !is_sheltered {
            return self.write_target(schema, name);
        }
        let name = name.unwrap_or_else(|| {
            let name = self.fresh_name(segment);
            let waiting = Progress::Waiting { name: name.clone() };
            self.targets.insert(target, waiting);
            self.waiting.push(schema);
            name
        });
        self.named += 1;
        Type::of(name)
    }

    pub(super) fn write_target(&mut self, schema: &'a Value, name: Option<String>) -> Type {
        let target: Target = schema;
        let shelter = self.shelter;
        let mentions = self.mentions.len();
        self.targets
            .insert(target, Progress::UnderWay { shelter, name });
        self.under_way.push(shelter);
        let written = self.deeper(|this| this.schema(schema, None));
        self.under_way.pop();
        let Some(Progress::UnderWay { name, .. }) = self.targets.remove(&target) else {
            return written;
        };
        let bare = self.settle_mentions(mentions, target);
        let (form, shown) = match name {
            Some(name) => {
                self.declarations.push((name.clone(), written.into_text()));
                self.named += 1;
                (ReferenceForm::Named(name.clone()), Type::of(name))
            }
            None => (ReferenceForm::Inline(written.clone()), written),
        };
        self.targets
            .insert(target, Progress::Written { form, bare });
        shown
    }

    /// Returns the name of a type under way, unless the type would be defined as itself.
    fn mention(&mut self, target: Target, segment: &str) -> Option<String> {
        let Some(Progress::UnderWay { shelter, name }) = self.targets.get(&target) else {
            return None;
        };
        if *shelter == self.shelter {
            return None;
        }
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let fresh = self.fresh_name(segment);
                if let Some(Progress::UnderWay { name, .. }) = self.targets.get_mut(&target) {
                    *name = Some(fresh.clone());
                }
                fresh
            }
        };
        self.mentions.push((target, self.shelter));
        self.named += 1;
        Some(name)
    }

    /// Repeats a type that has been written, or returns a name for it once the repetitions are too
    /// long.
    fn repeat(&mut self, target: Target, segment: &str) -> Type {
        let Some(open) = self.open_in(target) else {
            // A type under way would be defined as itself.
            return Type::unknown();
        };
        let shelter = self.shelter;
        self.mentions
            .extend(open.iter().map(|&open| (open, shelter)));
        let Some(Progress::Written { form, .. }) = self.targets.get(&target) else {
            return Type::unknown();
        };
        let inline = match form {
            ReferenceForm::Inline(inline) if self.repeated + inline.len() <= MAX_REPEATED => {
                self.repeated += inline.len();
                self.fuel = self.fuel.saturating_sub(inline.len());
                self.named += usize::from(!open.is_empty());
                return inline.clone();
            }
            ReferenceForm::Inline(inline) => inline.clone(),
            ReferenceForm::Named(name) => {
                self.named += 1;
                return Type::of(name.clone());
            }
        };
        let fresh = self.fresh_name(segment);
        self.declarations.push((fresh.clone(), inline.into_text()));
        if let Some(Progress::Written { form, .. }) = self.targets.get_mut(&target) {
            *form = ReferenceForm::Named(fresh.clone());
        }
        self.named += 1;
        Type::of(fresh)
    }

    /// Returns the types still under way that a written type contains without shelter, also
    /// indirectly. Returns `None` if one of them has no shelter here either.
    fn open_in(&self, target: Target) -> Option<Vec<Target>> {
        let mut open = Vec::new();
        let mut seen = HashSet::from([target]);
        let mut queue = vec![target];
        while let Some(next) = queue.pop() {
            match self.targets.get(&next) {
                Some(Progress::UnderWay { shelter, .. }) if *shelter == self.shelter => {
                    return None;
                }
                Some(Progress::UnderWay { .. }) => open.push(next),
                Some(Progress::Written { bare, .. }) => {
                    queue.extend(bare.iter().filter(|&&inner| seen.insert(inner)));
                }
                _ => {}
            }
        }
        Some(open)
    }

    /// Removes the mentions made inside `target` since `from`, and returns those without shelter.
    /// Enclosing types need only these.
    fn settle_mentions(&mut self, from: usize, target: Target) -> Vec<Target> {
        let mut bare = Vec::new();
        for (mentioned, shelter) in self.mentions.split_off(from) {
            if shelter == self.shelter && mentioned != target && !bare.contains(&mentioned) {
                bare.push(mentioned);
            }
        }
        let shelter = self.shelter;
        self.mentions
            .extend(bare.iter().map(|&bare| (bare, shelter)));
        bare
    }

    fn fresh_name(&mut self, segment: &str) -> String {
        let wanted = name::made_type_name(if segment.is_empty() { "Root" } else { segment });
        let mut name = wanted.clone();
        while self.names.contains_key(&name) {
            // Counting continues from the last number, because all names in a hostile schema may be
            // equal.
            let number = match self.names.get_mut(&wanted) {
                Some(Use::Declared { others } | Use::Unresolved { others }) => {
                    *others += 1;
                    *others + 1
                }
                None => 1,
            };
            name = format!("{wanted}{number}");
        }
        self.names.insert(name.clone(), Use::Declared { others: 0 });
        name
    }
}

/// Returns the schema in the same document that a reference refers to.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = name::pointer(reference)?;
    root.pointer(&pointer)
        // Some generators do not escape names.
        .or_else(|| root.pointer(reference.strip_prefix('#')?))
        .filter(|target| matches!(target, Value::Object(_) | Value::Bool(_)))
}
