//! Which rows and which parts of strings go.
//!
//! From the top down, each value is given as many characters as it may have. An
//! object shares them out among its members: the largest come down to one level,
//! and strings are touched only where rows alone cannot do it. An array keeps the
//! rows that fit; one of a few large rows shares out like an object if only rows
//! within them have to go. An object of many members that no sharing can save
//! loses members as an array does rows. How many markers that takes is bounded.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::count;
use super::escapes::whole_escapes;
use super::listing::Listing;
use super::main_array::{Main, largest_array};
use super::tree::{Floors, Kind, Node};
use crate::budget::Work;
use crate::budget::keep::{Room, Shelf};
use crate::budget::marker::{Gap, Unit};
use crate::budget::notes::Noted;
use crate::prune::Fallback;

/// The most markers in one text, and how many characters of the budget there are
/// to be for each.
const MOST_GAPS: usize = 400;
const CHARS_PER_GAP: usize = 60;
/// An array of so many rows may keep them all.
const FEW_ROWS: usize = 8;
/// With fewer characters, a part of a value tells nothing.
const LEAST_PART: usize = 600;
/// What is left of a string that is cut, at least.
const LEAST_STRING: usize = 100;

/// Something that goes, in the text with notes.
#[derive(Clone)]
pub(super) struct Cut {
    pub(super) span: Range<usize>,
    pub(super) what: What,
}

#[derive(Clone)]
pub(super) enum What {
    /// Children of a container, from the first to the last of so many, counted
    /// from 1.
    Children {
        kind: Kind,
        /// Where the container begins.
        container: usize,
        first: usize,
        last: usize,
        total: usize,
    },
    /// Characters inside of a string.
    Chars,
}

impl What {
    pub(super) fn unit(&self) -> Unit {
        match self {
            What::Children {
                kind: Kind::Object, ..
            } => Unit::Keys,
            What::Children { .. } => Unit::Rows,
            What::Chars => Unit::Chars,
        }
    }
}

/// A marker as it stands in JSON: a string among rows, a member among members,
/// a part of a string.
pub(super) fn in_json(what: &What, marker: &str) -> String {
    // A string cannot fail to be JSON.
    let quoted = serde_json::to_string(marker).unwrap_or_default();
    match what {
        What::Children {
            kind: Kind::Object, ..
        } => format!("{quoted}:null"),
        What::Children { .. } => quoted,
        What::Chars => quoted.trim_matches('"').to_owned(),
    }
}

pub(super) struct Planner<'a> {
    noted: &'a Noted,
    work: &'a Work<'a>,
    chars: usize,
    root: Option<Node>,
    char_marker: usize,
    /// How much a marker weighs, as a ratio.
    weight: (usize, usize),
    /// The children of containers, as they were found the first time.
    listings: HashMap<usize, Rc<Listing>>,
    cuts: Vec<Cut>,
}

/// How many characters something was brought to; `None` if it cannot be.
type Reached = Result<Option<usize>, Fallback>;

