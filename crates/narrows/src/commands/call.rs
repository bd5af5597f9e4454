//! `narrows call`: calls one tool through the same pipeline that clients use.

mod receipt;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use narrows_gateway::Principal;
use narrows_gateway::preset::DenialSource;
use narrows_gateway::settings::ModelReads;
use narrows_gateway::{
    EXEC_TOOL, Entrypoint, Error, GOAL_META, Gateway, Lifetime, Opened, RECOVER_TOOL, ResultTraits,
    UpstreamReport,
};
use narrows_shape::estimate_tokens;
use narrows_upstream::Error as UpstreamError;
use narrows_upstream::exchange::{Ask, ClientHello, Event, EventSink, Notice};
use narrows_wire::{Id, Kind, Raw, Request, Revision};
use serde_json::{Value, json};

use super::endpoint::{allowed, choose};
use super::{
    Exit, command_line, down_reason, load, only, refuse_server, rest_after, shell_word, suggest,
    warn_of_left_out, with_gateway,
};
use crate::cli::{Call, ConfigOption};
use crate::config::{Config, Environment};
use crate::terminal::{answer, eprint_line, grouped, plain};
use receipt::CallLimits;

/// The maximum number of notifications waiting to be shown.
const QUEUE: usize = 256;

pub(crate) async fn run(options: Call, environment: &Environment) -> anyhow::Result<Exit> {
    let mut config = match load(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    if let Err(exit) = choose(&mut config, &options.endpoint, None, None) {
        return Ok(exit);
    }
    let (wanted, arguments) = Wanted::of(&options);
    let candidates = match wanted.candidates(&config, &options.config) {
        Ok(candidates) => candidates,
        Err(exit) => return Ok(exit),
    };
    let max = config.checked.gateway.limits.max_message_bytes;
    let arguments = match read_arguments(arguments, max) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprint_line(format_args!("error: {error:#}"));
            return Ok(Exit::Usage);
        }
    };
    warn_of_left_out(&config);
    let mut settings = config.checked.gateway.clone();
    only(&mut settings, &candidates);
    let done = with_gateway(settings, async |gateway| {
        call(gateway, wanted, &candidates, &options, &config, arguments).await
    })
    .await?;
    Ok(done.unwrap_or(Exit::Failed))
}

/// The tool to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted<'a> {
    Tool {
        server: &'a str,
        tool: &'a str,
    },
    /// A published name, or the server's id, a separator and the tool's own name.
    Name(&'a str),
    /// The gateway's own tool that recovers cut text. It needs no server.
    Recover,
}

impl<'a> Wanted<'a> {
    /// Reads the tool and its arguments from the command line.
    fn of(options: &'a Call) -> (Wanted<'a>, Option<&'a str>) {
        let server = options.server.as_str();
        let is_own = server == RECOVER_TOOL;
        match (options.tool.as_deref(), options.arguments.as_deref()) {
            (None, arguments) if is_own => (Wanted::Recover, arguments),
            (Some(text), None) if is_own && are_arguments(text) => (Wanted::Recover, Some(text)),
            (None, arguments) => (Wanted::Name(server), arguments),
            (Some(text), None) if are_arguments(text) => (Wanted::Name(server), Some(text)),
            (Some(tool), arguments) => (Wanted::Tool { server, tool }, arguments),
        }
    }

