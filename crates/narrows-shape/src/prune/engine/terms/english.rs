//! What is known about English: words that say nothing, words that only frame
//! a question, endings. Other languages lose nothing by it but their endings.

/// Whether a word, lower case, says nothing about what is asked.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

/// Whether a word, lower case, more often belongs to the way of asking than to
/// what is asked: "which section covers", "show the events about".
pub(super) fn is_framing(word: &str) -> bool {
    FRAMING.binary_search(&word).is_ok()
}

/// Cuts the endings of a lower-case word: `allocated`, `allocates` and
/// `allocation` become the same. What remains is no word, only equal to itself.
pub(crate) fn stem(word: &mut Vec<u8>) {
    if !word.is_ascii() {
        return;
    }
    plural(word);
    let tense = ["edly", "ing", "ed"];
    if cut_one(word, &tense, 3) {
        undouble(word);
    }
    // Twice, since endings pile up: `document-ation`, `docu-ment`.
    for _ in 0..2 {
        if !(cut_one(word, &["ation", "ator", "ate", "at"], 5)
            || cut_one(word, &["ion"], 4)
            || cut_one(word, &["ment", "er", "ly", "e"], 3))
        {
            break;
        }
    }
    if word.len() > 3 && word.ends_with(b"y") {
        word.pop();
        word.push(b'i');
    }
}

fn plural(word: &mut Vec<u8>) {
    let ends_with = |endings: &[&str]| {
        let mut endings = endings.iter();
        endings.any(|ending| word.ends_with(ending.as_bytes()))
    };
    let cut = if word.len() > 4 && ends_with(&["ies", "sses", "xes", "ches", "shes"]) {
        2
    } else if word.len() > 3 && ends_with(&["s"]) && !ends_with(&["ss", "us", "is"]) {
        1
    } else {
        0
    };
    word.truncate(word.len() - cut);
}

/// Cuts the first of the endings that leaves at least so many letters.
fn cut_one(word: &mut Vec<u8>, endings: &[&str], least: usize) -> bool {
    let fits =
        |ending: &&&str| word.ends_with(ending.as_bytes()) && word.len() - ending.len() >= least;
    match endings.iter().find(fits) {
        Some(ending) => {
            word.truncate(word.len() - ending.len());
            true
        }
        None => false,
    }
}

/// `stopp` of `stopped` is `stop`; `call` of `called` stays.
fn undouble(word: &mut Vec<u8>) {
    if let [.., a, b] = word[..]
        && a == b
        && !b"lsz".contains(&a)
        && word.len() > 3
    {
        word.pop();
    }
}

/// In order, for the search.
const FILLERS: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "being",
    "but", "by", "can", "could", "de", "did", "do", "does", "done", "each", "else", "est", "et",
    "exactly", "for", "from", "had", "happen", "happened", "happens", "has", "have", "he", "her",
    "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "la", "le", "les",
    "may", "me", "might", "more", "most", "must", "my", "need", "no", "not", "of", "off", "often",
    "on", "only", "or", "our", "out", "over", "same", "shall", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "under", "une", "up", "use", "used", "using", "very", "want", "was",
    "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you",
    "your",
];

/// In order, for the search.
const FRAMING: &[&str] = &[
    "behaving",
    "cover",
    "covers",
    "deal",
    "describe",
    "describes",
    "doc",
    "docs",
    "documented",
    "event",
    "events",
    "explain",
    "explained",
    "give",
    "help",
    "incident",
    "investigate",
    "know",
    "led",
    "life",
    "log",
    "logs",
    "look",
    "looking",
    "normally",
    "part",
    "please",
    "regarding",
    "say",
    "says",
    "section",
    "see",
    "show",
    "tell",
    "through",
    "trace",
    "understand",
];

#[cfg(test)]
mod tests;
