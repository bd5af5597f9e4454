//! The pruner over plain JSON-RPC: one object per `POST /rpc`, one object in response.
//!
//! This is a separate server without sessions, beside the MCP endpoints. Clients of the original
//! pruner find it at the path that they expect.

use http::{Response, StatusCode};
use hyper::body::Incoming as RequestBody;
use narrows_gateway::Principal;
use narrows_gateway::Pruner;
use narrows_gateway::recovery_store::Owner;
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_wire::{Incoming, Message, Raw, Request, Revision, decode, encode_error};
use serde_json::json;

use super::Edge;
use super::body::{self, Body};
use super::{answer, entry};
use crate::error::{self, PrunerRefusal, Refused};

/// Answers a POST.
pub(super) async fn post(
    edge: &Edge,
    principal: &Principal,
    request: RequestBody,
    memory: &ClientMemory,
) -> Response<Body> {
    let mut permit = None;
    let read = body::read(request, edge.body_limits(memory), || {
        permit = entry::permit(edge, principal)?;
        Ok(())
    });
    let message = match read.await {
        Ok(bytes) => {
            let decoded = offload::run(bytes.len(), move || decode(bytes)).await;
            decoded.map_err(Refused::Message)
        }
        Err(refused) => Err(refused),
    };
    match message {
        Ok(Incoming::Single(Message::Request(request))) => {
            let permit = permit.map_or_else(|| edge.gateway.permit(principal), Ok);
            let _permit = match permit {
                Ok(permit) => permit,
                Err(failure) => {
                    let object = error::core(&failure, Revision::LATEST_LEGACY);
                    let message = encode_error(Some(&request.id), &object);
                    return match error::retry_after(&failure) {
                        Some(after) => {
                            answer::limited(StatusCode::TOO_MANY_REQUESTS, after, message)
                        }
                        None => answer::message(error::open_status(&failure), message),
                    };
                }
            };
            let id = request.id.clone();
            let gateway = edge.gateway.clone();
            let owner = Owner::pruner(principal.name());
            let answered = offload::polled(Box::pin(async move {
                offload::large(request.params.as_ref().map_or(0, Raw::len)).await;
                ask(gateway.pruner(), &owner, &request).await
            }));
            match answered.await {
                Ok(result) => {
                    let result = memory.responses.hold_raw(result);
                    let answer = answer::json(StatusCode::OK, Body::result(&id, result));
                    answer::charged_to(answer, memory)
                }
                Err(refusal) => {
                    let error = encode_error(Some(&id), &refusal.object());
                    answer::message(StatusCode::OK, error)
                }
            }
        }
        Ok(Incoming::Single(Message::Notification(_))) => answer::empty(StatusCode::ACCEPTED),
        Ok(Incoming::Single(Message::Response(_)) | Incoming::Batch(_)) => {
            answer::refused(None, &Refused::NoRequest)
        }
        Err(refused) => answer::refused(None, &refused),
    }
}

async fn ask(pruner: &Pruner, owner: &Owner, request: &Request) -> Result<Raw, PrunerRefusal> {
    let member = |name: &str| request.params.as_ref()?.member(name);
    match &*request.method {
        "initialize" => Ok(initialize(pruner, member("protocolVersion"))),
        "ping" | "notifications/initialized" => Ok(Raw::empty_object()),
        "health" => Ok(Raw::from_serialize(&pruner.health())),
        "tools/list" => Ok(pruner.tools()),
        "tools/call" => {
            let name = member("name");
            let name = name.as_ref().and_then(Raw::as_text);
            let name = name.ok_or(PrunerRefusal::NoName)?;
            let result = pruner.call(owner, &name, member("arguments")).await;
            result.map_err(PrunerRefusal::Pruner)
        }
        "resources/list" => Ok(Raw::from_static(r#"{"resources":[]}"#)),
        "resources/templates/list" => Ok(Raw::from_static(r#"{"resourceTemplates":[]}"#)),
        "prompts/list" => Ok(Raw::from_static(r#"{"prompts":[]}"#)),
        method => Err(PrunerRefusal::UnknownMethod(method.to_owned())),
    }
}

fn initialize(pruner: &Pruner, asked: Option<Raw>) -> Raw {
    let asked = asked.as_ref().and_then(Raw::as_text).unwrap_or_default();
    let hello = json!({
        "protocolVersion": Revision::negotiate(&asked).to_string(),
        "capabilities": null,
        "serverInfo": null,
        "instructions": pruner.instructions(),
    });
    Raw::from_serialize(&hello)
        .with_member("capabilities", &pruner.capabilities())
        .with_member("serverInfo", &pruner.info())
}
