//! The large values of a JSON text: containers and strings in which something can be cut. Small
//! values have no node, so that the tree is much smaller than the text.

use std::ops::Range;

use super::count;
use crate::json::string_end;

/// Values with fewer bytes than this are not cut inside.
const SMALL: usize = 256;
/// Values deeper than this are not cut inside, only removed as a whole.
const LEVELS: usize = 64;

/// A large value in compact JSON.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) chars: usize,
    pub(super) kind: NodeKind,
    /// The span of a member's key with its quotes; empty in arrays.
    pub(super) key: Range<usize>,
    /// The index in the container, counted from 0.
    pub(super) index: usize,
    /// The large children.
    pub(super) nodes: Vec<Node>,
    /// The number of all children.
    pub(super) children: usize,
    /// The minimum number of characters that the value can be reduced to: by removing rows only,
    /// and by cutting strings as well.
    pub(super) least: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Array,
    Object,
    Text,
}

/// The minimum number of characters that an array and a string can be reduced to.
#[derive(Clone, Copy)]
pub(super) struct Floors {
    pub(super) array: usize,
    pub(super) string: usize,
}

impl Node {
    /// Reads the tree of a compact and valid text. Returns `None` if the text is small.
    pub(super) fn read(json: &str, floors: Floors) -> Option<Node> {
        let bytes = json.as_bytes();
        // An outer container that receives the value of the text.
        let mut open = vec![OpenContainer::new(NodeKind::Array, 0)];
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
                        let text = OpenContainer::new(NodeKind::Text, start);
                        let node = text.close(json, at, top, floors);
                        top.nodes.push(node);
                    }
                }
                b'[' | b'{' if levels > LEVELS => too_deep += 1,
                b']' | b'}' if too_deep > 0 => too_deep -= 1,
                b'[' => open.push(OpenContainer::new(NodeKind::Array, start)),
                b'{' => open.push(OpenContainer::new(NodeKind::Object, start)),
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

/// A container that has not been closed yet.
struct OpenContainer {
    kind: NodeKind,
    start: usize,
    nodes: Vec<Node>,
    /// The key of the current child.
    key: Range<usize>,
    index: usize,
}

impl OpenContainer {
    fn new(kind: NodeKind, start: usize) -> OpenContainer {
        OpenContainer {
            kind,
            start,
            nodes: Vec::new(),
            key: 0..0,
            index: 0,
        }
    }

    fn close(self, json: &str, end: usize, around: &OpenContainer, floors: Floors) -> Node {
        let span = self.start..end;
        let chars = count::chars(&json[span.clone()]);
        let large: usize = self.nodes.iter().map(|node| node.chars).sum();
        let least = [0, 1].map(|mode| match (self.kind, mode) {
            (NodeKind::Text, 0) => chars,
            (NodeKind::Text, _) => floors.string,
            (NodeKind::Array, _) => floors.array,
            (NodeKind::Object, _) => {
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

/// Returns the start of each child of a container, including its key, followed by the position
/// after the last child's delimiter. Each child ends one byte before the next position, at a comma
/// or the closing bracket.
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
