//! The pruner as an MCP server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_wire::Raw;
use serde_json::json;

use super::{Pruner, PrunerError};
use crate::builtin::{Call, RpcError, Server, error_result, one_page};

/// One connection to the pruner, which all of them share.
pub(in crate::builtin) struct Pruning(pub(in crate::builtin) Arc<Pruner>);

impl Server for Pruning {
    fn info(&self) -> Raw {
        self.0.info()
    }

    fn capabilities(&self) -> Raw {
        Raw::from_static(r#"{"tools":{}}"#)
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
        match self.0.call(&name, call.member("arguments")).await {
            Ok(result) => Ok(result),
            Err(PrunerError::UnknownTool(name)) => {
                Err(RpcError::params(format!("Unknown tool: {name}")))
            }
            Err(PrunerError::Arguments(wrong)) => Err(RpcError::params(wrong)),
            Err(PrunerError::NotFound(receipt)) => {
                let said = json!({ "code": "prune_id_not_found", "prune_id": receipt });
                Ok(error_result(&said.to_string()))
            }
            Err(PrunerError::InvalidRange { max_line }) => {
                let said = json!({ "code": "invalid_range", "max_line": max_line });
                Ok(error_result(&said.to_string()))
            }
        }
    }
}
