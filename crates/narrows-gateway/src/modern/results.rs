//! Results in the form of the modern era.

use narrows_upstream::Error as UpstreamError;
use narrows_wire::modern::{self, CacheHint, ResultFields, ResultType, SUBSCRIPTION_ID};
use narrows_wire::{Id, Raw};

use crate::catalogue::View;
use crate::error::Error;

/// The code of earlier revisions for an unknown resource.
const RESOURCE_NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;

/// Adds the members that the revision requires of the result of a method.
pub(super) fn complete(method: &str, view: &View, result: &Raw) -> Raw {
    let cache = modern::is_cacheable(method).then(|| match method {
        "resources/read" => ResultFields::read(result).cache.unwrap_or(CacheHint::NONE),
        _ => CacheHint::NONE,
    });
    fields(ResultType::Complete, cache, view).add_to(result)
}

/// Returns the result that asks the client.
pub(super) fn input_required(view: &View, requests: &Raw, state: &str) -> Raw {
    let result = Raw::empty_object()
        .with_member("inputRequests", requests)
        .with_member("requestState", &Raw::string(state));
    fields(ResultType::InputRequired, None, view).add_to(&result)
}

/// Returns the result that ends a `subscriptions/listen` stream.
pub(super) fn listened(view: &View, id: &Id) -> Raw {
    let meta = Raw::empty_object().with_member(SUBSCRIPTION_ID, id.as_raw());
    let result = Raw::empty_object().with_member("_meta", &meta);
    fields(ResultType::Complete, None, view).add_to(&result)
}

/// Converts the error of a server to one of this revision.
pub(super) fn error(method: &str, error: Error) -> Error {
    match error {
        Error::Upstream(UpstreamError::Answered(raw)) if method == "resources/read" => {
            let code = raw.member("code").and_then(|code| code.as_i64());
            let raw = match code {
                Some(RESOURCE_NOT_FOUND) => {
                    raw.with_member("code", &Raw::from_serialize(&INVALID_PARAMS))
                }
                _ => raw,
            };
            UpstreamError::Answered(raw).into()
        }
        error => error,
    }
}

fn fields(result_type: ResultType, cache: Option<CacheHint>, view: &View) -> ResultFields {
    ResultFields {
        result_type,
        cache,
        server_info: Some(view.server_info.clone()),
    }
}