    /// Returns the servers that may have the tool. Only these are started.
    fn candidates(self, config: &Config, option: &ConfigOption) -> Result<Vec<String>, Exit> {
        let name = match self {
            Wanted::Tool { server, .. } => {
                return match refuse_server(config, server) {
                    Some(exit) => Err(exit),
                    None => Ok(vec![server.to_owned()]),
                };
            }
            Wanted::Name(name) => name,
            Wanted::Recover => return Ok(Vec::new()),
        };
        let checked = &config.checked;
        let upstreams = checked.gateway.upstreams.iter();
        let left_out = checked.left_out.iter().map(|out| &out.id);
        let ids: Vec<&String> = upstreams
            .map(|upstream| &upstream.upstream.id)
            .chain(left_out)
            .collect();
        if ids.iter().any(|id| *id == name) {
            let shown = plain(name);
            eprint_line(format_args!(
                "error: '{shown}' is a server; name one of its tools"
            ));
            let command = command_line(&format!("tools {}", shell_word(name)), option);
            eprint_line(format_args!("  help: {command} lists them"));
            return Err(Exit::Usage);
        }
        let separator = checked.gateway.endpoints.first();
        let separator = separator.map_or("__", |endpoint| endpoint.separator.as_str());
        let fits = |id: &&&String| rest_after(name, id, separator).is_some();
        let fitting: Vec<String> = ids.iter().filter(fits).map(|id| (*id).clone()).collect();
        match &fitting[..] {
            // Published names may differ from ids, so every server must be tried.
            [] => Ok(ids.into_iter().cloned().collect()),
            [id] => match refuse_server(config, id) {
                Some(exit) => Err(exit),
                None => Ok(fitting),
            },
            _ => Ok(fitting),
        }
    }

    /// Returns the server and the tool's published name, or prints an error.
    fn find<'r>(
        self,
        report: &'r [UpstreamReport],
        candidates: &[String],
        option: &ConfigOption,
    ) -> Option<(Option<&'r UpstreamReport>, String)> {
        let name = match self {
            Wanted::Tool { server, tool } => {
                let server = report.iter().find(|known| known.id == server)?;
                return Some((Some(server), find_tool(server, tool, option)?));
            }
            Wanted::Recover => return Some((None, RECOVER_TOOL.to_owned())),
            Wanted::Name(name) => name,
        };
        let tools = || {
            let tools = |server: &'r UpstreamReport| server.tools.iter().map(move |t| (server, t));
            report.iter().flat_map(tools)
        };
        let own = |server: &UpstreamReport, tool: &str| {
            [&server.id, &server.slug]
                .into_iter()
                .any(|server| rest_after(name, server, "__") == Some(tool))
        };
        let found = tools()
            .find(|(_, tool)| tool.published == name)
            .or_else(|| tools().find(|(server, tool)| own(server, &tool.name)));
        if let Some((server, tool)) = found {
            return Some((Some(server), tool.published.clone()));
        }
        // A single candidate allows a more precise error message.
        if let [id] = candidates
            && let Some(server) = report.iter().find(|server| server.id == *id)
            && let Some(tool) = rest_after(name, id, "__")
        {
            return Some((Some(server), find_tool(server, tool, option)?));
        }
        let usable = report.iter().flat_map(allowed);
        let near = suggest(name, usable.map(|tool| tool.published.as_str()));
        eprint_line(format_args!(
            "error: there is no tool '{}'{near}",
            plain(name)
        ));
        let command = command_line("tools", option);
        eprint_line(format_args!("  help: {command} lists them"));
        None
    }
}

/// Returns true if the endpoint lists the tool but no server has it, such as `inspect`.
fn is_own(gateway: &Gateway, endpoint: &str, report: &[UpstreamReport], name: &str) -> bool {
    let of_server = |server: &UpstreamReport| server.tools.iter().any(|t| t.published == name);
    let listed = gateway.listed(endpoint).unwrap_or_default();
    let is_it = |tool: &Raw| tool.member("name").and_then(|n| Some(n.as_text()? == name));
    listed.iter().any(|tool| is_it(tool) == Some(true)) && !report.iter().any(of_server)
}

/// Returns true if the word is an argument object and not a tool name.
fn are_arguments(word: &str) -> bool {
    word == "-" || word.starts_with('@') || word.trim_start().starts_with('{')
}

