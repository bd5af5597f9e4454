//! Words: how text is split into them, which of them are forms of one word, and
//! which mean the same.
//!
//! The search, the engine of the pruner and the digests read words here, so that
//! a word of a goal meets the same word of a text wherever it stands. A text is
//! [split] into pieces of itself, at the joints of names too; a word is
//! [folded](mod@fold) to small letters without accents and loses its
//! [endings](mod@stem); a [`ConceptTable`] says what it stands for. The tables
//! themselves belong to those that look words up in them. How rare and frequent
//! words rank texts is in [`rank`](crate::rank).

mod concepts;
mod fold;
mod language;
mod split;
mod stem;
mod words;

pub(crate) use concepts::{ConceptMember, ConceptTable};
pub(crate) use fold::{fold, fold_into};
pub(crate) use language::Language;
pub(crate) use split::{Token, is_sign, signs, tokens, words};
pub(crate) use stem::stem;
pub(crate) use words::{Word, WordReader, read};
