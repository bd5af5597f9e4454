use super::super::ConceptMember;
use super::Phrases;

fn phrases(table: &[(&[&str], u16)]) -> Phrases {
    let mut phrases = Phrases::default();
    for &(words, concept) in table {
        let weight = 1.0;
        let words: Vec<_> = words.iter().map(|&word| word.into()).collect();
        phrases.add(&words, ConceptMember { concept, weight });
    }
    phrases.weigh();
    phrases
}

#[track_caller]
fn check(query: &str, expected: &[u16]) {
    let table: &[(&[&str], u16)] = &[
        (&["take", "out"], 0),
        (&["take", "the", "zebra", "home"], 1),
        (&["find", "the", "zebra"], 2),
        (&["the", "way", "out"], 0),
        (&["so", "so"], 3),
    ];
    let found = phrases(table).find(query.split(' ').map(|word| (word.into(), 1.0)));
    let found: Vec<u16> = found.into_iter().map(|member| member.concept).collect();
    assert_eq!(found, expected, "{query}");
}

#[test]
fn phrase_words_may_be_apart_and_reordered() {
    check("take them back out", &[0]);
    check("out you take it", &[0]);
}

#[test]
fn most_words_of_a_long_phrase_are_enough() {
    check("find a zebra", &[2]);
    check("take zebra home", &[1]);
    check("out", &[]);
    check("so so", &[]);
    check("", &[]);
}

#[test]
fn low_weight_word_lowers_the_phrase_weight() {
    let phrases = phrases(&[(&["take", "out"], 0)]);
    let find = |weight| phrases.find([("take".into(), 1.0), ("out".into(), weight)].into_iter());
    let (whole, part) = (find(1.0), find(0.5));
    assert!((whole[0].weight - 1.0).abs() < 1e-6);
    assert!(part[0].weight < whole[0].weight);
    assert!(find(-1.0).is_empty());
}
