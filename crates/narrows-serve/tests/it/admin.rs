//! Tests of the admin API, with a recorder as its `Operations`.

mod access;
mod bodies;
mod changes;
mod events;
mod live;
mod operations;
mod reads;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::preset::{Preset, Rule};
use narrows_gateway::settings::TokenDigest;
use narrows_gateway::settings::{
    Builtin, EndpointSettings, Expose, RemoteProtocol, RemoteSettings,
};
use narrows_gateway::settings::{ServerSettings, Settings, StdioSettings, UpstreamKind};
use narrows_serve::HttpSettings;
use narrows_serve::admin::{AdminAuth, AdminToken, TokenOrigin};
use narrows_wire::frame::Framing;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::operations::Recorder;
use crate::client::{Client, Connection, Reply};
use crate::upstream::Upstream;
use crate::within;

const CONFIGURED: &str = "nra_configured";
const OF_THIS_RUN: &str = "nra_of_this_run";

/// A gateway with the admin API and four servers: the built-in `demo`, the scripted `remote`, the
/// disabled `off`, and the unreachable `gone`.
struct AdminGateway {
    address: SocketAddr,
    gateway: Gateway,
    recorder: Arc<Recorder>,
    stop: CancellationToken,
    served: JoinHandle<()>,
    _remote: Upstream,
}

impl AdminGateway {
    async fn open() -> AdminGateway {
        AdminGateway::with(HttpSettings::default(), |_| {}).await
    }

    async fn with(http: HttpSettings, adjust: impl FnOnce(&mut AdminAuth)) -> AdminGateway {
        let remote = Upstream::start().await;
        let gateway = Gateway::start(settings(&remote));
        within("the servers", gateway.settled()).await;
        let recorder = Arc::new(Recorder::default());
        let token = |origin, text| AdminToken {
            origin,
            digest: TokenDigest::of(text),
        };
        let tokens = vec![
            token(TokenOrigin::Configured, CONFIGURED),
            token(TokenOrigin::ThisRun, OF_THIS_RUN),
        ];
        let mut auth = AdminAuth::new(recorder.clone(), tokens);
        auth.wrong_token_delay = Duration::from_millis(1);
        adjust(&mut auth);
        let http = HttpSettings {
            admin: Some(Arc::new(auth)),
            ..http
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = narrows_serve::serve(listener, gateway.clone(), http, stop.clone());
        AdminGateway {
            address,
            gateway,
            recorder,
            served: tokio::spawn(serving),
            stop,
            _remote: remote,
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "").await
    }

    /// Sends a request with the token, and with a JSON body unless `body` is empty.
    async fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        self.begin(method, path, body).await.reply().await
    }

    async fn begin(&self, method: &str, path: &str, body: &str) -> Connection {
        let token = format!("Bearer {CONFIGURED}");
        let mut headers = vec![("authorization", token.as_str())];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.send(method, path, &headers, body).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Connection {
        let client = Client::new(self.address).at(&format!("/api/v1{path}"));
        client.send(method, headers, body).await
    }
}

fn settings(remote: &Upstream) -> Settings {
    let demo = ServerSettings::new("demo", UpstreamKind::Builtin(Builtin::Demo));
    let at = |url: String| {
        UpstreamKind::Remote(RemoteSettings {
            url: url.parse().unwrap(),
            headers: vec![(
                "authorization".parse().unwrap(),
                "Bearer SECRET".parse().unwrap(),
            )],
            protocol: RemoteProtocol::Http,
        })
    };
    let mut off = ServerSettings::new(
        "off",
        UpstreamKind::Stdio(StdioSettings {
            command: "none".into(),
            args: vec!["--password=SECRET".into()],
            env: vec![("KEY".into(), "SECRET".into())],
            cwd: None,
            framing: Framing::Newline,
        }),
    );
    off.upstream.enabled = false;
    let rules = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| Rule::parse(text).unwrap())
            .collect()
    };
    let review = rules(&["*/*", "!demo/count"]);
    let mut lazy = EndpointSettings::named("lazy");
    lazy.expose = Expose::Lazy;
    Settings {
        upstreams: vec![
            demo,
            ServerSettings::new("remote", at(format!("http://{}/mcp", remote.address))),
            off,
            ServerSettings::new("gone", at("http://user:SECRET@127.0.0.1:1/mcp".into())),
        ],
        endpoints: vec![EndpointSettings::named("default"), lazy],
        presets: vec![Preset::new("review", Some(review), None, Some(Vec::new()))],
        // Long limits, so that the result does not depend on the load on the machine.
        initialize_wait: Duration::from_secs(60),
        list_wait: Duration::from_secs(60),
        ..Settings::default()
    }
}
