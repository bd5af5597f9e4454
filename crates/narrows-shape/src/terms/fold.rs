//! Folding: lower case without accents.

/// Returns a text in lower case, with the accents of Latin letters removed.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// Appends the folded form of `text` to `folded`. See [`fold`].
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    if text.is_ascii() {
        let begin = folded.len();
        folded.push_str(text);
        folded[begin..].make_ascii_lowercase();
        return;
    }
    for letter in text.chars() {
        if letter.is_ascii() {
            folded.push(letter.to_ascii_lowercase());
            continue;
        }
        for letter in letter.to_lowercase() {
            match letter {
                'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => folded.push('a'),
                'ç' => folded.push('c'),
                'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
                'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
                'ñ' => folded.push('n'),
                'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => folded.push('o'),
                'ù' | 'ú' | 'û' | 'ü' => folded.push('u'),
                'œ' => folded.push_str("oe"),
                'æ' => folded.push_str("ae"),
                'ß' => folded.push_str("ss"),
                // Combining accents, as in decomposed text.
                '\u{0300}'..='\u{036F}' => {}
                _ => folded.push(letter),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn accents_and_case_are_folded() {
        assert_eq!(fold("ÉTÉ Straße cœur"), "ete strasse coeur");
        assert_eq!(fold("e\u{301}te\u{301}"), "ete");
        assert_eq!(fold("HTTPServer 2"), "httpserver 2");
        assert_eq!(fold("Привет 日本"), "привет 日本");
    }
}
