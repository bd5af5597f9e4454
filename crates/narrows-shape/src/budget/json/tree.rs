//! What is large in a JSON text: the containers and strings in which something
//! can be cut. What is small has no node, so that the tree is much smaller than
//! the text.

use std::ops::Range;

use super::count;
use crate::json::string_end;

/// Nothing is cut inside of what has fewer bytes than this.
const SMALL: usize = 256;
/// Nothing is cut inside of what is deeper than this; it goes as a whole.
const LEVELS: usize = 64;

/// A large value in compact JSON.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) chars: usize,
    pub(super) kind: Kind,
    /// Where the key of a member stands, with its quotes; empty in arrays.
    pub(super) key: Range<usize>,
    /// Its place in its container, from 0.
    pub(super) index: usize,
    /// The large ones of its children.
    pub(super) nodes: Vec<Node>,
    /// How many children there are.
    pub(super) children: usize,
    /// The fewest characters it can be brought to: if only rows of arrays go,
    /// and if strings are cut, too.
    pub(super) least: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Object,
    Text,
}

/// The fewest characters that an array and a string can be brought to.
#[derive(Clone, Copy)]
pub(super) struct Floors {
    pub(super) array: usize,
    pub(super) string: usize,
}

impl Node {
    /// The tree of a compact and valid text, if it is large.
    pub(super) fn read(json: &str, floors: Floors) -> Option<Node> {
        let bytes = json.as_bytes();
        // A container around all, which the value of the text is put into.
        let mut open = vec![Open::new(Kind::Array, 0)];
        let (mut at, mut too_deep) = (0, 0_usize);
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            let levels = open.len();
            let top = open.last_mut()?;
            match byte {
                b'"' => {
                    at = string_end(bytes, start);
                    if too_deep == 0 && bytes.get(at) == Some(&b':') {
                        top.key = start..at;
                    } else if too_deep == 0 && at - start >= SMALL {
                        let text = Open::new(Kind::Text, start);
                        let node = text.close(json, at, top, floors);
                        top.nodes.push(node);
                    }
                }
                b'[' | b'{' if levels > LEVELS => too_deep += 1,
                b']' | b'}' if too_deep > 0 => too_deep -= 1,
                b'[' => open.push(Open::new(Kind::Array, start)),
                b'{' => open.push(Open::new(Kind::Object, start)),
                b']' | b'}' => {
                    let closed = open.pop()?;
                    let around = open.last_mut()?;
                    if at - closed.start >= SMALL {
                        let node = closed.close(json, at, around, floors);
                        around.nodes.push(node);
                    }
                }
                b',' if too_deep == 0 => top.index += 1,
                _ => {}
            }
        }
        open.pop()?.nodes.pop()
    }
}

/// A container whose end is not yet seen.
struct Open {
    kind: Kind,
    start: usize,
    nodes: Vec<Node>,
    /// Of the child at hand.
    key: Range<usize>,
    index: usize,
}

impl Open {
    fn new(kind: Kind, start: usize) -> Open {
        Open {
            kind,
            start,
            nodes: Vec::new(),
            key: 0..0,
            index: 0,
        }
    }

    fn close(self, json: &str, end: usize, around: &Open, floors: Floors) -> Node {
        let span = self.start..end;
        let chars = count::chars(&json[span.clone()]);
        let large: usize = self.nodes.iter().map(|node| node.chars).sum();
        let least = [0, 1].map(|mode| match (self.kind, mode) {
            (Kind::Text, 0) => chars,
            (Kind::Text, _) => floors.string,
            (Kind::Array, _) => floors.array,
            (Kind::Object, _) => {
                let least = self.nodes.iter().map(|node| node.least[mode]);
                chars - large + least.sum::<usize>()
            }
        });
        Node {
            span,
            chars,
            kind: self.kind,
            key: around.key.clone(),
            index: around.index,
            nodes: self.nodes,
            children: self.index + 1,
            least: least.map(|least| least.min(chars)),
        }
    }
}

/// Where the children of a container begin, with their keys, and where one more
/// would: each is followed by one byte, a comma or the closing bracket.
pub(super) fn children(json: &str, container: &Range<usize>) -> Vec<u32> {
    let bytes = &json.as_bytes()[..container.end];
    let mut starts = vec![container.start as u32 + 1];
    let (mut at, mut depth) = (container.start + 1, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => starts.push(at as u32 + 1),
            _ => {}
        }
        at += 1;
    }
    starts.push(container.end as u32);
    starts
}
