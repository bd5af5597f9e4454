//! Tests of settings that change under running sessions. Servers are real processes.

mod clients;
mod presets;
mod servers;
mod sessions;
mod starting;
mod waiting;

use std::time::Duration;

use narrows_policy::Principal;
use narrows_testkit::scripted::{Installed, Script};
use narrows_testkit::{LIMIT, until};
use narrows_wire::frame::Framing;
use narrows_wire::{Id, Raw, Request, Revision};
use tokio::time::timeout;

use super::{Entrypoint, Gateway, Opened};
use crate::error::Error;
use crate::session::Lifetime;
use crate::settings::{
    EndpointSettings, ServerSettings, Settings, ShapeChoice, StdioSettings, UpstreamKind,
};
use narrows_upstream::exchange::{ClientHello, Event, EventSink, EventStream};

/// A client with an open session.
struct TestClient {
    session: std::sync::Arc<crate::Session>,
    outbox: EventStream,
}

fn server(id: &str, installed: &Installed) -> ServerSettings {
    let stdio = StdioSettings {
        command: installed.command(),
        args: installed.args(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        cwd: None,
        framing: Framing::Newline,
    };
    ServerSettings::new(id, UpstreamKind::Stdio(stdio))
}

/// Returns the same server with a different environment, so that it has to be restarted.
fn changed(mut own: ServerSettings, value: &str) -> ServerSettings {
    if let UpstreamKind::Stdio(stdio) = &mut own.upstream.kind {
        stdio.env.push(("CHANGED".into(), value.into()));
    }
    own
}

fn script(name: &str) -> Script {
    Script::new(name).plain_tool("one").plain_tool("two")
}

fn settings(upstreams: Vec<ServerSettings>) -> Settings {
    Settings {
        upstreams,
        endpoints: vec![
            EndpointSettings::named("default"),
            EndpointSettings::named("other"),
        ],
        shape: ShapeChoice {
            on: Some(false),
            ..ShapeChoice::default()
        },
        ..Settings::default()
    }
}

async fn started(settings: Settings) -> Gateway {
    let gateway = Gateway::start(settings);
    timeout(LIMIT, gateway.settled())
        .await
        .expect("servers start");
    gateway
}

impl TestClient {
    async fn open(gateway: &Gateway, entrypoint: Entrypoint<'_>) -> TestClient {
        TestClient::open_as(gateway, entrypoint, Principal::Anonymous).await
    }

    async fn open_as(
        gateway: &Gateway,
        entrypoint: Entrypoint<'_>,
        principal: Principal,
    ) -> TestClient {
        TestClient::open_with(gateway, entrypoint, principal, "tester").await
    }

    async fn open_named(gateway: &Gateway, entrypoint: Entrypoint<'_>, name: &str) -> TestClient {
        TestClient::open_with(gateway, entrypoint, Principal::Anonymous, name).await
    }

    async fn open_with(
        gateway: &Gateway,
        entrypoint: Entrypoint<'_>,
        principal: Principal,
        name: &str,
    ) -> TestClient {
        let hello = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::empty_object()
                .with_member("name", &Raw::string(name))
                .with_member("version", &Raw::string("1")),
        };
        let revision = Revision::LATEST_LEGACY;
        let opened = gateway.open(entrypoint, principal, Lifetime::Idle, revision, hello);
        let opened = opened.await.expect("the door is there");
        let Opened {
            session, outbox, ..
        } = opened.expect("the session opens");
        TestClient { session, outbox }
    }

    async fn request(&self, method: &str, params: &str) -> Result<Raw, Error> {
        let (sink, _events) = EventSink::channel(16);
        let request = Request {
            id: Id::number(fastrand::u64(..1 << 50)),
            method: method.into(),
            params: Some(Raw::parse(params.to_owned().into()).expect("JSON")),
        };
        let answer = timeout(LIMIT, self.session.clone().request(request, sink, None)).await;
        answer.expect("an answer in time")
    }

    async fn call(&self, tool: &str) -> Result<String, Error> {
        let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
        let result = self.request("tools/call", &params).await?;
        Ok(result.as_str().to_owned())
    }

    async fn tools(&self) -> Vec<String> {
        let list = self.request("tools/list", "{}").await.expect("a list");
        let tools = list.member("tools").expect("tools");
        let name = |tool: Raw| tool.member("name")?.as_text().map(|name| name.into_owned());
        tools.elements().filter_map(name).collect()
    }

    /// Waits until exactly these tools are listed.
    async fn lists(&self, wanted: &[&str]) {
        let limit = tokio::time::Instant::now() + LIMIT;
        loop {
            let tools = self.tools().await;
            if tools == wanted {
                return;
            }
            assert!(
                tokio::time::Instant::now() < limit,
                "{tools:?} are not {wanted:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the methods of the notices received so far.
    fn notices(&mut self) -> Vec<String> {
        let events = std::iter::from_fn(|| self.outbox.try_recv());
        let method = |event: Box<Event>| match *event {
            Event::Notice(notice) => Some(notice.method.to_string()),
            _ => None,
        };
        events.filter_map(method).collect()
    }
}

const CHANGED: &str = "notifications/tools/list_changed";
