//! Splits source code into blocks: functions, classes and the pieces between them.
//!
//! The code uses no grammar. A line that looks like a definition opens a block, and the indentation
//! shows where the block ends. This works for formatted code in any language. In code without
//! indentation, a block lasts until the next definition. Comments, decorators and attributes above
//! a definition belong to it.

use super::define::{self, BlockKind, Definition, indent};
use crate::prune::{Deadline, Lines, OutOfTime, Span};

/// The deepest level at which blocks are distinguished. Deeper blocks belong to the innermost one
/// at this level.
const MAX_BLOCK_DEPTH: usize = 24;
/// The maximum number of lines of a piece outside functions.
const PIECE: usize = 24;
/// The maximum number of lines of a signature.
const SIGNATURE: usize = 40;

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// All lines of the block, including those above the definition that belong to it.
    pub(super) span: Span,
    /// The line of the definition; for a piece, its first line.
    pub(super) head: usize,
    /// The line after the signature.
    pub(super) body: usize,
    /// The enclosing block, which always has a smaller index.
    pub(super) parent: Option<usize>,
    /// The byte range of the name within the head line.
    pub(super) name: Span,
    /// The number of lines that are not blank, including those of nested blocks.
    pub(super) filled: usize,
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matter {
    Blank,
    /// Comments and standalone strings.
    Prose,
    Code,
}

/// The structure of a text.
pub(super) struct Outline {
    /// The blocks; a block comes after the one that encloses it.
    pub(super) blocks: Vec<Block>,
    /// The innermost block of each line.
    pub(super) owner: Vec<u32>,
    pub(super) matter: Vec<Matter>,
}

impl Outline {
    pub(super) fn of(lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<Outline, OutOfTime> {
        let mut scan = Scan::default();
        for (at, line) in lines.iter().enumerate() {
            if at % 256 == 0 {
                deadline.check()?;
            }
            scan.line(lines, at, line);
        }
        scan.finish(lines, deadline)?;
        let mut outline = Outline {
            blocks: scan.found,
            owner: vec![NONE; lines.len()],
            matter: scan.matter,
        };
        outline.own(deadline)?;
        outline.add_pieces(deadline)?;
        outline.count(deadline)?;
        Ok(outline)
    }

    /// Assigns each line to the innermost definition.
    fn own(&mut self, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        // Blocks are sorted by their start, so that nested ones overwrite the others. A line is
        // written at most once per level, and the number of levels is bounded.
        for (at, block) in self.blocks.iter().enumerate() {
            if at % 256 == 0 {
                deadline.check()?;
            }
            self.owner[block.span.clone()].fill(at as u32);
        }
        Ok(())
    }

    /// Creates blocks for the lines outside functions.
    fn add_pieces(&mut self, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        let count = self.owner.len();
        let mut at = 0;
        while at < count {
            if at % 256 < PIECE {
                // A piece may skip the line at which the check would be due.
                deadline.check()?;
            }
            let owner = self.owner[at];
            if !self.is_loose(owner) {
                at += 1;
                continue;
            }
            let start = at;
            while at < count && self.owner[at] == owner && at - start < PIECE {
                let blank = self.matter[at] == Matter::Blank;
                at += 1;
                if blank && at - start > PIECE / 4 {
                    break;
                }
            }
            let id = self.blocks.len() as u32;
            self.owner[start..at].fill(id);
            self.blocks.push(Block {
                kind: BlockKind::Piece,
                span: start..at,
                head: start,
                body: start,
                parent: (owner != NONE).then_some(owner as usize),
                name: 0..0,
                filled: 0,
            });
        }
        Ok(())
    }

    fn is_loose(&self, owner: u32) -> bool {
        owner == NONE || self.blocks[owner as usize].kind == BlockKind::Container
    }

    fn count(&mut self, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        for at in 0..self.owner.len() {
            if at % 4096 == 0 {
                deadline.check()?;
            }
            if self.matter[at] != Matter::Blank {
                self.blocks[self.owner[at] as usize].filled += 1;
            }
        }
        for at in (0..self.blocks.len()).rev() {
            if let Some(parent) = self.blocks[at].parent {
                self.blocks[parent].filled += self.blocks[at].filled;
            }
        }
        Ok(())
    }
}

/// Marks a line outside all blocks.
const NONE: u32 = u32::MAX;

/// A block that has not been closed yet.
struct OpenBlock {
    block: usize,
    indent: usize,
    expects_body: bool,
    /// Set until the first line of the body is read.
    fresh: bool,
    /// Set if the body is not indented, so that only a definition ends the block.
    flat: bool,
}

/// Comments, decorators and attributes above the next definition.
struct Above {
    start: usize,
    indent: usize,
    /// Set for a decorator or an attribute, which belongs to the definition even if blank lines
    /// follow.
    bound: bool,
}

/// Collects the definitions of a text line by line.
#[derive(Default)]
struct Scan {
    matter: Vec<Matter>,
    found: Vec<Block>,
    open: Vec<OpenBlock>,
    above: Option<Above>,
    prose: Prose,
    /// The position after the last line that belongs to an open block.
    end: usize,
}

impl Scan {
    fn line(&mut self, lines: &Lines<'_>, at: usize, line: &str) {
        let trimmed = line.trim_ascii();
        let was_inside = self.prose.is_open();
        let matter = self.prose.matter(trimmed);
        self.matter.push(matter);
        let stands_above = was_inside || self.open.is_empty() || is_comment(trimmed);
        match matter {
            Matter::Blank => self.above = self.above.take().filter(|above| above.bound),
            Matter::Prose if stands_above => self.comment(at, line, was_inside),
            _ => self.code(lines, at, line, trimmed),
        }
    }

