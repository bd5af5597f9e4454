//! The pruner as an MCP server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_wire::Raw;

use super::{Pruner, PrunerError};
use crate::builtin::{Call, RpcError, Server, one_page};
use narrows_results::recovery_store::Owner;
use narrows_wire::tool_result;

/// One connection to the pruner, which all of them share.
pub(in crate::builtin) struct Pruning(pub(in crate::builtin) Arc<Pruner>);

impl Server for Pruning {
    fn info(&self) -> Raw {
        self.0.info()
    }

    fn capabilities(&self) -> Raw {
        self.0.capabilities()
    }

    fn instructions(&self) -> &str {
        self.0.instructions()
    }

    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Raw, RpcError>> {
        Box::pin(async move {
            match &*call.method {
                "tools/list" => one_page(call, self.0.tools()),
                "tools/call" => self.call(call).await,
                method => Err(RpcError::unknown_method(method)),
            }
        })
    }
}

impl Pruning {
    /// MCP keeps the pruner's own numbers for errors to itself, so what is not
    /// found is said in a result, by the same words.
    async fn call(&self, call: &Call) -> Result<Raw, RpcError> {
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

/// What a model can do about it.
fn advice(wrong: &PrunerError) -> String {
    match wrong {
        PrunerError::NotFound(_) => "Nothing is kept under this prune_id, or not any more: \
            texts are kept for some minutes by the process that pruned them. Prune the text again."
            .to_owned(),
        PrunerError::InvalidRange { max_line } => {
            format!(
                "Lines are counted from 1 to {max_line}, and a range ends where it starts or later"
            )
        }
        other => other.to_string(),
    }
}
