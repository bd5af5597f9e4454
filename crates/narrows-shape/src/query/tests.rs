mod lines;
mod properties;
mod rows;

use expect_test::Expect;

use super::*;

fn limits() -> QueryLimits<'static> {
    const NEVER: &Deadline<'static> = &Deadline::never();
    QueryLimits {
        deadline: NEVER,
        diff_until: None,
    }
}

/// Returns the answer to a request as one text: the head line, then the body.
fn answer(text: &str, request: Request) -> String {
    let query = match request.check() {
        Ok(query) => query,
        Err(invalid) => {
            let corrected = invalid.corrected.as_ref();
            let corrected = corrected.map_or_else(String::new, |text| format!("; write {text}"));
            return format!("invalid: {invalid}{corrected}");
        }
    };
    match query.apply(text, None, &limits()) {
        Ok(answer) => format!("{}\n{}", answer.head(None), answer.body),
        Err(refused) => format!("{}: {refused}", refused.code()),
    }
}

#[track_caller]
fn check(text: &str, request: Request, expected: Expect) {
    // A raw string cannot contain a CR.
    expected.assert_eq(&answer(text, request).replace('\r', "\\r"));
}

fn query(text: &str) -> Request {
    Request {
        query: Some(text.to_owned()),
        ..Request::default()
    }
}

fn condition(text: &str) -> Request {
    Request {
        condition: Some(text.to_owned()),
        ..Request::default()
    }
}