/// Reads the arguments, a JSON object, from the command line, stdin or a file.
fn read_arguments(given: Option<&str>, max: usize) -> anyhow::Result<Raw> {
    let text = match given {
        None => return Ok(Raw::empty_object()),
        Some("-") => read_up_to(std::io::stdin().lock(), max).context("stdin cannot be read")?,
        Some(text) => match text.strip_prefix('@') {
            Some(path) => std::fs::File::open(path)
                .and_then(|file| read_up_to(file, max))
                .with_context(|| format!("{} cannot be read", plain(path)))?,
            None => text.as_bytes().to_vec(),
        },
    };
    if text.len() > max {
        let max = grouped(max);
        bail!("the arguments exceed the limit `max_message_bytes` of {max} bytes");
    }
    let arguments = Raw::parse(text.into()).context("the arguments are not JSON")?;
    if arguments.kind() != Kind::Object {
        bail!("the arguments are JSON, but not an object");
    }
    Ok(arguments)
}

/// Reads at most `max` + 1 bytes; the extra byte shows that the input is too long.
fn read_up_to(source: impl Read, max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    source.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

async fn call(
    gateway: &Gateway,
    wanted: Wanted<'_>,
    candidates: &[String],
    options: &Call,
    config: &Config,
    arguments: Raw,
) -> anyhow::Result<Exit> {
    let report = gateway.report();
    let found = match wanted {
        Wanted::Name(name) if is_own(gateway, &options.endpoint, &report, name) => {
            Some((None, name.to_owned()))
        }
        wanted => wanted.find(&report, candidates, &options.config),
    };
    let Some((server, published)) = found else {
        return Ok(Exit::Failed);
    };

    let client = ClientHello {
        // Declares no capabilities, because this command cannot answer requests from servers. A
        // client with capabilities would also get a link of its own, which would start the server
        // twice.
        capabilities: Raw::empty_object(),
        client_info: Raw::from_serialize(
            &json!({ "name": options.client, "version": env!("CARGO_PKG_VERSION") }),
        ),
    };
    let opened = gateway
        .open(
            Entrypoint::Endpoint(&options.endpoint),
            Principal::Local,
            Lifetime::Connection,
            Revision::LATEST_LEGACY,
            client,
        )
        .await
        .context("there is no such endpoint")?;
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(failed(&error)),
    };
    let traits = opened.session.result_traits();
    let params = params(&published, options.goal.as_deref(), &arguments);
    let started = Instant::now();
    let result = request(opened, params).await;
    let took = started.elapsed();
    let target = match server {
        Some(server) => Some((server, own_name(server, &published))),
        None => executed(&report, &published, &arguments),
    };
    let names = target.map(|(server, tool)| (server.id.as_str(), tool));
    let terms = CallLimits::of(&config.checked.gateway, names, traits);
    if options.explain {
        eprint_line(format_args!("endpoint:   {}", plain(&options.endpoint)));
        eprint_line(format_args!(
            "client:     {}, {}",
            plain(&options.client),
            half_read(traits)
        ));
        explain(target, &published, &arguments, &result, took);
        if let Ok(result) = &result {
            receipt::lines(result, terms).iter().for_each(eprint_line);
        }
    } else if let Ok(result) = &result
        && receipt::is_lost(result, terms)
    {
        eprint_line(
            "note: the cut text is lost when this command exits; set `recovery.path` in the configuration to read it with `narrows call recover_text`",
        );
    }
    match result {
        Ok(result) => show(&result, options.json),
        Err(error) => Ok(failed(&error)),
    }
}

/// Returns the tool's published name, or prints an error.
fn find_tool(server: &UpstreamReport, name: &str, option: &ConfigOption) -> Option<String> {
    let id = plain(&server.id);
    if let Some(reason) = down_reason(&server.state) {
        eprint_line(format_args!("error: server '{id}' is down: {reason}"));
        let command = command_line("check", option);
        eprint_line(format_args!("  help: {command} shows details"));
        return None;
    }
    let by_name = server.tools.iter().find(|tool| tool.name == name);
    let found = by_name.or_else(|| server.tools.iter().find(|tool| tool.published == name));
    if found.is_none() {
        let names = allowed(server).map(|tool| tool.name.as_str());
        let near = suggest(name, names);
        eprint_line(format_args!(
            "error: server '{id}' has no tool '{}'{near}",
            plain(name)
        ));
    }
    found.map(|tool| tool.published.clone())
}

