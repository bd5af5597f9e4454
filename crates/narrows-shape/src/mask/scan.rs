//! The loop over the inside of a long string, 64 bytes at a time: checks its
//! escapes, counts its characters, and finds where a given one of them begins
//! or where the string ends.
//!
//! Each block is turned into words of 64 bits, one bit per byte, and all
//! questions are answered by arithmetic on those. How the words are made
//! differs by machine (`portable`, `avx2`); everything else is here, once.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

/// Where a piece ends, or what is wrong with it. The box keeps the answer as
/// small as two registers.
pub(super) type Found<T = usize> = Result<T, Box<Fault>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// [`BEFORE`] for the last byte before the text, which only a text that goes
    /// on has.
    pub(super) offset: usize,
    pub(super) what: &'static str,
}

/// An escape may have begun where the piece before ended.
pub(super) const BEFORE: usize = usize::MAX;

#[cold]
pub(super) fn fault<T>(offset: usize, what: &'static str) -> Found<T> {
    Err(Box::new(Fault { offset, what }))
}

/// Who makes the words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Present),
}

impl Engine {
    /// The fastest that this machine has.
    pub(super) fn best() -> Engine {
        #[cfg(target_arch = "x86_64")]
        if let Some(present) = avx2::Present::detect() {
            return Engine::Avx2(present);
        }
        Engine::Portable
    }

    /// Walks on until as many characters as `target` are passed or the string
    /// ends. A walk that stopped for its target can go on to a further one.
    pub(super) fn advance(
        self,
        walk: &mut Walk,
        text: &[u8],
        target: usize,
        then: Then,
    ) -> Found<Stop> {
        match self {
            Engine::Portable => portable::advance(walk, text, target, then),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(present) => avx2::advance(present, walk, text, target, then),
        }
    }
}

/// What comes after a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing: what is unfinished at its end is a mistake.
    End,
    /// Perhaps more of it, which has not arrived.
    More,
}

/// Why a walk stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// So many characters stand before this place, where another one begins.
    At(usize),
    /// The closing quote.
    End(usize),
    /// What follows this place, fewer than [`EDGE`] bytes, cannot be judged
    /// before more has arrived; the walk goes on from here.
    More(usize),
}

/// A place inside a string, always at the beginning of a block, with what has
/// to be known of the blocks before it. After the end of the string only the
/// number of characters means anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    at: usize,
    /// Characters that began before `at`.
    chars: usize,
    /// 1 if the first byte of the block is escaped by a backslash before it.
    escaped: u64,
    /// Bytes of the block that belong to a `\u` escape begun before it.
    inside: u64,
}

impl Walk {
    pub(super) fn new(start: usize) -> Walk {
        Walk {
            at: start,
            chars: 0,
            escaped: 0,
            inside: 0,
        }
    }

    pub(super) fn chars(&self) -> usize {
        self.chars
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The same place, of a text that has moved.
    pub(super) fn moved_to(self, at: usize) -> Walk {
        Walk { at, ..self }
    }
}

/// As many bytes as a word has bits.
pub(super) const BLOCK: usize = 64;

/// A block that has so many bytes is followed by all of any character that
/// begins in it: the longest is a pair of escapes.
pub(super) const EDGE: usize = BLOCK + 2 * ESCAPE;

/// The length of a `\\u` escape.
const ESCAPE: usize = 6;

type Block = [u8; BLOCK];

/// What a block is made of; bit 0 stands for its first byte.
struct Marks {
    backslash: u64,
    /// Quotes and control characters, which end a string in one way or another
    /// unless they are escaped.
    end: u64,
    /// Bytes of a UTF-8 sequence after its first.
    continuation: u64,
}

/// The loop itself, with three functions that look at blocks: `plain` says how
/// many continuation bytes a block has if it has no quotes, backslashes and
/// control characters; `marks` looks closely; `simple` finds the characters
/// that may stand after a backslash, but for `u`. They are closures so that
/// they can use what instructions their caller may, into which all of this is
/// inlined.
#[inline(always)]
fn advance(
    walk: &mut Walk,
    text: &[u8],
    target: usize,
    then: Then,
    plain: impl Fn(&Block) -> Option<u32>,
    marks: impl Fn(&Block) -> Marks,
    simple: impl Fn(&Block) -> u64,
) -> Found<Stop> {
    let Walk {
        mut at,
        mut chars,
        mut escaped,
        mut inside,
    } = *walk;
    // Blocks with escapes come in swarms. Near one, the question whether a block
    // is plain has no answer that a processor could foresee.
    let mut crowded = 0_u32;
    let mut last_block;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                // Zeros are control characters: the walk ends at the first of
                // them, if not before.
                last_block = [0; BLOCK];
                last_block[..rest.len()].copy_from_slice(rest);
                &last_block
            }
        };
        if crowded == 0
            && escaped == 0
            && let Some(continuation) = plain(block)
        {
            let after = chars + (64 - continuation - inside.count_ones()) as usize;
            if after <= target {
                chars = after;
                inside = 0;
                at += BLOCK;
                continue;
            }
        }
        let found = marks(block);
        let escaping = escaping(found.backslash & !escaped);
        let after_backslash = escaping << 1 | escaped;
        let ends = found.end & !after_backslash;
        let within = below_lowest(ends);
        let mut not_first = found.continuation | after_backslash | inside;
        let mut inside_next = 0;
        let unusual = after_backslash & !simple(block) & within;
        let here = Walk {
            at,
            chars,
            escaped,
            inside,
        };
        let at_edge = then == Then::More && rest.len() < EDGE;
        if unusual != 0 {
            match unicode_escapes(text, at, unusual) {
                Ok([here, next]) => {
                    not_first |= here;
                    inside_next = next;
                }
                Err(_) if at_edge => return more(walk, here),
                Err(fault) => return Err(fault),
            }
        }
        let first = !not_first & within;
        let after = chars + first.count_ones() as usize;
        if after > target {
            let place = at + nth(first, target - chars);
            // It may yet turn out to be the second half of a pair.
            if at_edge && place + ESCAPE > text.len() {
                return more(walk, here);
            }
            *walk = here;
            return Ok(Stop::At(place));
        }
        if ends != 0 {
            let end = at + ends.trailing_zeros() as usize;
            return match text.get(end) {
                Some(b'"') => {
                    walk.chars = after;
                    Ok(Stop::End(end))
                }
                Some(_) => fault(end, "a control character in a string"),
                None if at_edge => more(walk, here),
                None => fault(text.len(), "the end of the text inside a string"),
            };
        }
        if at_edge {
            return more(walk, here);
        }
        chars = after;
        crowded = match found.backslash {
            0 => crowded.saturating_sub(1),
            _ => 8,
        };
        escaped = escaping >> 63;
        inside = inside_next;
        at += BLOCK;
    }
}

