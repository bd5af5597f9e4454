use proptest::prelude::*;

use super::*;

/// Texts with a small alphabet, so that parts repeat, and all kinds of line ends.
fn texts() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abé🦀 \r]{0,6}", 0..40).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn concatenated_pages_equal_the_response(text in texts(), room in 1_usize..60) {
        let query = Request::default().check().expect("a query");
        let answer = query.apply(&text, None, &limits()).expect("an answer");
        let (mut whole, mut offset) = (String::new(), 0);
        while offset < answer.body.len() {
            let range = page(&answer.body, offset, room).expect("a page");
            prop_assert!(answer.body[range.clone()].chars().count() <= room);
            prop_assert!(range.end > offset);
            whole.push_str(&answer.body[range.clone()]);
            offset = range.end;
        }
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn ranges_are_exact(text in texts(), start in 1_usize..50, length in 0_usize..50) {
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
        let lines = if text.is_empty() { Vec::new() } else { lines };
        let request = Request {
            ranges: Some(vec![(start as i64, (start + length) as i64)]),
            ..Request::default()
        };
        let query = request.check().expect("a query");
        let answer = query.apply(&text, None, &limits());
        if start > lines.len() {
            prop_assert_eq!(answer, Err(Refused::Lines { max_line: lines.len() }));
        } else {
            let end = (start + length).min(lines.len());
            let expected = lines[start - 1..end].join("\n");
            prop_assert_eq!(answer.expect("an answer").body, expected);
        }
    }

    #[test]
    fn words_match_as_in_lower_case(text in texts(), word in "[abAB]{1,2}") {
        let query = query(&word).check().expect("a query");
        let answer = query.apply(&text, None, &limits()).expect("an answer");
        let word = word.to_lowercase();
        let expected = text.split('\n').filter(|line| line.to_lowercase().contains(&word));
        prop_assert_eq!(answer.matched, Some(expected.count()));
    }

    #[test]
    fn any_arguments_are_accepted_or_rejected(text in "\\PC{0,80}", list in "[a-c(),. \\[\\]`'\"*:-]{0,40}") {
        let _ = query(&text).check();
        let _ = condition(&text).check();
        let _ = condition(&list).check();
        for request in [
            Request { select: Some(list.clone()), ..Request::default() },
            Request { sort: Some(list.clone()), ..Request::default() },
            Request { aggregate: Some(list.clone()), ..Request::default() },
            Request { group_by: Some(list.clone()), ..Request::default() },
            Request { rows: Some(list), ..Request::default() },
        ] {
            let _ = request.check();
        }
    }

    /// The reference result is computed in units of the smallest digit.
    #[test]
    fn sums_are_exact(numbers in proptest::collection::vec((any::<i64>(), 0_u32..9), 1..50)) {
        let written: Vec<String> = numbers.iter().map(|&(mantissa, scale)| {
            let digits = format!("{:0>10}", mantissa.unsigned_abs());
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            let sign = if mantissa < 0 { "-" } else { "" };
            let whole = whole.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{sign}{whole}{point}{fraction}")
        }).collect();
        let total: i128 = numbers.iter().map(|&(mantissa, scale)| i128::from(mantissa) * 10_i128.pow(9 - scale)).sum();
        let text: String = written.iter().map(|number| format!("{{\"v\": {number}}}\n")).collect();
        let request = Request { aggregate: Some("sum(v)".into()), ..Request::default() };
        let query = request.check().expect("a query");
        let answer = query.apply(&text, None, &limits()).expect("an answer");
        let sum = answer.body.strip_prefix("{\"sum(v)\":").and_then(|rest| rest.strip_suffix('}'));
        let (whole, fraction) = sum.expect("a sum").split_once('.').unwrap_or((sum.expect("a sum"), ""));
        let digits: i128 = format!("{whole}{fraction:0<9}").parse().expect("digits");
        prop_assert_eq!(digits, total);
    }

    #[test]
    fn rows_match_a_parser(values in proptest::collection::vec(0_i64..20, 0..30), least in 0_i64..20) {
        let rows: Vec<serde_json::Value> = values.iter().map(|v| serde_json::json!({"v": v, "t": "\"}],é\\"})).collect();
        let text = serde_json::to_string_pretty(&serde_json::json!({"a": [{"x": []}], "rows": rows})).expect("JSON");
        let request = Request { rows: Some("rows".into()), ..condition(&format!("v >= {least}")) };
        let query = request.check().expect("a query");
        let answer = query.apply(&text, None, &limits()).expect("an answer");
        let expected: Vec<String> = rows.iter().enumerate().filter(|(_, row)| row["v"].as_i64() >= Some(least))
            .map(|(at, row)| format!("{}│ {row}", at + 1)).collect();
        prop_assert_eq!(answer.body, expected.join("\n"));
    }

    #[test]
    fn diff_rebuilds_the_later_text(old in texts(), new in texts()) {
        let request = Request { diff: true, ..Request::default() };
        let query = request.check().expect("a query");
        let answer = query.apply(&new, Some(&old), &limits()).expect("an answer");
        let lines = crate::prune::Lines::new(&old);
        let mut rebuilt: Vec<Option<String>> = lines.iter().map(|line| Some(line.to_owned())).collect();
        let mut added = std::collections::BTreeMap::new();
        for change in answer.body.split('\n').filter(|line| !line.is_empty()) {
            let (number, line) = change[1..].split_once("│ ").expect("a number");
            let at: usize = number.parse().expect("a number");
            match change.as_bytes()[0] {
                b'-' => {
                    prop_assert_eq!(rebuilt[at - 1].take(), Some(line.to_owned()));
                }
                _ => _ = added.insert(at, line.to_owned()),
            }
        }
        let mut kept = rebuilt.into_iter().flatten();
        let count = crate::prune::Lines::count(&new);
        let all: Vec<String> = (1..=count).map(|at| added.remove(&at).or_else(|| kept.next()).unwrap_or_default()).collect();
        let expected: Vec<String> = crate::prune::Lines::new(&new).iter().map(str::to_owned).collect();
        prop_assert_eq!(all, expected);
        prop_assert_eq!(kept.next(), None);
    }

    /// Every line of an answer must be a line of the text, with its number and the character that
    /// marks matches. All matches and their context must be present.
    #[test]
    fn blocks_contain_matches_and_their_context(text in texts(), context in 0_usize..4) {
        let request = Request { context, ..query("a") };
        let answer = request.check().expect("a query").apply(&text, None, &limits()).expect("an answer");
        let lines = crate::prune::Lines::new(&text);
        let matches = |at: usize| lines.line(at).contains('a');
        let near = |at: usize| {
            (at.saturating_sub(context)..=at + context).any(|at| at < lines.len() && matches(at))
        };
        let mut expected: Vec<String> = Vec::new();
        let mut last = None;
        for at in (0..lines.len()).filter(|at| near(*at)) {
            if context > 0 && last.is_some_and(|last| last + 1 < at) {
                expected.push("⋯".to_owned());
            }
            let sign = if matches(at) { "│ " } else { ": " };
            expected.push(format!("{}{sign}{}", at + 1, lines.line(at)));
            last = Some(at);
        }
        prop_assert_eq!(answer.body, expected.join("\n"));
    }

    #[test]
    fn words_in_an_indented_document_select_their_rows(values in proptest::collection::vec("[ab\"\\\\\n,{}é]{0,4}", 1..20), before in "[ab]{0,2}") {
        let rows: Vec<serde_json::Value> = values.iter().map(|v| serde_json::json!({"v": v, "n": [v]})).collect();
        let text = serde_json::to_string_pretty(&serde_json::json!({"x": before, "rows": rows})).expect("JSON");
        let answer = query("ab").check().expect("a query").apply(&text, None, &limits()).expect("an answer");
        let expected: Vec<String> = rows.iter().enumerate().filter(|(_, row)| row["v"].as_str().is_some_and(|v| v.contains("ab")))
            .map(|(at, row)| format!("{}│ {row}", at + 1)).collect();
        match expected.is_empty() {
            true => prop_assert_eq!(answer.unit, Unit::Lines),
            false => prop_assert_eq!(answer.body, expected.join("\n")),
        }
    }
}
