//! Decides which rows and which parts of strings are cut.
//!
//! Each value gets a character budget from its container. An object divides its budget among its
//! members: the largest are shortened to a common size, and strings are cut only if removing rows
//! is not enough. An array keeps the rows that fit; an array of a few large rows divides its budget
//! like an object if removing rows inside them is enough. An object with so many members that
//! dividing does not help loses members in the same way as an array loses rows. The number of
//! markers is limited.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::count;
use super::escapes::whole_escapes;
use super::listing::Listing;
use super::main_array::{Main, largest_array};
use super::tree::{Floors, Node, NodeKind};
use crate::budget::FitContext;
use crate::budget::keep::{KeepBudget, KeepSet};
use crate::budget::marker::{Gap, MarkerUnit};
use crate::budget::notes::NotedText;
use crate::prune::Fallback;

/// The maximum number of markers in one text, and the characters of the budget required for each.
const MOST_GAPS: usize = 400;
const CHARS_PER_GAP: usize = 60;
/// The maximum number of rows of an array that may all be kept in part.
const FEW_ROWS: usize = 8;
/// The minimum number of characters that make part of a value useful.
const LEAST_PART: usize = 600;
/// The minimum number of characters that are left of a cut string.
const LEAST_STRING: usize = 100;

/// A part to remove, as a span in the text with notes.
#[derive(Clone)]
pub(super) struct JsonCut {
    pub(super) span: Range<usize>,
    pub(super) what: CutKind,
}

#[derive(Clone)]
pub(super) enum CutKind {
    /// Children `first` to `last` of the `total` children of a container, counted from 1.
    Children {
        kind: NodeKind,
        /// The start of the container.
        container: usize,
        first: usize,
        last: usize,
        total: usize,
    },
    /// Characters inside a string.
    Chars,
}

impl CutKind {
    pub(super) fn unit(&self) -> MarkerUnit {
        match self {
            CutKind::Children {
                kind: NodeKind::Object,
                ..
            } => MarkerUnit::Keys,
            CutKind::Children { .. } => MarkerUnit::Rows,
            CutKind::Chars => MarkerUnit::Chars,
        }
    }
}

/// Returns a marker in its JSON form: a string among rows, a member among members, or part of a
/// string.
pub(super) fn in_json(what: &CutKind, marker: &str) -> String {
    // Serialising a string to JSON cannot fail.
    let quoted = serde_json::to_string(marker).unwrap_or_default();
    match what {
        CutKind::Children {
            kind: NodeKind::Object,
            ..
        } => format!("{quoted}:null"),
        CutKind::Children { .. } => quoted,
        CutKind::Chars => quoted.trim_matches('"').to_owned(),
    }
}

pub(super) struct Planner<'a> {
    noted: &'a NotedText,
    work: &'a FitContext<'a>,
    chars: usize,
    root: Option<Node>,
    char_marker: usize,
    /// The weight of a marker, as a ratio.
    weight: (usize, usize),
    /// The children of containers, cached after the first use.
    listings: HashMap<usize, Rc<Listing>>,
    cuts: Vec<JsonCut>,
}

/// The number of characters that a value was reduced to, or `None` if it cannot be reduced enough.
type Reached = Result<Option<usize>, Fallback>;

