//! The parts of the OpenAPI description that handlers do not supply: info, authentication, and
//! shared error responses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, ResponseBuilder};
use utoipa::openapi::{Response as Described, Type};
use utoipa::{IntoParams, IntoResponses, OpenApi as _};

use super::given::NoParams;
use super::parts;
use super::refusal::ErrorBody;
use crate::http::routes::ADMIN;

/// Error responses of every route.
pub(super) struct Always;

/// Error responses of routes that read a body.
pub(super) struct ForBodies;

/// Error responses of routes that address one item.
pub(super) struct ForItems;

/// Error responses of routes that require an item in a certain state.
pub(super) struct ForConflicts;

/// Error responses of routes that change the configuration.
pub(super) struct ForChanges;

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(
    dead_code,
    reason = "used only for the OpenAPI description; `Named` parses the value"
)]
pub(super) struct IdInPath {
    /// The id in the configuration.
    #[param(min_length = 1, max_length = 256)]
    id: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(
    dead_code,
    reason = "used only for the OpenAPI description; `Named` parses the value"
)]
pub(super) struct NameInPath {
    /// The name in the configuration.
    #[param(min_length = 1, max_length = 256)]
    name: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(
    dead_code,
    reason = "used only for the OpenAPI description; `Numbered` parses the value"
)]
pub(super) struct NumberInPath {
    #[param(minimum = 1)]
    number: u64,
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Narrows admin API",
        description = "State and control of a running gateway. Changes last until the program ends, or are saved to the configuration file with `save=true`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    security(("token" = []))
)]
struct Frame;

/// Returns this OpenAPI description
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "status",
    responses((status = 200, description = "OpenAPI 3.1", body = Object), Always)
)]
pub(super) async fn get_description(_: NoParams) -> Response {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| text().into());
    let json = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, json)], TEXT.clone()).into_response()
}

/// Returns the complete description, as served and as stored in `docs/openapi.json`.
pub(super) fn text() -> String {
    let (_, mut api) = parts();
    let paths = std::mem::take(&mut api.paths.paths).into_iter();
    api.paths.paths = paths
        .map(|(path, item)| (format!("{ADMIN}{path}"), item))
        .collect();
    // The description consists of strings and always serializes.
    let mut text = api.to_pretty_json().expect("a description is JSON");
    text.push('\n');
    text
}

/// Returns the description without the routes.
pub(super) fn frame() -> OpenApi {
    let mut api = Frame::openapi();
    let components = api.components.get_or_insert_default();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The admin token, `nra_…`"))
        .build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    for (status, description) in REFUSALS {
        let refusal = RefOr::T(refusal(status, description));
        components.responses.insert(name(status), refusal);
    }
    api
}

/// The description of each error status.
const REFUSALS: [(&str, &str); 11] = [
    ("400", "The request is malformed or has unknown parameters"),
    ("401", "The admin token is missing or wrong"),
    (
        "403",
        "The client is on another machine, or its `Host` or `Origin` is not allowed",
    ),
    ("404", "The item does not exist"),
    ("408", "The body arrived too slowly"),
    (
        "409",
        "The item already exists or is disabled, or there is no file to save to",
    ),
    ("413", "The body is longer than 1 MiB"),
    ("415", "The body is not `application/json`"),
    (
        "422",
        "The resulting configuration would be invalid; `problems` lists the reasons",
    ),
    (
        "429",
        "Too many wrong tokens, or too many readers of the event stream",
    ),
    ("500", "The configuration file cannot be written"),
];

fn refusal(status: &str, description: &str) -> Described {
    let reference = Ref::from_schema_name("Error");
    let content = ContentBuilder::new().schema(Some(reference)).build();
    let response = ResponseBuilder::new()
        .description(description)
        .content("application/json", content);
    let header = match status {
        "401" => Some("WWW-Authenticate"),
        "429" => Some("Retry-After"),
        _ => None,
    };
    let response = match header {
        Some(name) => {
            let text = utoipa::openapi::Object::with_type(Type::String);
            response.header(name, HeaderBuilder::new().schema(text).build())
        }
        None => response,
    };
    response.build()
}

fn name(status: &str) -> String {
    format!("Refused{status}")
}

type Responses = BTreeMap<String, RefOr<Described>>;

fn refused<const N: usize>(statuses: [&str; N]) -> Responses {
    let named = |status: &str| {
        let refusal = Ref::from_response_name(name(status));
        (status.to_owned(), RefOr::Ref(refusal))
    };
    statuses.into_iter().map(named).collect()
}

impl IntoResponses for Always {
    fn responses() -> Responses {
        refused(["400", "401", "403", "429"])
    }
}

impl IntoResponses for ForBodies {
    fn responses() -> Responses {
        refused(["408", "413", "415"])
    }
}

impl IntoResponses for ForItems {
    fn responses() -> Responses {
        refused(["404"])
    }
}

impl IntoResponses for ForConflicts {
    fn responses() -> Responses {
        refused(["409"])
    }
}

impl IntoResponses for ForChanges {
    fn responses() -> Responses {
        refused(["409", "422", "500"])
    }
}
