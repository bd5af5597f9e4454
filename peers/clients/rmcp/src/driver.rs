//! The Rust SDK as a client. See ../../README.md for the options.

// These features are deprecated in the SDK, but still tested here.
#![allow(deprecated)]

use std::{
    process::{ExitCode, Stdio},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use rmcp::{
    ClientHandler, ErrorData, ServiceExt,
    model::{
        CallToolRequest, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
        ResourceUpdatedNotificationParam,
    },
    service::{
        NotificationContext, PeerRequestOptions, RequestContext, RoleClient, RunningService,
    },
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const ROOT: &str = "file:///narrows/root";
const MODEL_ANSWER: &str = "Charybdis, from the Rust SDK";
const DEADLINE: Duration = Duration::from_secs(20);
const FEATURES: [&str; 12] = [
    "list",
    "call",
    "read",
    "prompt",
    "complete",
    "subscribe",
    "sampling",
    "elicitation",
    "roots",
    "progress",
    "cancel",
    "logging",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse(std::env::args().skip(1))?;
    let mut passed = 0;
    let mut failed = 0;
    match Driver::connect(&options).await {
        Err(error) => {
            failed += 1;
            println!("FAIL connect: {error:#}");
        }
        Ok(mut driver) => {
            for feature in FEATURES {
                if options.skip.iter().any(|skipped| skipped == feature) {
                    continue;
                }
                let outcome = timeout(DEADLINE, driver.run(feature)).await;
                match outcome.unwrap_or_else(|_| bail!("took more than {DEADLINE:?}")) {
                    Ok(()) => {
                        passed += 1;
                        println!("ok {feature}");
                    }
                    Err(error) => {
                        failed += 1;
                        println!("FAIL {feature}: {error:#}");
                    }
                }
            }
            driver.client.cancel().await?;
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(ExitCode::from(u8::from(failed > 0)))
}

struct Driver {
    client: RunningService<RoleClient, Handler>,
    seen: Arc<Mutex<Seen>>,
    profile: Value,
    server: Option<String>,
    tools: Vec<String>,
}

impl Driver {
    async fn connect(options: &Options) -> Result<Self> {
        let profiles: Value = serde_json::from_str(include_str!("../../profiles.json"))?;
        let profile = profiles[&options.profile].clone();
        ensure!(profile.is_object(), "no profile {}", options.profile);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let handler = Handler {
            seen: seen.clone(),
            elicited: profile["elicitation"]["answer"].clone(),
        };
        let client = match &options.transport {
            ServerTransport::Http(url) => {
                handler
                    .serve(StreamableHttpClientTransport::from_uri(url.as_str()))
                    .await?
            }
            ServerTransport::Stdio(command, args) => {
                let mut child = tokio::process::Command::new(command);
                child.args(args);
                let (transport, _) = TokioChildProcess::builder(child)
                    .stderr(Stdio::null())
                    .spawn()?;
                handler.serve(transport).await?
            }
        };
        let server = options.server.clone();
        Ok(Driver {
            client,
            seen,
            profile,
            server,
            tools: Vec::new(),
        })
    }

    async fn run(&mut self, feature: &str) -> Result<()> {
        match feature {
            "list" => self.list().await,
            "call" => self.call().await,
            "read" => self.read().await,
            "prompt" => self.prompt().await,
            "complete" => self.complete().await,
            "subscribe" => self.subscribe().await,
            "sampling" => self.sampling().await,
            "elicitation" => self.elicitation().await,
            "roots" => self.roots().await,
            "progress" => self.progress().await,
            "cancel" => self.cancel().await,
            "logging" => self.logging().await,
            other => bail!("no feature {other}"),
        }
    }

    async fn list(&mut self) -> Result<()> {
        let tools = self.client.list_all_tools().await?;
        self.tools = tools
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect();
        let mut sorted = self.tools.clone();
        sorted.sort();
        sorted.dedup();
        ensure!(
            sorted.len() == self.tools.len(),
            "a tool is listed twice: {:?}",
            self.tools
        );
        self.named(text(&self.profile["call"]["tool"]), &self.tools)?;
        Ok(())
    }

    async fn call(&self) -> Result<()> {
        let wanted = &self.profile["call"];
        contains(&self.call_tool(wanted).await?, text(&wanted["contains"]))
    }

    async fn read(&self) -> Result<()> {
        let wanted = &self.profile["read"];
        let uri = text(&wanted["uri"]);
        let listed = self.client.list_all_resources().await?;
        ensure!(
            listed.iter().any(|resource| resource.uri == uri),
            "{uri} is not listed"
        );
        let result = self
            .client
            .read_resource(made(json!({ "uri": uri }))?)
            .await?;
        contains(&result, text(&wanted["contains"]))?;
        contains(&result, uri)
    }

    async fn prompt(&self) -> Result<()> {
        let wanted = &self.profile["prompt"];
        let name = self.prompt_name(text(&wanted["name"])).await?;
        let params = made(json!({ "name": name, "arguments": wanted["arguments"] }))?;
        contains(
            &self.client.get_prompt(params).await?,
            text(&wanted["contains"]),
        )
    }

    async fn complete(&self) -> Result<()> {
        let wanted = &self.profile["complete"];
        let name = self.prompt_name(text(&wanted["prompt"])).await?;
        let (argument, value) = (text(&wanted["argument"]), text(&wanted["value"]));
        let values = self
            .client
            .complete_prompt_simple(name, argument, value)
            .await?;
        let expected = text(&wanted["expect"]);
        ensure!(
            values.iter().any(|value| value == expected),
            "{expected} is not in {values:?}"
        );
        Ok(())
    }

    async fn subscribe(&self) -> Result<()> {
        let wanted = &self.profile["subscribe"];
        let uri = text(&wanted["uri"]);
        self.client.subscribe(made(json!({ "uri": uri }))?).await?;
        self.call_tool(wanted).await?;
        self.until("no update arrived", |seen| {
            seen.updated.iter().any(|updated| updated == uri)
        })
        .await?;
        self.client
            .unsubscribe(made(json!({ "uri": uri }))?)
            .await?;
        Ok(())
    }

    async fn sampling(&self) -> Result<()> {
        let wanted = &self.profile["sampling"];
        contains(&self.call_tool(wanted).await?, MODEL_ANSWER)?;
        let asked = text(&wanted["asked"]);
        let questions = lock(&self.seen).sampled.clone();
        ensure!(
            questions.iter().any(|question| question.contains(asked)),
            "{questions:?}"
        );
        Ok(())
    }

    async fn elicitation(&self) -> Result<()> {
        let wanted = &self.profile["elicitation"];
        contains(&self.call_tool(wanted).await?, text(&wanted["contains"]))?;
        let times = lock(&self.seen).elicited;
        ensure!(times == 1, "asked {times} times");
        Ok(())
    }

    async fn roots(&self) -> Result<()> {
        contains(&self.call_tool(&self.profile["roots"]).await?, ROOT)?;
        ensure!(
            lock(&self.seen).roots > 0,
            "the server never asked for the roots"
        );
        Ok(())
    }

    async fn progress(&self) -> Result<()> {
        let wanted = &self.profile["progress"];
        let options = PeerRequestOptions::no_options();
        let handle = self
            .client
            .send_cancellable_request(self.request(wanted)?, options)
            .await?;
        let token = json!(handle.progress_token);
        handle.await_response().await?;
        let count = wanted["notices"].as_u64().context("notices")?;
        let notices = |seen: &Seen| -> Vec<f64> {
            seen.progress
                .iter()
                .filter(|(of, _)| *of == token)
                .map(|(_, at)| *at)
                .collect()
        };
        // Notifications are handled in separate tasks, which may run after the result.
        self.until("notices are missing", |seen| {
            notices(seen).len() as u64 >= count
        })
        .await?;
        let got = notices(&lock(&self.seen));
        ensure!(got.len() as u64 == count, "{} notices: {got:?}", got.len());
        ensure!(got.is_sorted_by(|a, b| a < b), "not rising: {got:?}");
        Ok(())
    }

    async fn cancel(&self) -> Result<()> {
        let wanted = &self.profile["cancel"];
        let before = self.cancellations(wanted).await?;
        let options = PeerRequestOptions::no_options();
        let handle = self
            .client
            .send_cancellable_request(self.request(wanted)?, options)
            .await?;
        let token = json!(handle.progress_token);
        // Cancels only after the server has started working on the call.
        self.until("the call never began", |seen| {
            seen.progress.iter().any(|(of, _)| *of == token)
        })
        .await?;
        handle
            .cancel(Some("the driver changed its mind".into()))
            .await?;
        let end = Instant::now() + DEADLINE / 2;
        while before.is_some() && self.cancellations(wanted).await? == before {
            ensure!(
                Instant::now() < end,
                "the server never saw the cancellation"
            );
            sleep(Duration::from_millis(20)).await;
        }
        self.call().await
    }

    async fn logging(&self) -> Result<()> {
        self.client
            .set_level(made(json!({ "level": "debug" }))?)
            .await?;
        let before = lock(&self.seen).logs;
        self.call_tool(&self.profile["logging"]).await?;
        self.until("no log message arrived", |seen| seen.logs > before)
            .await
    }

    async fn cancellations(&self, wanted: &Value) -> Result<Option<u64>> {
        if wanted["counter"].is_null() {
            return Ok(None);
        }
        let result = self
            .call_tool(&json!({ "tool": wanted["counter"] }))
            .await?;
        let count = serde_json::to_value(&result)?["content"][0]["text"].clone();
        Ok(Some(text(&count).parse()?))
    }

    async fn call_tool(&self, wanted: &Value) -> Result<CallToolResult> {
        let result = self
            .client
            .call_tool(made(self.arguments(wanted)?)?)
            .await?;
        ensure!(
            result.is_error != Some(true),
            "the tool failed: {:?}",
            result.content
        );
        Ok(result)
    }

    fn request(&self, wanted: &Value) -> Result<ClientRequest> {
        let params = made(self.arguments(wanted)?)?;
        Ok(ClientRequest::CallToolRequest(CallToolRequest::new(params)))
    }

    fn arguments(&self, wanted: &Value) -> Result<Value> {
        let name = self.named(text(&wanted["tool"]), &self.tools)?;
        let given = if wanted["arguments"].is_null() {
            json!({})
        } else {
            wanted["arguments"].clone()
        };
        Ok(json!({ "name": name, "arguments": given }))
    }

    async fn prompt_name(&self, name: &str) -> Result<String> {
        let prompts = self.client.list_all_prompts().await?;
        let names: Vec<_> = prompts.into_iter().map(|prompt| prompt.name).collect();
        self.named(name, &names)
    }

    /// Returns the published name: the name itself, or the one under the selected server, or under
    /// the only server that has it.
    fn named(&self, name: &str, published: &[String]) -> Result<String> {
        if published.iter().any(|entry| entry == name) {
            return Ok(name.into());
        }
        let fits = |entry: &&String| match &self.server {
            Some(server) => **entry == format!("{server}__{name}"),
            None => entry.ends_with(&format!("__{name}")),
        };
        let found: Vec<_> = published.iter().filter(fits).collect();
        ensure!(
            found.len() == 1,
            "{name} is published as {found:?} among {}",
            published.len()
        );
        Ok(found[0].clone())
    }

    async fn until(&self, why: &str, holds: impl Fn(&Seen) -> bool) -> Result<()> {
        let end = Instant::now() + DEADLINE / 2;
        while !holds(&lock(&self.seen)) {
            ensure!(Instant::now() < end, "{why}");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// The requests and notifications received from the server.
#[derive(Default)]
struct Seen {
    sampled: Vec<String>,
    elicited: usize,
    roots: usize,
    updated: Vec<String>,
    logs: usize,
    progress: Vec<(Value, f64)>,
}

struct Handler {
    seen: Arc<Mutex<Seen>>,
    elicited: Value,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = made(json!({
            "sampling": {}, "elicitation": {}, "roots": { "listChanged": true }
        }))
        .expect("these are capabilities");
        let mut info = ClientConfig::default();
        info.capabilities = capabilities;
        info
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let question = serde_json::to_string(&params).unwrap_or_default();
        lock(&self.seen).sampled.push(question);
        answer(json!({
            "role": "assistant",
            "content": { "type": "text", "text": MODEL_ANSWER },
            "model": "driver",
            "stopReason": "endTurn"
        }))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        lock(&self.seen).elicited += 1;
        answer(json!({ "action": "accept", "content": self.elicited }))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        lock(&self.seen).roots += 1;
        answer(json!({ "roots": [{ "uri": ROOT, "name": "narrows root" }] }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        lock(&self.seen)
            .progress
            .push((json!(params.progress_token), params.progress));
    }

    async fn on_logging_message(
        &self,
        _: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        lock(&self.seen).logs += 1;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        lock(&self.seen).updated.push(params.uri);
    }
}

enum ServerTransport {
    Http(String),
    Stdio(String, Vec<String>),
}

struct Options {
    profile: String,
    server: Option<String>,
    skip: Vec<String>,
    transport: ServerTransport,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (mut profile, mut server, mut skip, mut transport) =
            ("everything".into(), None, Vec::new(), None);
        while let Some(flag) = args.next() {
            let value = args
                .next()
                .with_context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--profile" => profile = value,
                "--server" => server = Some(value),
                "--skip" => skip = value.split(',').map(Into::into).collect(),
                "--http" => transport = Some(ServerTransport::Http(value)),
                "--stdio" => transport = Some(ServerTransport::Stdio(value, args.by_ref().collect())),
                _ => bail!("unknown option {flag}"),
            }
        }
        let transport = transport.context("say --http URL or --stdio COMMAND ARGS...")?;
        Ok(Options {
            profile,
            server,
            skip,
            transport,
        })
    }
}

/// Builds an SDK value from JSON, because most SDK types cannot be constructed directly.
fn made<T: DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn answer<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn contains(result: &impl Serialize, wanted: &str) -> Result<()> {
    let found = serde_json::to_string(result)?;
    ensure!(found.contains(wanted), "'{wanted}' is not in {found:.400}");
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock()
        .expect("no handler panics while it holds the lock")
}
