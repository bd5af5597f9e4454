//! Tests of plain JSON-RPC to one server, over real HTTP on both sides.

mod faults;
mod links;
mod masking;
mod presets;
mod refusals;
mod server;
mod upstreams;

use std::net::SocketAddr;
use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::settings::{
    Limits, RPC_TIMEOUT, RemoteProtocol, RemoteSettings, RpcServer, Settings,
};
use narrows_serve::HttpSettings;
use narrows_shape::Mask;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::server::{Behaviour, Server, http};
use crate::client::{Client, Reply};

/// A gateway on its own port, with the servers of the test.
struct ForwardRoute {
    address: SocketAddr,
    gateway: Gateway,
    _served: AbortOnDropHandle<()>,
}

impl ForwardRoute {
    async fn start(settings: Settings) -> ForwardRoute {
        ForwardRoute::with(settings, HttpSettings::default()).await
    }

    async fn with(settings: Settings, http: HttpSettings) -> ForwardRoute {
        let gateway = Gateway::start(settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = narrows_serve::serve(listener, gateway.clone(), http, stop);
        ForwardRoute {
            address,
            gateway,
            _served: AbortOnDropHandle::new(tokio::spawn(serving)),
        }
    }

    /// Starts a gateway with one server, `up`, that only this route knows.
    async fn to(server: &Server) -> ForwardRoute {
        ForwardRoute::start(knowing([plain("up", server.address)])).await
    }

    fn client(&self, server: &str) -> Client {
        Client::new(self.address).at(&format!("/api/mcp-gateway/{server}/rpc"))
    }

    async fn post(&self, server: &str, body: &str) -> Reply {
        self.client(server).post(body).await
    }

    /// Sends a request that must succeed, and returns the response.
    async fn ask(&self, server: &str, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
        let reply = self.post(server, &request.to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let answer = reply.json();
        assert_eq!(answer["id"], "q", "{answer}");
        answer
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn plain(id: &str, address: SocketAddr) -> RpcServer {
    RpcServer {
        id: id.into(),
        remote: remote(&format!("http://{address}"), RemoteProtocol::Rpc),
        mask: Mask::default(),
        timeout: RPC_TIMEOUT,
    }
}

fn remote(url: &str, protocol: RemoteProtocol) -> RemoteSettings {
    RemoteSettings {
        url: url.parse().unwrap(),
        headers: Vec::new(),
        protocol,
    }
}

fn knowing(servers: impl IntoIterator<Item = RpcServer>) -> Settings {
    Settings {
        rpc_servers: servers.into_iter().collect(),
        limits: Limits {
            // Short, so that tests end quickly.
            grace: Duration::from_millis(200),
            ..Limits::default()
        },
        ..Settings::default()
    }
}

/// Returns a response with this result, given as JSON text.
fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
}

#[tokio::test]
async fn request_is_forwarded_byte_for_byte() {
    let mut server = Server::answering_with(http(200, "", result("{}"))).await;
    let mut up = plain("up", server.address);
    up.remote.url = format!("http://{}/base/?key=1", server.address)
        .parse()
        .unwrap();
    let secret = ("x-api-key".parse().unwrap(), "s3cret-word".parse().unwrap());
    up.remote.headers.push(secret);
    let route = ForwardRoute::start(knowing([up])).await;
    for body in [
        PING,
        "\r\n { \"id\" :\t7 , \"x\":[1.0,1e400,12345678901234567890123456789],\n\"\\u006dethod\":\"a\\/b\", \"jsonrpc\":\"2.0\"}  \n",
        r#"{"not":"json-rpc"}"#,
        "{}",
        r#"{"jsonrpc":"1.0","id":[1],"method":5,"params":"x"}"#,
        r#"{"id":1,"id":2,"z":"é\ud800","z":2}"#,
    ] {
        let client = route.client("up");
        let headers = [
            ("authorization", "Bearer of-the-client"),
            ("accept-encoding", "gzip"),
            ("cookie", "c=1"),
            ("mcp-session-id", "s"),
            ("content-type", "text/plain"),
        ];
        let reply = client.send("POST", &headers, body).await.reply().await;
        assert_eq!(
            (reply.status, reply.text()),
            (200, &*result("{}")),
            "{body}"
        );
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let seen = server.seen().await;
        assert_eq!(std::str::from_utf8(&seen.body).unwrap(), body);
        assert_eq!(seen.line, "POST /base/rpc?key=1 HTTP/1.1");
        for (name, value) in [
            ("content-type", Some("application/json")),
            ("accept", Some("application/json")),
            ("accept-encoding", Some("identity")),
            ("x-api-key", Some("s3cret-word")),
            ("content-length", Some(&*body.len().to_string())),
            ("authorization", None),
            ("cookie", None),
            ("mcp-session-id", None),
        ] {
            assert_eq!(seen.header(name), value, "{name}");
        }
    }
}

#[tokio::test]
async fn response_without_cuts_is_unchanged() {
    for answer in [
        "{ \"result\" : {\"n\":[1.0,-0.0,1e400,12345678901234567890123456789,true,null]} ,\n\"id\":7,\"jsonrpc\":\"2.0\",\"x\":\"\\u00e9\\ud800\"}\n",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"id":"another","result":null}"#,
        r#"{"error":"not even an object"}"#,
    ] {
        let server = Server::answering_with(http(200, "", answer)).await;
        let route = ForwardRoute::to(&server).await;
        let reply = route.post("up", PING).await;
        assert_eq!((reply.status, reply.text()), (200, answer));
    }
}

#[tokio::test]
async fn notifications_are_accepted() {
    for answer in [
        http(202, "", ""),
        http(202, "", "Accepted"),
        http(200, "", ""),
        http(200, "", "null"),
        http(200, "", "{}"),
        b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
    ] {
        let server = Server::answering_with(answer).await;
        let route = ForwardRoute::to(&server).await;
        let reply = route.post("up", NOTICE).await;
        assert_eq!((reply.status, reply.text()), (202, ""));
        assert_eq!(reply.header("content-type"), None);
    }
    // If the server answers a notification nevertheless, its answer is passed on.
    let server = Server::answering_with(http(200, "", result("{}"))).await;
    let route = ForwardRoute::to(&server).await;
    let reply = route.post("up", NOTICE).await;
    assert_eq!((reply.status, reply.text()), (200, &*result("{}")));
}

#[tokio::test]
async fn connections_are_reused() {
    let server = Server::start(Behaviour::KeepSending(http(200, "", result("1")))).await;
    let route = ForwardRoute::to(&server).await;
    for _ in 0..5 {
        assert_eq!(route.post("up", PING).await.status, 200);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn requests_with_the_same_id_stay_separate() {
    let server = Server::start(Behaviour::Echo).await;
    let route = ForwardRoute::to(&server).await;
    let bodies = ["one", "two", "three"]
        .map(|word| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{word}"]}}"#));
    let asked = bodies.each_ref().map(|body| route.post("up", body));
    let [one, two, three] = asked;
    let replies = tokio::join!(one, two, three);
    for (reply, body) in [replies.0, replies.1, replies.2].iter().zip(&bodies) {
        assert_eq!(reply.json()["result"].to_string(), *body);
    }
}

#[tokio::test]
async fn server_ids_may_contain_any_character() {
    let server = Server::answering_with(http(200, "", result("1"))).await;
    let named = |id| plain(id, server.address);
    let servers = [named("a/b c"), named("é%"), named("rpc")];
    let route = ForwardRoute::start(knowing(servers)).await;
    for path in ["a%2Fb%20c", "%C3%A9%25", "rpc"] {
        assert_eq!(route.post(path, PING).await.status, 200, "{path}");
    }
    let reply = route.post("a%2Fb", PING).await;
    assert_eq!(reply.json()["error"]["data"]["server_name"], "a/b");
}
