//! Endpoints that join all servers, and their tool lists.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use http::StatusCode;
use narrows_gateway::{EndpointReport, Gateway, ListedTool};
use narrows_shape::estimate_tokens;

use super::answer::{self, Catalogue, CatalogueTool, Endpoint, Endpoints, JsonAnswer};
use super::ask::{EndpointQuery, PresetChoice, SaveOption};
use super::description::{Always, ForBodies, ForChanges, ForItems, NameInPath};
use super::given::{JsonBody, NameSegment, NoParams, Params};
use super::refusal::Refusal;
use super::{AdminState, change};
use crate::admin::{Change, TokenOrigin};

#[cfg(test)]
mod tests;

/// Lists all endpoints that join the servers
#[utoipa::path(
    get,
    path = "/endpoints",
    tag = "endpoints",
    responses((status = 200, description = "The endpoints", body = Endpoints), Always)
)]
pub(super) async fn list_endpoints(
    State(admin): State<Arc<AdminState>>,
    _: NoParams,
) -> JsonAnswer<Endpoints> {
    let gateway = admin.gateway();
    let all = gateway.endpoints().into_iter();
    let endpoints = all.map(|report| {
        let tokens = listed(gateway, &report.name).map_or(0, |(_, tokens)| tokens);
        endpoint(report, tokens)
    });
    let endpoints = endpoints.collect();
    JsonAnswer(StatusCode::OK, Endpoints { endpoints })
}

/// Sets or removes the preset of an endpoint
#[utoipa::path(
    put,
    path = "/endpoints/{name}/preset",
    tag = "endpoints",
    params(NameInPath, SaveOption),
    request_body = PresetChoice,
    responses(
        (status = 200, description = "The result of the change", body = answer::ChangeResult),
        Always,
        ForBodies,
        ForItems,
        ForChanges
    )
)]
pub(super) async fn switch_endpoint_preset(
    State(admin): State<Arc<AdminState>>,
    Extension(by): Extension<TokenOrigin>,
    NameSegment(endpoint): NameSegment,
    Params(save): Params<SaveOption>,
    JsonBody(choice): JsonBody<PresetChoice>,
) -> Result<JsonAnswer<answer::ChangeResult>, Refusal> {
    let preset = choice.preset.map(|name| name.0);
    let change = Change::SwitchPreset { endpoint, preset };
    let made = change::make(&admin, by, &save, change).await?;
    Ok(JsonAnswer(StatusCode::OK, made))
}

/// Lists the tools of an endpoint, as seen by clients without a preset of their own
#[utoipa::path(
    get,
    path = "/catalogue",
    tag = "endpoints",
    params(EndpointQuery),
    responses(
        (status = 200, description = "The tools", body = Catalogue),
        Always,
        ForItems
    )
)]
pub(super) async fn get_catalogue(
    State(admin): State<Arc<AdminState>>,
    Params(which): Params<EndpointQuery>,
) -> Result<JsonAnswer<Catalogue>, Refusal> {
    let endpoint = which.endpoint.0;
    let Some((tools, tokens)) = listed(admin.gateway(), &endpoint) else {
        return Err(Refusal::Unknown {
            kind: "endpoint",
            name: endpoint,
        });
    };
    let catalogue = Catalogue {
        endpoint,
        tools,
        tokens,
    };
    Ok(JsonAnswer(StatusCode::OK, catalogue))
}

/// Returns the tools of an endpoint and their total token estimate.
fn listed(gateway: &Gateway, endpoint: &str) -> Option<(Vec<CatalogueTool>, usize)> {
    let tool = |tool: ListedTool| CatalogueTool {
        name: tool.name,
        server: tool.server,
        tokens: estimate_tokens(tool.raw.as_str()),
        bytes: tool.raw.len(),
    };
    let tools = gateway.catalogue(endpoint)?.into_iter().map(tool);
    let tools: Vec<CatalogueTool> = tools.collect();
    let tokens = tools.iter().map(|tool| tool.tokens).sum();
    Some((tools, tokens))
}

fn endpoint(report: EndpointReport, tokens: usize) -> Endpoint {
    Endpoint {
        path: path(&report.name),
        name: report.name,
        preset: report.preset,
        expose: report.expose,
        sessions: report.sessions,
        tools: report.tools,
        prompts: report.prompts,
        resources: report.resources,
        tokens,
    }
}

/// Returns the path of an endpoint. Its name can contain any character and is escaped to one path
/// segment.
fn path(name: &str) -> String {
    let mut path = String::from("/mcp");
    if name == "default" {
        return path;
    }
    path.push('/');
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                path.push(byte.into());
            }
            _ => {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}
