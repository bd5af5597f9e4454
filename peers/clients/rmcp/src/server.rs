//! A small server on stdin and stdout, written with the Rust SDK.

use rmcp::{
    ServerHandler, ServiceExt, handler::server::wrapper::Parameters, tool, tool_handler,
    tool_router, transport::stdio,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text to reverse.
    text: String,
}

#[derive(Clone)]
struct Peer;

#[tool_router]
impl Peer {
    #[tool(description = "Adds two whole numbers.")]
    async fn add(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> String {
        a.saturating_add(b).to_string()
    }

    #[tool(description = "Reverses a text.")]
    async fn reverse(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.chars().rev().collect()
    }
}

#[tool_handler]
impl ServerHandler for Peer {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    Peer.serve(stdio()).await?.waiting().await?;
    Ok(())
}
