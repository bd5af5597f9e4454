//! Checks that must hold for any catalogue and any query. The fuzz target of this name includes
//! this file, and `main.rs` replays its corpus through it, so that failures found by fuzzing stay
//! covered without a fuzzer.

use std::borrow::Cow;

use narrows_shape::search::{Index, ServerText, ToolText};

/// Checks fuzzer input. The first line contains one letter for the limit and one for the server.
/// The lines up to an empty one are tools with fields separated by `|`, and the rest is the query.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (head, rest) = text.split_once('\n').unwrap_or(("", &text));
    let (catalogue, query) = rest.split_once("\n\n").unwrap_or((rest, rest));
    let letter = |at: usize| usize::from(head.as_bytes().get(at).copied().unwrap_or(b'0') % 16);
    let (limit, server) = (letter(0), letter(1));

    let lines: Vec<Vec<&str>> = catalogue
        .lines()
        .map(|line| line.split('|').collect())
        .collect();
    let servers: Vec<ServerText<'_>> = lines
        .iter()
        .take(3)
        .map(|fields| ServerText {
            name: fields[0],
            instructions: fields.last().unwrap_or(&""),
        })
        .collect();
    let parameters: Vec<Vec<(Cow<'_, str>, Cow<'_, str>)>> = lines
        .iter()
        .map(|fields| {
            fields
                .iter()
                .skip(3)
                .map(|&name| (name.into(), name.into()))
                .collect()
        })
        .collect();
    let tools: Vec<ToolText<'_>> = lines
        .iter()
        .zip(&parameters)
        .enumerate()
        .map(|(at, (fields, parameters))| ToolText {
            // The fourth index belongs to no server.
            server: at % 4,
            name: fields[0],
            title: fields.get(1).unwrap_or(&""),
            description: fields.get(2).unwrap_or(&""),
            parameters,
        })
        .collect();

    let index = Index::new(&servers, &tools);
    let all = index.search(query, None, usize::MAX);
    assert!(
        all.iter()
            .all(|hit| hit.tool < tools.len() && hit.score > 0.0 && hit.score.is_finite())
    );
    assert!(all.is_sorted_by(|a, b| (b.score, a.tool) < (a.score, b.tool)));
    assert_eq!(
        index.search(query, None, limit),
        all[..limit.min(all.len())]
    );
    let of_server: Vec<_> = all
        .iter()
        .filter(|hit| tools[hit.tool].server == server)
        .copied()
        .collect();
    assert_eq!(index.search(query, Some(server), usize::MAX), of_server);
    assert_eq!(
        Index::new(&servers, &tools).search(query, None, usize::MAX),
        all
    );
}
