//! An MCP client: requests and responses, independent of the transport.

use hyper::Uri;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::channel::{Channel, Transport};
use crate::Fault;

const REVISION: &str = "2025-11-25";
/// The only revision that includes HTTP+SSE.
const REVISION_OF_SSE: &str = "2024-11-05";

/// The expected content of a result, compared as raw text. Decoding every response would cost this
/// client more than it costs the server to produce one.
#[derive(Clone, clap::Args)]
#[group(multiple = false)]
pub(super) struct Expected {
    /// Expect this text in every answer, as encoded in JSON
    #[arg(long)]
    expect: Option<String>,
    /// Expect at least this many bytes in every answer
    #[arg(long)]
    min_bytes: Option<usize>,
}

impl Expected {
    fn check(&self, result: &str) -> Result<(), Fault> {
        if let Some(text) = &self.expect
            && !result.contains(text.as_str())
        {
            return Err(format!("another answer than expected: {result:.200}").into());
        }
        if let Some(least) = self.min_bytes
            && result.len() < least
        {
            return Err(format!("an answer of {} bytes only", result.len()).into());
        }
        Ok(())
    }
}

pub(super) struct Session {
    channel: Channel,
    last_id: u64,
}

impl Session {
    /// Connects and initializes. Sessions with different numbers never use the same request id, so
    /// that an answer sent to the wrong session is noticed.
    pub(super) async fn open(
        transport: Transport,
        url: &Uri,
        number: u64,
    ) -> Result<Session, Fault> {
        let mut session = Session {
            channel: Channel::open(transport, url).await?,
            last_id: number << 32,
        };
        let revision = match transport {
            Transport::Sse => REVISION_OF_SSE,
            Transport::Http | Transport::Ws => REVISION,
        };
        let params = json!({
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": { "name": "narrows-bench", "version": env!("CARGO_PKG_VERSION") },
        });
        let welcome = session.ask("initialize", &params.to_string()).await?;
        let welcome: Welcome = serde_json::from_str(welcome.get())?;
        session.channel.agree(&welcome.protocol_version)?;
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        session.channel.send(note.to_string()).await?;
        Ok(session)
    }

    pub(super) async fn list_tools(&mut self) -> Result<Vec<String>, Fault> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask("tools/list", &params.to_string()).await?;
            let page: Page = serde_json::from_str(page.get())?;
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            match page.next_cursor {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(names),
            }
        }
    }

    pub(super) async fn call(
        &mut self,
        method: &str,
        params: &str,
        expected: &Expected,
    ) -> Result<(), Fault> {
        let result = self.ask(method, params).await?;
        let outcome: Outcome = serde_json::from_str(result.get())?;
        match outcome.is_error {
            true => Err(format!("the tool failed: {:.200}", result.get()).into()),
            false => expected.check(result.get()),
        }
    }

    pub(super) async fn close(self) -> Result<(), Fault> {
        self.channel.close().await
    }

    async fn ask(&mut self, method: &str, params: &str) -> Result<Box<RawValue>, Fault> {
        self.last_id += 1;
        let id = self.last_id;
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.channel.send(message).await?;
        loop {
            let text = self.channel.receive().await?;
            let reply: Reply<'_> = serde_json::from_slice(&text)?;
            match (reply.result, reply.error) {
                // A notification, or a request that needs no answer here.
                _ if reply.method.is_some() => {}
                _ if reply.id != Some(id) => return Err(format!("not {id}: {reply:.200?}").into()),
                (Some(result), None) => return Ok(result.to_owned()),
                (_, error) => return Err(format!("{method}: error {error:?}").into()),
            }
        }
    }
}

#[derive(Debug, Deserialize)]
struct Reply<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Welcome {
    protocol_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Tool>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    #[serde(default)]
    is_error: bool,
}
