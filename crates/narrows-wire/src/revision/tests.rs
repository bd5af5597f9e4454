use super::*;

#[test]
fn revision_names_round_trip() {
    for revision in Revision::ALL {
        assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        assert_eq!(revision.to_string(), revision.as_str());
    }
    assert_eq!(Revision::parse("2025-06-1"), None);
    assert!(Revision::ALL.is_sorted());
}

#[test]
fn server_negotiates_the_requested_or_newest_legacy_revision() {
    for (asked, answer) in [
        ("2024-11-05", Revision::V2024_11_05),
        ("2025-03-26", Revision::V2025_03_26),
        ("2025-06-18", Revision::V2025_06_18),
        ("2025-11-25", Revision::V2025_11_25),
        ("2026-07-28", Revision::V2025_11_25),
        ("1999-01-01", Revision::V2025_11_25),
        ("", Revision::V2025_11_25),
    ] {
        assert_eq!(Revision::negotiate(asked), answer);
    }
}

#[test]
fn batches_and_handshakes_depend_on_the_revision() {
    let batches: Vec<Revision> = Revision::ALL
        .into_iter()
        .filter(|it| it.has_batches())
        .collect();
    assert_eq!(batches, [Revision::V2025_03_26]);
    let modern: Vec<Revision> = Revision::ALL
        .into_iter()
        .filter(|it| !it.is_legacy())
        .collect();
    assert_eq!(modern, [Revision::V2026_07_28]);
}
