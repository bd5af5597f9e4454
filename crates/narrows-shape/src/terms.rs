//! Splits text into words, and compares words by their forms and meanings.
//!
//! The search, the pruning engine and the digests all read words here, so that the words of a goal
//! match the same words in a text. A text is [split] into slices, also at the joints of names. A
//! word is [folded](mod@fold) to lower case without accents and [stemmed](mod@stem). A
//! [`ConceptTable`] contains its meanings; each user of this module has its own table. Module
//! [`rank`](crate::rank) weights rare and frequent words.

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