impl<'a> Planner<'a> {
    /// Creates a planner for a text with notes, whose original has `chars` characters.
    pub(super) fn new(noted: &'a NotedText, chars: usize, work: &'a FitContext<'a>) -> Planner<'a> {
        let cost = |what: &CutKind| marker_cost(what, chars);
        let rows = CutKind::Children {
            kind: NodeKind::Array,
            container: 0,
            first: 0,
            last: 0,
            total: 0,
        };
        let char_marker = cost(&CutKind::Chars);
        let floors = Floors {
            array: 2 + cost(&rows),
            string: 2 + char_marker + LEAST_STRING,
        };
        Planner {
            noted,
            work,
            chars,
            root: Node::read(&noted.text, floors),
            char_marker,
            weight: (1, 1),
            listings: HashMap::new(),
            cuts: Vec::new(),
        }
    }

    /// Returns the number of characters of the original.
    pub(super) fn chars(&self) -> usize {
        self.chars
    }

    /// Returns the cuts, in order, that reduce the text to `budget` characters.
    ///
    /// `weight` is the ratio of the text's size before and after a later conversion. Markers count
    /// more by this ratio, because the conversion does not shorten them.
    pub(super) fn plan(
        &mut self,
        budget: usize,
        weight: (usize, usize),
    ) -> Result<Option<Vec<JsonCut>>, Fallback> {
        let Some(root) = self.root.take() else {
            return Ok(None);
        };
        self.cuts.clear();
        self.weight = weight;
        let gaps = (self.work.order.max_chars / CHARS_PER_GAP).clamp(3, MOST_GAPS);
        let reached = self.fit(&root, budget, gaps);
        self.root = Some(root);
        let mut cuts = std::mem::take(&mut self.cuts);
        cuts.sort_unstable_by_key(|cut| cut.span.start);
        Ok(reached?.map(|_| cuts))
    }

    /// Reduces a node to `budget` characters. The depth of the tree bounds the recursion.
    fn fit(&mut self, node: &Node, budget: usize, gaps: usize) -> Reached {
        self.work.check()?;
        if node.chars <= budget {
            return Ok(Some(node.chars));
        }
        if node.kind == NodeKind::Text {
            return Ok(self.cut_string(node, budget));
        }
        let mode = (0..2).find(|&mode| node.least_of_children(mode) <= budget);
        let shares = match node.kind {
            NodeKind::Array => mode.filter(|&mode| mode == 0 && node.children <= FEW_ROWS),
            _ => mode,
        };
        if let Some(mode) = shares {
            let before = self.cuts.len();
            if let Some(chars) = self.share(node, budget, gaps, mode)? {
                return Ok(Some(chars));
            }
            self.cuts.truncate(before);
        }
        self.drop_children(node, budget, gaps)
    }

    /// Shortens the largest children to a common size.
    fn share(&mut self, node: &Node, budget: usize, gaps: usize, mode: usize) -> Reached {
        let large: usize = node.nodes.iter().map(|child| child.chars).sum();
        let small = node.chars - large;
        let mut room = budget.saturating_sub(small);
        let share = |child: &Node, level: usize| level.clamp(child.least[mode], child.chars);
        let sum = |level: usize| -> usize { node.nodes.iter().map(|it| share(it, level)).sum() };
        let (mut fits, mut exceeds) = (0, budget + 1);
        while exceeds - fits > 1 {
            let level = fits.midpoint(exceeds);
            match sum(level) <= room {
                true => fits = level,
                false => exceeds = level,
            }
        }
        let (mut heavy, light): (Vec<&Node>, Vec<&Node>) =
            (node.nodes.iter()).partition(|child| share(child, fits) < child.chars);
        if heavy.len() > gaps || heavy.is_empty() {
            return Ok(None);
        }
        let light: usize = light.iter().map(|child| child.chars).sum();
        room = room.saturating_sub(light);
        // The smallest child is first, so that the room it leaves goes to the others.
        heavy.sort_by_key(|child| child.chars);
        let mut reserved: usize = heavy.iter().map(|child| child.least[mode]).sum();
        let mut reached = small + light;
        for (nth, child) in heavy.iter().enumerate() {
            reserved -= child.least[mode];
            let equal = room / (heavy.len() - nth);
            let most = room.saturating_sub(reserved);
            let share = equal.clamp(child.least[mode].min(most), most);
            let Some(chars) = self.fit(child, share, gaps / heavy.len())? else {
                return Ok(None);
            };
            room -= chars;
            reached += chars;
        }
        Ok(Some(reached))
    }

    /// Keeps the children that fit, the best first.
    fn drop_children(&mut self, node: &Node, budget: usize, gaps: usize) -> Reached {
        let listing = self.listing(node)?;
        let total = listing.sums.len() - 1;
        let gap = |first: usize, last: usize| CutKind::Children {
            kind: node.kind,
            container: node.span.start,
            first,
            last,
            total,
        };
        let marker = marker_cost(&gap(0, 0), total) + 1;
        // The comma that the last child lacks pays for one of the two brackets.
        let room = KeepBudget {
            cost: budget.saturating_sub(1),
            gaps,
        };
        if marker > room.cost {
            return Ok(None);
        }
        let weighty = scaled(marker, self.weight.0, self.weight.1);
        let marker = weighty.min(room.cost / 2).max(marker);
        let mut keep_set = KeepSet::new(&listing.sums, marker);
        let single = |&at: &u32| at as usize..at as usize + 1;
        keep_set.fill(|| listing.order.iter().map(single), room);
        self.keep_a_part(node, &listing, &mut keep_set, room)?;
        for span in keep_set.kept_not() {
            let bytes = listing.starts[span.start] as usize..listing.starts[span.end] as usize - 1;
            self.cuts.push(JsonCut {
                span: bytes,
                what: gap(span.start + 1, span.end),
            });
        }
        Ok(Some(keep_set.used() + 1))
    }

    /// Keeps part of the next best child if it is too large and most of the room is left.
    fn keep_a_part(
        &mut self,
        node: &Node,
        listing: &Listing,
        keep_set: &mut KeepSet<'_>,
        room: KeepBudget,
    ) -> Result<(), Fallback> {
        let mut order = listing.order.iter().map(|&at| at as usize);
        let Some(at) = order.find(|&at| !keep_set.is_kept(at)) else {
            return Ok(());
        };
        let Some(child) = node.nodes.iter().find(|child| child.index == at) else {
            return Ok(());
        };
        let used = keep_set.used_beside(at);
        let key = child.span.start - listing.starts[at] as usize;
        let left = room.cost.saturating_sub(used + key + 1);
        if left < LEAST_PART || left < room.cost / 2 {
            return Ok(());
        }
        let gaps = room.gaps.saturating_sub(keep_set.gaps()).max(1);
        let before = self.cuts.len();
        match self.fit(child, left, gaps)? {
            Some(chars) => keep_set.keep_at(at, chars + key + 1),
            None => self.cuts.truncate(before),
        }
        Ok(())
    }

    fn cut_string(&mut self, node: &Node, budget: usize) -> Option<usize> {
        let kept = budget.checked_sub(2 + self.char_marker)?;
        if kept < LEAST_STRING {
            return None;
        }
        let inside = node.span.start + 1..node.span.end - 1;
        let text = &self.noted.text[inside.clone()];
        let middle = count::middle(text, kept.div_ceil(2), kept / 2);
        let middle = whole_escapes(text, middle);
        let span = inside.start + middle.start..inside.start + middle.end;
        let span = self.noted.around_notes(span);
        let gone = count::chars(&self.noted.text[span.clone()]);
        self.cuts.push(JsonCut {
            span,
            what: CutKind::Chars,
        });
        Some(node.chars - gone + self.char_marker)
    }

    /// Returns the children of a container, reading them only once.
    fn listing(&mut self, node: &Node) -> Result<Rc<Listing>, Fallback> {
        if let Some(listing) = self.listings.get(&node.span.start) {
            return Ok(Rc::clone(listing));
        }
        let listing = Rc::new(Listing::read(&self.noted.text, node, self.work)?);
        self.listings.insert(node.span.start, Rc::clone(&listing));
        Ok(listing)
    }

    /// Returns the main array: the root if it is an array, otherwise the largest array of objects.
    pub(super) fn main(&mut self) -> Result<Option<Main>, Fallback> {
        let Some(root) = self.root.take() else {
            return Ok(None);
        };
        let found = match root.kind {
            NodeKind::Array => Some((&root, "$".to_owned())),
            _ => largest_array(&self.noted.text, &root),
        };
        let main = found.map(|(node, path)| {
            let table = self.listing(node)?.table.clone();
            Ok(Main {
                container: node.span.start,
                path,
                table,
            })
        });
        self.root = Some(root);
        main.transpose()
    }
}

impl Node {
    /// Returns the minimum number of characters that the node needs if all children are kept in
    /// part.
    fn least_of_children(&self, mode: usize) -> usize {
        let large: usize = self.nodes.iter().map(|child| child.chars).sum();
        let least: usize = self.nodes.iter().map(|child| child.least[mode]).sum();
        self.chars - large + least
    }
}

/// Scales a number by a ratio.
pub(super) fn scaled(number: usize, by: usize, to: usize) -> usize {
    let product = number as u128 * by as u128 / to.max(1) as u128;
    usize::try_from(product).unwrap_or(usize::MAX)
}

/// Returns the largest cost of a marker in its JSON form.
fn marker_cost(what: &CutKind, total: usize) -> usize {
    let longest = Gap {
        unit: what.unit(),
        first: total,
        last: total,
        total,
    };
    count::chars(&in_json(what, &longest.short()))
}