#[cold]
fn more(walk: &mut Walk, here: Walk) -> Found<Stop> {
    *walk = here;
    Ok(Stop::More(here.at))
}

/// Which of these backslashes escape what follows them: of every run the
/// first, the third and so on.
#[inline(always)]
fn escaping(backslashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let run_starts = backslashes & !(backslashes << 1);
    // Adding its start to a run clears it and sets the bit after it: what is
    // cleared are the runs that begin at an odd place.
    let odd_runs = backslashes & !backslashes.wrapping_add(run_starts & !EVEN);
    backslashes & (EVEN ^ odd_runs)
}

/// Checks what stands in these places of a block, after backslashes, and finds
/// the bytes that do not begin a character: here, and in the block after it.
#[inline(never)]
fn unicode_escapes(text: &[u8], at: usize, places: u64) -> Found<[u64; 2]> {
    let mut not_first = [0; 2];
    let mut places = places;
    while places != 0 {
        let place = places.trailing_zeros();
        places &= places - 1;
        let letter = at + place as usize;
        let backslash = letter.checked_sub(1).unwrap_or(BEFORE);
        if text.get(letter) != Some(&b'u') {
            return fault(backslash, "an unknown escape");
        }
        let Some(unit) = code_unit(text, letter + 1) else {
            return fault(backslash, "a \\u escape without four hex digits");
        };
        // The letter and its digits; of a second half also the backslash. What
        // follows that is seen to when its letter has its turn.
        let bytes = match is_half(unit, HIGH) && has_low_half(text, letter + 5) {
            true => 0b11_1111_u64,
            false => 0b01_1111,
        };
        not_first[0] |= bytes << place;
        not_first[1] |= bytes >> 1 >> (63 - place);
    }
    Ok(not_first)
}

/// The halves of a surrogate pair differ in their highest six bits.
const HIGH: u32 = 0xD800;
const LOW: u32 = 0xDC00;

#[inline(always)]
fn is_half(unit: u32, half: u32) -> bool {
    unit & 0xFC00 == half
}

fn has_low_half(text: &[u8], at: usize) -> bool {
    text.get(at..at + 2) == Some(br"\u")
        && code_unit(text, at + 2).is_some_and(|unit| is_half(unit, LOW))
}

#[inline(always)]
pub(super) fn code_unit(text: &[u8], at: usize) -> Option<u32> {
    let digits: &[u8; 4] = text.get(at..)?.first_chunk()?;
    let [a, b, c, d] = digits.map(|digit| u32::from(HEX[usize::from(digit)]));
    // What is no digit has bits above the lowest four.
    ((a | b | c | d) < 16).then_some(a << 12 | b << 8 | c << 4 | d)
}

const HEX: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        table[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

/// The bits below the lowest that is set; all if none is.
#[inline(always)]
fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Where the set bit stands that has `before` others below it.
fn nth(bits: u64, before: usize) -> usize {
    let mut bits = bits;
    for _ in 0..before {
        bits &= bits.wrapping_sub(1);
    }
    bits.trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