impl<'a> Planner<'a> {
    /// For a text with notes that are made from an original of so many
    /// characters.
    pub(super) fn new(noted: &'a Noted, chars: usize, work: &'a Work<'a>) -> Planner<'a> {
        let cost = |what: &What| marker_cost(what, chars);
        let rows = What::Children {
            kind: Kind::Array,
            container: 0,
            first: 0,
            last: 0,
            total: 0,
        };
        let char_marker = cost(&What::Chars);
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

    /// How many characters the original has.
    pub(super) fn chars(&self) -> usize {
        self.chars
    }

    /// What has to go for the text to have no more than so many characters, in
    /// order.
    ///
    /// Where other characters will shrink by a ratio and those of markers will
    /// not, markers weigh that much more.
    pub(super) fn plan(
        &mut self,
        budget: usize,
        weight: (usize, usize),
    ) -> Result<Option<Vec<Cut>>, Fallback> {
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

    /// The depth of the tree bounds how often this calls itself.
    fn fit(&mut self, node: &Node, budget: usize, gaps: usize) -> Reached {
        self.work.check()?;
        if node.chars <= budget {
            return Ok(Some(node.chars));
        }
        if node.kind == Kind::Text {
            return Ok(self.cut_string(node, budget));
        }
        let mode = (0..2).find(|&mode| node.least_of_children(mode) <= budget);
        let shares = match node.kind {
            Kind::Array => mode.filter(|&mode| mode == 0 && node.children <= FEW_ROWS),
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

    /// Brings the largest children down to one level.
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
        // The smallest first: what those leave goes to the others.
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
        let gap = |first: usize, last: usize| What::Children {
            kind: node.kind,
            container: node.span.start,
            first,
            last,
            total,
        };
        let marker = marker_cost(&gap(0, 0), total) + 1;
        // Of the two brackets one is paid by the comma that the last one lacks.
        let room = Room {
            cost: budget.saturating_sub(1),
            gaps,
        };
        if marker > room.cost {
            return Ok(None);
        }
        let weighty = scaled(marker, self.weight.0, self.weight.1);
        let marker = weighty.min(room.cost / 2).max(marker);
        let mut shelf = Shelf::new(&listing.sums, marker);
        let single = |&at: &u32| at as usize..at as usize + 1;
        shelf.fill(|| listing.order.iter().map(single), room);
        self.keep_a_part(node, &listing, &mut shelf, room)?;
        for span in shelf.kept_not() {
            let bytes = listing.starts[span.start] as usize..listing.starts[span.end] as usize - 1;
            self.cuts.push(Cut {
                span: bytes,
                what: gap(span.start + 1, span.end),
            });
        }
        Ok(Some(shelf.used() + 1))
    }

    /// Where most of the room is left because the next best child is too large,
    /// a part of that one is kept.
    fn keep_a_part(
        &mut self,
        node: &Node,
        listing: &Listing,
        shelf: &mut Shelf<'_>,
        room: Room,
    ) -> Result<(), Fallback> {
        let mut order = listing.order.iter().map(|&at| at as usize);
        let Some(at) = order.find(|&at| !shelf.is_kept(at)) else {
            return Ok(());
        };
        let Some(child) = node.nodes.iter().find(|child| child.index == at) else {
            return Ok(());
        };
        let used = shelf.used_beside(at);
        let key = child.span.start - listing.starts[at] as usize;
        let left = room.cost.saturating_sub(used + key + 1);
        if left < LEAST_PART || left < room.cost / 2 {
            return Ok(());
        }
        let gaps = room.gaps.saturating_sub(shelf.gaps()).max(1);
        let before = self.cuts.len();
        match self.fit(child, left, gaps)? {
            Some(chars) => shelf.keep_at(at, chars + key + 1),
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
        self.cuts.push(Cut {
            span,
            what: What::Chars,
        });
        Some(node.chars - gone + self.char_marker)
    }

    /// The children of a container, found once.
    fn listing(&mut self, node: &Node) -> Result<Rc<Listing>, Fallback> {
        if let Some(listing) = self.listings.get(&node.span.start) {
            return Ok(Rc::clone(listing));
        }
        let listing = Rc::new(Listing::read(&self.noted.text, node, self.work)?);
        self.listings.insert(node.span.start, Rc::clone(&listing));
        Ok(listing)
    }

    /// The array whose rows the text is about: the text itself, else the largest
    /// array of objects.
    pub(super) fn main(&mut self) -> Result<Option<Main>, Fallback> {
        let Some(root) = self.root.take() else {
            return Ok(None);
        };
        let found = match root.kind {
            Kind::Array => Some((&root, "$".to_owned())),
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
    /// The fewest characters if all of the children stay in part.
    fn least_of_children(&self, mode: usize) -> usize {
        let large: usize = self.nodes.iter().map(|child| child.chars).sum();
        let least: usize = self.nodes.iter().map(|child| child.least[mode]).sum();
        self.chars - large + least
    }
}

/// A number by a ratio.
pub(super) fn scaled(number: usize, by: usize, to: usize) -> usize {
    let product = number as u128 * by as u128 / to.max(1) as u128;
    usize::try_from(product).unwrap_or(usize::MAX)
}

/// What a marker costs at most where it stands in JSON.
fn marker_cost(what: &What, total: usize) -> usize {
    let longest = Gap {
        unit: what.unit(),
        first: total,
        last: total,
        total,
    };
    count::chars(&in_json(what, &longest.short()))
}
