//! Words without their endings, so that the forms of a word can be compared.

use std::borrow::Cow;

use super::Language;

/// Returns the word without its endings; the word is in small letters. What
/// remains is no word, only equal to what remains of its other forms.
pub(crate) fn stem(word: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::English => english(word),
        Language::French | Language::German | Language::Spanish => abroad(word).into(),
        Language::Chinese => word.into(),
    }
}

/// `allocated`, `allocates` and `allocation` become the same. Words with letters
/// beyond ASCII are not English and stay.
fn english(word: &str) -> Cow<'_, str> {
    if !word.is_ascii() {
        return word.into();
    }
    let mut stem = without_plural(word);
    if let Some(cut) = without_one(stem, &["edly", "ing", "ed"], 3) {
        stem = without_double(cut);
    }
    // Twice, since endings pile up: `document-ation`, `docu-ment`.
    for _ in 0..2 {
        let cut = without_one(stem, &["ation", "ator", "ate", "at"], 5)
            .or_else(|| without_one(stem, &["ion"], 4))
            .or_else(|| without_one(stem, &["ment", "er", "ly", "e"], 3));
        match cut {
            Some(cut) => stem = cut,
            None => break,
        }
    }
    // `entri` of `entries` is `entry`. The `y` stays: `story` is no form of `store`.
    match without_one(stem, &["i"], 3) {
        Some(cut) => Cow::Owned(format!("{cut}y")),
        None => Cow::Borrowed(stem),
    }
}

fn without_plural(word: &str) -> &str {
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if word.len() > 4 && ends(&["ies", "sses", "xes", "ches", "shes"]) {
        &word[..word.len() - 2]
    } else if word.len() > 3 && ends(&["s"]) && !ends(&["ss", "us", "is"]) {
        &word[..word.len() - 1]
    } else {
        word
    }
}

/// The word without the first of the endings that leaves at least so many letters.
fn without_one<'a>(word: &'a str, endings: &[&str], least: usize) -> Option<&'a str> {
    let cut = |ending: &&str| word.strip_suffix(ending).filter(|cut| cut.len() >= least);
    endings.iter().find_map(cut)
}

/// `stopp` of `stopped` is `stop`; `call` of `called` stays.
fn without_double(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && !b"lsz".contains(a) && word.len() > 3 => &word[..word.len() - 1],
        _ => word,
    }
}

/// The word without the endings that French, German and Spanish have in common
/// enough: whatever of them is cut is cut from the words of the tables as well.
fn abroad(word: &str) -> &str {
    let mut stem = word;
    while let Some(shorter) = stem.strip_suffix(['a', 'e', 'i', 'o', 's', 'n', 'r', 't', 'm', 'z'])
        && shorter.len() >= 4
    {
        stem = shorter;
    }
    stem
}

#[cfg(test)]
mod tests;
