//! Source code as blocks: functions, classes and the pieces between them.
//!
//! No grammar is known. A line that looks like a definition opens a block, and
//! the indentation says where it ends, which holds for code that people format,
//! in any language; in code without indentation a block lasts until the next
//! definition. What stands above a definition (comments, decorators, attributes)
//! belongs to it.

use super::define::{self, BlockKind, Definition, indent};
use crate::prune::{Deadline, Lines, OutOfTime, Span};

/// How deep blocks are told apart. Deeper ones belong to the last that counts.
const DEEPEST: usize = 24;
/// How long a piece outside of functions may be.
const PIECE: usize = 24;
/// How many lines a signature may take.
const SIGNATURE: usize = 40;

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// All lines, with what stands above the definition.
    pub(super) span: Span,
    /// The line that defines it; for a piece its first.
    pub(super) head: usize,
    /// Where the signature ends, the end not included.
    pub(super) body: usize,
    /// The block that holds it; always before it.
    pub(super) parent: Option<usize>,
    /// The bytes of the name within the head.
    pub(super) name: Span,
    /// Lines that are not blank, with those of the blocks inside.
    pub(super) filled: usize,
}

/// What a line is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matter {
    Blank,
    /// Comments and texts that stand by themselves.
    Prose,
    Code,
}

/// The structure of a text.
pub(super) struct Outline {
    /// By their first line; a block comes after the one that holds it.
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

    /// Gives each line to the innermost definition.
    fn own(&mut self, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        // Blocks come by their start, so that what is inside overwrites; a line
        // is written at most once per level, and the levels are bounded.
        for (at, block) in self.blocks.iter().enumerate() {
            if at % 256 == 0 {
                deadline.check()?;
            }
            self.owner[block.span.clone()].fill(at as u32);
        }
        Ok(())
    }

    /// Makes blocks of the lines that no function has.
    fn add_pieces(&mut self, deadline: &Deadline<'_>) -> Result<(), OutOfTime> {
        let count = self.owner.len();
        let mut at = 0;
        while at < count {
            if at % 256 < PIECE {
                // A piece may step over the line whose turn it is.
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

/// A line that no block has.
const NONE: u32 = u32::MAX;

/// A block whose end is not known yet.
struct Open {
    block: usize,
    indent: usize,
    expects_body: bool,
    /// No line of the body was seen.
    fresh: bool,
    /// Its body is not indented, so that only a definition ends it.
    flat: bool,
}

/// What stands above the next definition.
struct Above {
    start: usize,
    indent: usize,
    /// A decorator or an attribute, which blank lines do not part from it.
    bound: bool,
}

/// The definitions of a text, read line by line.
#[derive(Default)]
struct Scan {
    matter: Vec<Matter>,
    found: Vec<Block>,
    open: Vec<Open>,
    above: Option<Above>,
    prose: Prose,
    /// Behind the last line that belongs to what is open.
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
            // The rest of a decorator that takes several lines.
            let goes_on = |above: &Above| {
                above.bound && (depth > above.indent || trimmed.starts_with([')', ']']))
            };
            self.above = self.above.take().filter(goes_on);
        }
        if self.above.is_none() {
            self.end = at + 1;
        }
    }

    /// Closes the blocks that a line of code is not inside of.
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
        if self.open.len() == DEEPEST {
            return;
        }
        self.open.push(Open {
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

/// Where the signature ends: at the first line that ends with what opens a body.
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

/// Comments and texts that run over several lines.
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
            // A text that stands by itself, not one that is assigned.
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
