//! Stemming: removes the endings of words, so that the forms of a word can be compared.

use std::borrow::Cow;

use super::Language;

/// Returns the stem of a lower-case word. The stem is not a word itself, but the same for all forms
/// of the word.
pub(crate) fn stem(word: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::English => english(word),
        Language::French | Language::German | Language::Spanish => abroad(word).into(),
        Language::Chinese => word.into(),
    }
}

/// Stems an English word: `allocated`, `allocates` and `allocation` get the same stem. Words with
/// non-ASCII letters are not English and stay unchanged.
fn english(word: &str) -> Cow<'_, str> {
    if !word.is_ascii() {
        return word.into();
    }
    let mut stem = without_plural(word);
    if let Some(cut) = without_one(stem, &["edly", "ing", "ed"], 3) {
        stem = without_double(cut);
    }
    // Twice, because endings can be combined: `document-ation`, `docu-ment`.
    for _ in 0..2 {
        let cut = without_one(stem, &["ation", "ator", "ate", "at"], 5)
            .or_else(|| without_one(stem, &["ion"], 4))
            .or_else(|| without_one(stem, &["ment", "er", "ly", "e"], 3));
        match cut {
            Some(cut) => stem = cut,
            None => break,
        }
    }
    // `entri` of `entries` becomes `entry`. The `y` is kept, because `story` is not a form of
    // `store`.
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

/// Removes the first of the endings that leaves at least `least` letters.
fn without_one<'a>(word: &'a str, endings: &[&str], least: usize) -> Option<&'a str> {
    let cut = |ending: &&str| word.strip_suffix(ending).filter(|cut| cut.len() >= least);
    endings.iter().find_map(cut)
}

/// Turns `stopp` of `stopped` into `stop`, but keeps `call` of `called`.
fn without_double(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && !b"lsz".contains(a) && word.len() > 3 => &word[..word.len() - 1],
        _ => word,
    }
}

/// Removes common endings of French, German and Spanish. Precision is not required, because the
/// words of the tables are stemmed in the same way.
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