    fn comment(&mut self, at: usize, line: &str, goes_on: bool) {
        if self.above.is_some() {
            return;
        }
        if goes_on {
            self.end = at + 1;
        } else {
            self.above = Some(Above {
                start: at,
                indent: indent(line),
                bound: false,
            });
        }
    }

    fn code(&mut self, lines: &Lines<'_>, at: usize, line: &str, trimmed: &str) {
        let depth = indent(line);
        let decorates = trimmed.starts_with('@') || trimmed.starts_with("#[");
        let defines = (!decorates)
            .then(|| define::definition(lines, at))
            .flatten();
        let opens_next = decorates || defines.is_some();
        self.leave(depth, define::continues(trimmed), opens_next);
        if let Some(definition) = defines {
            let start = self.above.take().map_or(at, |above| above.start);
            self.enter(start, at, depth, definition);
        } else if decorates {
            let above = Above {
                start: at,
                indent: depth,
                bound: true,
            };
            self.above.get_or_insert(above).bound = true;
        } else {
            // Further lines of a multi-line decorator.
            let goes_on = |above: &Above| {
                above.bound && (depth > above.indent || trimmed.starts_with([')', ']']))
            };
            self.above = self.above.take().filter(goes_on);
        }
        if self.above.is_none() {
            self.end = at + 1;
        }
    }

    /// Closes the blocks that do not contain a line of code.
    fn leave(&mut self, depth: usize, continues: bool, opens_next: bool) {
        while let Some(top) = self.open.last_mut() {
            let inside = depth > top.indent || (depth == top.indent && continues);
            top.flat |= top.fresh && top.expects_body && !inside && !opens_next;
            top.fresh = false;
            if inside || (top.flat && !opens_next) {
                break;
            }
            self.close();
        }
    }

    fn enter(&mut self, start: usize, at: usize, depth: usize, definition: Definition) {
        if self.open.len() == MAX_BLOCK_DEPTH {
            return;
        }
        self.open.push(OpenBlock {
            block: self.found.len(),
            indent: depth,
            expects_body: definition.expects_body,
            fresh: true,
            flat: false,
        });
        let around = self.open.len().checked_sub(2);
        self.found.push(Block {
            kind: definition.kind,
            span: start..at + 1,
            head: at,
            body: at + 1,
            parent: around.map(|around| self.open[around].block),
            name: definition.name,
            filled: 0,
        });
    }

    fn close(&mut self) {
        if let Some(top) = self.open.pop() {
            let block = &mut self.found[top.block];
            block.span.end = self.end.max(block.head + 1);
        }
    }

    fn finish(&mut self, lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        while !self.open.is_empty() {
            self.close();
        }
        for (at, block) in self.found.iter_mut().enumerate() {
            if at % 256 == 0 {
                deadline.check()?;
            }
            block.body = signature_end(lines, block);
        }
        Ok(())
    }
}

/// Returns the end of the signature: the first line that ends with a token that opens a body.
fn signature_end(lines: &Lines<'_>, block: &Block) -> usize {
    let last = block.span.end.min(block.head + SIGNATURE);
    let opens = |at: &usize| {
        let line = lines.line(*at).trim_ascii_end();
        line.ends_with(['{', ':', ';', '}'])
    };
    (block.head..last)
        .find(opens)
        .map_or(block.head + 1, |at| at + 1)
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//")
        || line.starts_with("/*")
        || line.starts_with("* ")
        || line.starts_with("*/")
        || line.starts_with("--")
        || (line.starts_with('#') && !line.starts_with("#["))
}

/// Tracks comments and strings that extend over several lines.
#[derive(Default)]
struct Prose {
    until: Option<&'static str>,
}

impl Prose {
    fn is_open(&self) -> bool {
        self.until.is_some()
    }

    fn matter(&mut self, line: &str) -> Matter {
        if let Some(end) = self.until {
            if line.contains(end) {
                self.until = None;
            }
            return Matter::Prose;
        }
        if line.is_empty() {
            return Matter::Blank;
        }
        if line.starts_with("/*") {
            if !line.contains("*/") {
                self.until = Some("*/");
            }
            return Matter::Prose;
        }
        for quote in ["\"\"\"", "'''"] {
            let Some(first) = line.find(quote) else {
                continue;
            };
            let rest = &line[first + 3..];
            if !rest.contains(quote) {
                self.until = Some(quote);
            }
            // A standalone string rather than an assigned one.
            return if first <= 1 {
                Matter::Prose
            } else {
                Matter::Code
            };
        }
        if is_comment(line) {
            Matter::Prose
        } else {
            Matter::Code
        }
    }
}

#[cfg(test)]
mod tests;