fn params(name: &str, goal: Option<&str>, arguments: &Raw) -> Raw {
    let mut meta = json!({ "progressToken": 1 });
    if let Some(goal) = goal {
        meta[GOAL_META] = json!(goal);
    }
    let params = json!({ "name": name, "_meta": meta });
    Raw::from_serialize(&params).with_member("arguments", arguments)
}

/// Sends the call and prints its notifications.
async fn request(opened: Opened, params: Raw) -> Result<Raw, Error> {
    let Opened {
        session,
        mut outbox,
        ..
    } = opened;
    let request = Request {
        id: Id::number(1),
        method: "tools/call".into(),
        params: Some(params),
    };
    let (sink, mut events) = EventSink::channel(QUEUE);
    let mut running = Box::pin(session.clone().request(request, sink, None));
    let result = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => show_event(*event),
            Some(event) = outbox.recv() => show_event(*event),
            result = &mut running => break result,
        }
    };
    while let Some(event) = events.try_recv() {
        show_event(*event);
    }
    session.close();
    result
}

fn show_event(event: Event) {
    match event {
        Event::Notice(notice) => show_notice(&notice),
        Event::Ask(ask) => decline(ask),
        Event::Withdraw(_) => {}
    }
}

fn show_notice(notice: &Notice) {
    let params: Value = notice
        .params
        .as_ref()
        .and_then(|p| p.decode().ok())
        .unwrap_or_default();
    let text = |name: &str| match &params[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = match &*notice.method {
        "notifications/progress" => {
            let total = text("total");
            let of = if total.is_empty() {
                String::new()
            } else {
                format!(" of {total}")
            };
            format!("progress: {}{of} {}", text("progress"), text("message"))
        }
        "notifications/message" => format!("{}: {}", text("level"), text("data")),
        _ => return,
    };
    eprint_line(plain(line.trim_end()));
}

/// Declines a request from the server, because no user can answer it. The refusal lets the tool
/// continue.
fn decline(ask: Ask) {
    eprint_line(format_args!(
        "declined the server's request {}",
        plain(&ask.method)
    ));
    if &*ask.method == "elicitation/create" {
        ask.reply
            .answer(Ok(Raw::from_static(r#"{"action":"decline"}"#)));
    }
}

fn failed(error: &Error) -> Exit {
    let text = match error {
        Error::Upstream(UpstreamError::Answered(object)) => {
            let message = object.member("message");
            let message = message.as_ref().and_then(|message| message.as_text());
            message.map_or_else(|| error.to_string(), |message| message.into_owned())
        }
        Error::NotAllowed { denial, .. } if matches!(denial.source, DenialSource::Preset(_)) => {
            format!("{error}: {denial}")
        }
        _ => error.to_string(),
    };
    eprint_line(format_args!("error: {}", plain(&text)));
    Exit::Failed
}

/// Returns the server's own name of the tool.
fn own_name<'a>(server: &'a UpstreamReport, published: &'a str) -> &'a str {
    let mut tools = server.tools.iter();
    let tool = tools.find(|known| known.published == published);
    tool.map_or(published, |known| known.name.as_str())
}

/// Returns the server and the tool that an `exec` call names.
fn executed<'r>(
    report: &'r [UpstreamReport],
    published: &str,
    arguments: &Raw,
) -> Option<(&'r UpstreamReport, &'r str)> {
    if published != EXEC_TOOL {
        return None;
    }
    let argument = |name: &str| Some(arguments.member(name)?.as_text()?.into_owned());
    let server = argument("server_name")?;
    let tool = argument("tool_name")?;
    let server = report.iter().find(|known| known.id == server)?;
    let tool = server.tools.iter().find(|known| known.name == tool)?;
    Some((server, &tool.name))
}

/// Describes which half of a result the client's model reads.
fn half_read(traits: ResultTraits) -> &'static str {
    match traits.reads {
        Some(ModelReads::Structured) => "whose model reads structuredContent instead of content",
        Some(ModelReads::Content) => "whose model reads only content",
        Some(ModelReads::Both) => "whose model reads content and structuredContent",
        None => {
            "an unknown program: its model may read either half (use --client NAME to act as another)"
        }
    }
}

/// Prints the route and the cost of the call.
fn explain(
    target: Option<(&UpstreamReport, &str)>,
    published: &str,
    arguments: &Raw,
    result: &Result<Raw, Error>,
    took: Duration,
) {
    eprint_line(format_args!("published:  {}", plain(published)));
    if let Some((server, own)) = target {
        eprint_line(format_args!(
            "server:     {} ({})",
            plain(&server.id),
            server.transport.as_str()
        ));
        eprint_line(format_args!("own name:   {}", plain(own)));
    }
    eprint_line(format_args!(
        "arguments:  {} bytes",
        grouped(arguments.len())
    ));
    eprint_line(format_args!(
        "time:       {:.1} ms",
        took.as_secs_f64() * 1000.0
    ));
    match result {
        Ok(result) => {
            let tokens = estimate_tokens(result.as_str());
            let (bytes, tokens) = (grouped(result.len()), grouped(tokens));
            eprint_line(format_args!("result:     {bytes} bytes, ~{tokens} tokens"));
        }
        Err(error) => eprint_line(format_args!(
            "result:     {} ({:?})",
            error.as_str(),
            error.fault()
        )),
    }
}

/// Prints a result. A result with `isError` goes to stderr, because it is not an answer.
fn show(result: &Raw, json: bool) -> anyhow::Result<Exit> {
    let is_error = result
        .member("isError")
        .and_then(|flag| flag.as_bool())
        .unwrap_or(false);
    let exit = if is_error { Exit::Failed } else { Exit::Done };
    if json {
        answer(&format!("{}\n", result.as_str()))?;
        return Ok(exit);
    }
    let text = text_of(result);
    if is_error {
        eprint_line(format_args!("error: the tool reports: {}", text.trim_end()));
    } else {
        answer(&text)?;
    }
    Ok(exit)
}

/// Returns the text of a result, unchanged, with a short note for each item that is not text. If
/// there is no content, returns the structured content.
fn text_of(result: &Raw) -> String {
    let mut text = String::new();
    let content = result.member("content");
    for item in content.iter().flat_map(|content| content.elements()) {
        text.push_str(&item_text(&item));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    if text.is_empty()
        && let Some(structured) = result.member("structuredContent")
    {
        text = format!("{}\n", structured.as_str());
    }
    text
}

fn item_text(item: &Raw) -> String {
    let member = |name: &str| {
        let value = item.member(name)?;
        value.as_text().map(|text| text.into_owned())
    };
    let kind = member("type").unwrap_or_default();
    if let ("text", Some(text)) = (kind.as_str(), member("text")) {
        return text;
    }
    let resource = item.member("resource");
    let in_resource = |name: &str| {
        let value = resource.as_ref()?.member(name)?;
        value.as_text().map(|text| text.into_owned())
    };
    if let Some(text) = in_resource("text") {
        return text;
    }
    let mut note = vec![if kind.is_empty() {
        "content".to_owned()
    } else {
        kind
    }];
    note.extend(member("mimeType").or_else(|| in_resource("mimeType")));
    note.extend(member("uri").or_else(|| in_resource("uri")));
    note.push(format!("{} bytes", grouped(item.len())));
    format!("[{}]", plain(&note.join(", ")))
}
