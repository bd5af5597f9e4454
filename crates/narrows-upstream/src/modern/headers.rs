//! The HTTP headers that repeat parts of a request.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use narrows_wire::Raw;
use narrows_wire::modern::{ParamHeader, header, name_member, param_headers};
use parking_lot::RwLock;

use crate::request::Outgoing;

/// The maximum number of tools with such headers. A server with more is not well.
const MAX_TOOLS: usize = 10_000;

/// The tools of a server whose arguments headers repeat. All links to the server share it.
#[derive(Default)]
pub(crate) struct ParamHeaders(RwLock<HashMap<Box<str>, Arc<[ParamHeader]>>>);

impl ParamHeaders {
    /// Records the headers of a tool. Returns false, after a warning, if its definition is not
    /// valid (MCP 2026-07-28, Streamable HTTP, schema extension: such tools must be left out).
    pub(super) fn record(&self, server: &str, tool: &Raw) -> bool {
        let Some(name) = tool.member("name") else {
            return true;
        };
        let Some(name) = name.as_text() else {
            return true;
        };
        let schema = tool.member("inputSchema");
        let found = match schema.as_ref().map(param_headers) {
            Some(Ok(found)) => found,
            None => Vec::new(),
            Some(Err(error)) => {
                self.0.write().remove(&*name);
                let tool: String = name.chars().take(200).collect();
                tracing::warn!(server, tool, "the tool is left out: {error}");
                return false;
            }
        };
        if found.is_empty() {
            if self.0.read().contains_key(&*name) {
                self.0.write().remove(&*name);
            }
            return true;
        }
        let mut tools = self.0.write();
        if tools.len() >= MAX_TOOLS {
            tools.clear();
        }
        tools.insert(name.into(), found.into());
        true
    }

    fn of(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.0.read().get(tool).cloned()
    }
}

/// Returns the headers of a request.
pub(super) fn of(call: &Outgoing<'_>, tools: &ParamHeaders) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    put(&mut headers, header::METHOD, call.method);
    let Some(params) = &call.params else {
        return headers;
    };
    let Some(place) = name_member(call.method).and_then(|member| params.member(member)) else {
        return headers;
    };
    let name = match &call.rename {
        Some((renamed, own)) if *renamed == place => own.clone(),
        _ => place,
    };
    let Some(name) = name.as_text() else {
        return headers;
    };
    put(&mut headers, header::NAME, &header::encode(&name));
    if call.method == "tools/call"
        && let Some(repeated) = tools.of(&name)
    {
        let arguments = params.member("arguments");
        let arguments = arguments.unwrap_or_else(Raw::empty_object);
        for param in repeated.iter() {
            if let Some(value) = param.encode(&arguments) {
                put(&mut headers, &param.header, &value);
            }
        }
    }
    headers
}

/// Adds a header. A text that no header can carry is left out, and the server rejects the request.
fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let Ok(name) = HeaderName::from_bytes(name.as_bytes())
        && let Ok(value) = HeaderValue::from_str(value)
    {
        headers.insert(name, value);
    }
}
