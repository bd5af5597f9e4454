//! The pruner as an MCP server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_wire::Raw;

use super::{Pruner, PrunerError};
use crate::builtin::{BuiltinCall, BuiltinServer, RpcError, one_page};
use narrows_results::recovery_store::Owner;
use narrows_wire::tool_result;

/// A connection to the shared pruner.
pub(in crate::builtin) struct PrunerServer(pub(in crate::builtin) Arc<Pruner>);

impl BuiltinServer for PrunerServer {
    fn info(&self) -> Raw {
        self.0.info()
    }

    fn capabilities(&self) -> Raw {
        self.0.capabilities()
    }

    fn instructions(&self) -> &str {
        self.0.instructions()
    }

    fn answer<'a>(&'a self, call: &'a BuiltinCall) -> BoxFuture<'a, Result<Raw, RpcError>> {
        Box::pin(async move {
            match &*call.method {
                "tools/list" => one_page(call, self.0.tools()),
                "tools/call" => self.call(call).await,
                method => Err(RpcError::unknown_method(method)),
            }
        })
    }
}

impl PrunerServer {
    /// Handles `tools/call`. MCP reserves the error codes that the pruner uses for missing texts
    /// and invalid ranges, so these errors are sent as results with the same `code` words.
    async fn call(&self, call: &BuiltinCall) -> Result<Raw, RpcError> {
        let name = call.text("name")?;
        let owner = Owner::pruner(call.principal().as_deref());
        match self.0.call(&owner, &name, call.member("arguments")).await {
            Ok(result) => Ok(result),
            Err(wrong @ (PrunerError::UnknownTool(_) | PrunerError::Arguments(_))) => {
                Err(RpcError::params(wrong.to_string()))
            }
            Err(wrong) => {
                let mut said = wrong.data();
                said["message"] = advice(&wrong).into();
                Ok(tool_result::error(&said.to_string()))
            }
        }
    }
}

/// Returns the error text for a model, with advice on how to continue.
fn advice(wrong: &PrunerError) -> String {
    match wrong {
        PrunerError::NotFound(_) => "This prune_id is unknown or has expired: \
            the process that pruned a text keeps it only for some minutes. Prune the text again."
            .to_owned(),
        PrunerError::InvalidRange { max_line } => {
            format!(
                "Lines are numbered from 1 to {max_line}, and a range must not end before it starts"
            )
        }
        other => other.to_string(),
    }
}
