//! Checks that must hold for any query on any text. The fuzz target of this name includes this
//! file, and `main.rs` replays its corpus through it, so that failures found by fuzzing stay
//! covered without a fuzzer.

use narrows_shape::prune::Deadline;
use narrows_shape::query::{QueryLimits, Request, fields, page};

/// Checks fuzzer input. The lines up to an empty one are arguments, `name value`; the rest is the
/// text.
pub(crate) fn check(data: &[u8]) {
    let input = String::from_utf8_lossy(data);
    let (arguments, text) = input.split_once("\n\n").unwrap_or((&input, ""));
    let request = request(arguments);
    let is_search = request.query.is_some() || request.condition.is_some();
    let Ok(query) = request.check() else {
        return;
    };
    if let Some(written) = query.condition() {
        let again = Request {
            condition: Some(written.clone()),
            ..Request::default()
        };
        // With added quotes and parentheses, the condition may be too long.
        if let Ok(again) = again.check() {
            assert_eq!(again.condition(), Some(written));
        }
    }
    let limits = QueryLimits {
        deadline: &Deadline::never(),
        diff_until: None,
    };
    let half = text.floor_char_boundary(text.len() / 2);
    let Ok(answer) = query.apply(text, Some(&text[half..]), &limits) else {
        return;
    };
    let head = answer.head(Some("c"));
    assert!(head.starts_with('⟦') && head.ends_with('⟧') && !head.contains('\n'));
    assert!(answer.matched.is_some() || !is_search);
    let (mut whole, mut offset) = (String::new(), 0);
    while offset < answer.body.len() {
        let range = page(&answer.body, offset, 50).expect("a page begins where the last ended");
        whole.push_str(&answer.body[range.clone()]);
        offset = range.end;
    }
    assert_eq!(whole, answer.body);
    assert!(fields(text, None).len() <= 60);
    let again = query.apply(text, Some(&text[half..]), &limits);
    assert_eq!(again, Ok(answer), "the same answer twice");
}

fn request(arguments: &str) -> Request {
    let mut request = Request::default();
    for line in arguments.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let text = || Some(value.to_owned());
        let number = || value.trim().parse::<usize>().ok();
        match name {
            "query" => request.query = text(),
            "where" => request.condition = text(),
            "select" => request.select = text(),
            "sort" => request.sort = text(),
            "group_by" => request.group_by = text(),
            "aggregate" => request.aggregate = text(),
            "rows" => request.rows = text(),
            "head" => request.head = number(),
            "tail" => request.tail = number(),
            "limit" => request.limit = number(),
            "context" => request.context = number().unwrap_or(0),
            "start_char" => request.start_char = value.trim().parse().ok(),
            "end_char" => request.end_char = value.trim().parse().ok(),
            "count_only" => request.count_only = true,
            "numbers" => request.numbers = Some(value == "true"),
            "diff" => request.diff = true,
            "range" => {
                let ends = value.split_once('-').unwrap_or((value, value));
                let ends = (
                    ends.0.parse().unwrap_or(0),
                    ends.1.parse().unwrap_or(i64::MAX),
                );
                request.ranges.get_or_insert_default().push(ends);
            }
            _ => {}
        }
    }
    request
}
