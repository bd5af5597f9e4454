//! The strings of a response, which may begin in one piece and end in another.

use narrows_json::ParseResult;
use narrows_json::blocks::{Cursor, Engine, Input, StringEnd};
use narrows_json::grammar::{Role, Visitor};
use narrows_json::string::short;

use super::super::string::{MaskLimits, Measure};
use super::super::{Mask, mask_on};
use super::MaskedAnswer;
use super::members::Members;
use super::output::MaskedOutput;

/// Masks the strings that [`Members`] selects, and copies everything to the output.
pub(super) struct AnswerStrings {
    engine: Engine,
    mask: Mask,
    limits: MaskLimits,
    members: Members,
    /// The start of the current key in the output.
    key: usize,
    /// The current key, if it is long.
    long_key: Cursor,
    /// The current value, if it is a long string.
    long_value: Measure,
    pub(super) output: MaskedOutput,
}

impl AnswerStrings {
    pub(super) fn new(engine: Engine, mask: Mask) -> AnswerStrings {
        AnswerStrings {
            engine,
            mask,
            limits: MaskLimits::new(&mask),
            members: Members::default(),
            key: 0,
            long_key: Cursor::new(0),
            long_value: Measure::new(0, 0, &MaskLimits::OFF),
            output: MaskedOutput::default(),
        }
    }

    /// Returns the masked response after everything has been read.
    pub(super) fn finish(self) -> MaskedAnswer {
        let is_answer = self.members.is_answer();
        let (mut cut_strings, mut cut_chars) = (self.output.cut_strings, self.output.cut_chars);
        let mut body = self.output.into_bytes();
        let unmasked = self.members.unmasked();
        if let Some(first) = unmasked.first().map(|data| data.start) {
            let rest = body.split_off(first);
            let mut copied = 0;
            for data in unmasked {
                let (start, end) = (data.start - first, data.end - first);
                body.extend_from_slice(&rest[copied..start]);
                let masked = mask_on(self.engine, &rest[start..end], &self.mask)
                    .expect("the value has already been parsed");
                body.extend_from_slice(masked.text.as_bytes());
                cut_strings += masked.cut_strings;
                cut_chars += masked.cut_chars;
                copied = end;
            }
            body.extend_from_slice(&rest[copied..]);
        }
        MaskedAnswer {
            body,
            is_answer,
            cut_strings,
            cut_chars,
        }
    }

    /// Continues reading a long value and cuts it at its end.
    fn rest_of_value(&mut self, text: &[u8], input: Input) -> ParseResult<StringEnd> {
        let limits = self.limits_here();
        let (engine, output) = (self.engine, &mut self.output);
        let end = self
            .long_value
            .advance(engine, &limits, text, input, output.shift())?;
        if let Some(middle) = self.long_value.middle(&limits) {
            output.take_out(text, middle.clone());
            self.long_value.forget(middle);
        }
        if let StringEnd::Quote(end) = end
            && self.long_value.is_longer(&limits)
        {
            output.copy(text, end + 1);
            let quote = output.bytes().len() - 1;
            if let Some(cut) = self
                .long_value
                .cut(engine, &limits, output.bytes(), quote)?
            {
                output.cut(&cut);
            }
        }
        Ok(end)
    }

    #[inline(always)]
    fn limits_here(&self) -> MaskLimits {
        match self.members.in_result() {
            true => self.limits,
            false => MaskLimits::OFF,
        }
    }

    /// Maps a position in the text to its position in the output.
    #[inline(always)]
    fn in_output(&self, place: usize) -> usize {
        self.output.shift().wrapping_add(place)
    }

    #[inline(never)]
    fn long_key(&mut self, text: &[u8], start: usize, input: Input) -> ParseResult<StringEnd> {
        self.long_key = Cursor::new(start);
        self.rest_of_string(Role::Key, text, input)
    }

    #[inline(never)]
    fn long_value(&mut self, text: &[u8], start: usize, input: Input) -> ParseResult<StringEnd> {
        self.long_value = Measure::new(start, self.in_output(start), &self.limits_here());
        self.rest_of_value(text, input)
    }
}

impl Visitor for AnswerStrings {
    #[inline(always)]
    fn string(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        input: Input,
    ) -> ParseResult<StringEnd> {
        let short = short::<4, false>(text, start);
        match (role, short) {
            (Role::Key, short) => {
                self.key = self.in_output(start);
                match short {
                    Some(end) => Ok(StringEnd::Quote(end)),
                    None => self.long_key(text, start, input),
                }
            }
            // A string never has more characters than bytes.
            (Role::Value, Some(end)) if end - start <= self.limits_here().max => {
                Ok(StringEnd::Quote(end))
            }
            (Role::Value, _) => self.long_value(text, start, input),
        }
    }

    fn rest_of_string(&mut self, role: Role, text: &[u8], input: Input) -> ParseResult<StringEnd> {
        match role {
            Role::Key => self.engine.skip(&mut self.long_key, text, input),
            Role::Value => self.rest_of_value(text, input),
        }
    }

    #[inline(always)]
    fn key_ended(&mut self, depth: usize, text: &[u8], end: usize) {
        if depth <= Members::MAX_KEY_DEPTH {
            self.output.copy(text, end);
            let bytes = self.output.bytes();
            self.members.key(depth, &bytes[self.key..bytes.len() - 1]);
        }
    }

    #[inline(always)]
    fn value_begins(&mut self, depth: usize, place: usize) {
        if depth <= Members::MAX_KEY_DEPTH {
            let place = self.in_output(place);
            self.members.value_begins(depth, place);
        }
    }

    #[inline(always)]
    fn value_ended(&mut self, depth: usize, end: usize) {
        if depth <= Members::MAX_KEY_DEPTH {
            let place = self.in_output(end);
            self.members.value_ended(depth, place, self.limits.max);
        }
    }

    fn text_ended(&mut self, text: &[u8], end: usize) {
        self.output.copy(text, end);
        self.output.begin_text();
        self.long_key = self.long_key.moved_to(0);
        self.long_value.begin_text();
    }
}
