//! `narrows serve`: the gateway over HTTP.

use std::fmt::{self, Write};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows_gateway::Gateway;
use narrows_gateway::settings::TokenDigest;
use narrows_serve::admin::{AdminAuth, AdminToken, TokenOrigin};
use narrows_serve::{HttpSettings, MetricsAccess, TokenCheck};
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use super::client_file::client_of;
use super::current::follow_changes;
use super::{Exit, Signals, drained, load, log_problems, set_guard, shell_word, start};
use crate::cli::Serve;
use crate::config::{AdminChecked, Config, Environment, parse_listen, users_file};
use crate::live_config::LiveConfig;
use crate::runtime_file::RuntimeFile;
use crate::telemetry::Telemetry;
use crate::terminal::{counted, eprint_line, plain};
use crate::token::{TokenKind, new_token};

/// The length of the queue of connections to accept.
const BACKLOG: u32 = 1024;

pub(crate) async fn run(
    options: Serve,
    environment: &Environment,
    telemetry: &Telemetry,
) -> anyhow::Result<Exit> {
    let config = match load(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    let listen = match &options.listen {
        None => config.checked.listen,
        Some(text) => match parse_listen(text) {
            Some(listen) => listen,
            None => {
                let text = plain(text);
                eprint_line(format_args!(
                    "error: --listen '{text}' is not an address with a port"
                ));
                eprint_line("  help: write it as 127.0.0.1:7420");
                return Ok(Exit::Usage);
            }
        },
    };
    // Bound before anything starts, so that a second gateway does not disturb the first.
    let beyond = match options.insecure || has_tokens(&config) {
        true => RemoteAccess::Allowed,
        false => RemoteAccess::Refused("give clients tokens (see `narrows token --help`)"),
    };
    let (listener, address) = match bind(listen, beyond, "--listen").await {
        Ok(bound) => bound,
        Err(exit) => return Ok(exit),
    };
    let signals = Signals::new()?;
    log_problems(&config);
    // The admin token of this run. Anyone who can read the file can use it. The file is written
    // before the address is announced, so that readers of the announcement can use it at once.
    let admin_token = new_token(TokenKind::Admin);
    let url = format!("http://{}", reachable(address));
    let file = RuntimeFile::write(environment, &url, &admin_token, config.file.as_deref());
    let file = file.inspect_err(|error| {
        tracing::warn!(
            "there is no runtime file, so `narrows servers` needs --url and a configured token: {error}"
        );
    });
    // Dropped at the end, which removes the file.
    let file = Arc::new(file.ok());
    announce(&config, address, environment, telemetry);

    let admin = config.checked.admin.clone();
    let settings = HttpSettings {
        allowed_hosts: config.checked.allowed_hosts.clone(),
        allowed_origins: config.checked.allowed_origins.clone(),
        max_message_bytes: config.checked.gateway.limits.max_message_bytes,
        max_connections: config.checked.gateway.limits.max_connections,
        max_connections_per_address: (config.checked.gateway.limits).max_connections_per_address,
        grace: config.checked.gateway.limits.grace,
        max_calls: config.checked.gateway.limits.calls_per_session,
        queue: config.checked.gateway.limits.client_queue,
        ..HttpSettings::default()
    };
    let gateway = start(config.checked.gateway.clone());
    let live_config = LiveConfig::new(gateway.clone(), config, environment.clone(), set_guard);
    if !address.ip().is_loopback() && !options.insecure {
        live_config.need_tokens();
    }
    let admin_auth = Arc::new(AdminAuth::new(live_config.clone(), Vec::new()));
    accept(&admin_auth, &admin, &admin_token);
    let followed = Arc::downgrade(&admin_auth);
    live_config.follow_admin(move |admin| {
        if let Some(admin_auth) = followed.upgrade() {
            accept(&admin_auth, admin, &admin_token);
        }
    });
    let runtime_file = Arc::downgrade(&file);
    live_config.follow_file(move |config| {
        if let Some(Some(file)) = runtime_file.upgrade().as_deref()
            && let Err(error) = file.set_config(config)
        {
            tracing::warn!("cannot record the new configuration file in the runtime file: {error}");
        }
    });
    let settings = HttpSettings {
        metrics: metrics_access(&admin, &admin_auth),
        admin: Some(admin_auth),
        ..settings
    };
    let current = follow_changes(live_config, !options.no_watch)?;
    run_until_signal(listener, gateway, settings, signals).await;
    drop(current);
    drop(file);
    Ok(Exit::Done)
}

/// Permission to listen on addresses that other machines can reach.
pub(super) enum RemoteAccess {
    Allowed,
    /// Refused, with a hint on how to get permission.
    Refused(&'static str),
}

/// Accepts the token of this run and the configured token on the admin API.
fn accept(admin_auth: &AdminAuth, admin: &AdminChecked, token: &str) {
    let of_this_run = AdminToken {
        origin: TokenOrigin::ThisRun,
        digest: TokenDigest::of(token),
    };
    let configured = admin.token.clone().map(|digest| AdminToken {
        origin: TokenOrigin::Configured,
        digest,
    });
    let tokens = configured.into_iter().chain([of_this_run]).collect();
    admin_auth.accept(tokens, admin.remote);
}

/// Decides who may read the metrics: local clients or, with a configured admin token, holders of an
/// admin token.
fn metrics_access(admin: &AdminChecked, admin_auth: &Arc<AdminAuth>) -> MetricsAccess {
    match (admin.open_metrics, &admin.token) {
        (true, _) => MetricsAccess::Open,
        (false, None) => MetricsAccess::Loopback,
        (false, Some(_)) => {
            let admin_auth = admin_auth.clone();
            MetricsAccess::Token(TokenCheck::new(move |token| {
                admin_auth.recognise(token).is_some()
            }))
        }
    }
}

/// Binds the address, or prints an error. `flag` names the option or variable that sets the
/// address.
pub(super) async fn bind(
    listen: SocketAddr,
    beyond: RemoteAccess,
    flag: &str,
) -> Result<(TcpListener, SocketAddr), Exit> {
    if let RemoteAccess::Refused(instead) = beyond
        && !listen.ip().is_loopback()
    {
        eprint_line(format_args!(
            "error: {listen} can be reached from other machines"
        ));
        eprint_line(format_args!(
            "  help: anyone there could use every tool; {instead}, or use --insecure"
        ));
        return Err(Exit::Usage);
    }
    let bound = open(listen).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| {
        eprint_line(format_args!("error: cannot listen on {listen}: {error}"));
        if error.kind() == ErrorKind::AddrInUse {
            eprint_line(format_args!(
                "  help: another gateway may be running; choose another port with {flag}"
            ));
        }
        Exit::Failed
    })
}

/// Listens with a backlog for a burst of connections.
fn open(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = match listen {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As in the standard library, so that a restart does not have to wait for old connections.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

/// Serves until a signal arrives, drains the calls in flight and shuts down.
pub(super) async fn run_until_signal(
    listener: TcpListener,
    gateway: Gateway,
    settings: HttpSettings,
    signals: Signals,
) {
    let stop = CancellationToken::new();
    let serving = narrows_serve::serve(listener, gateway.clone(), settings, stop.clone());
    let mut serving = Box::pin(serving);
    tokio::select! {
        () = &mut serving => gateway.shutdown().await,
        () = drained(signals, &gateway) => {
            stop.cancel();
            // Concurrently, because they share one grace period.
            tokio::join!(serving, gateway.shutdown());
        }
    }
}

/// Announces the address and prints the entries for client configurations.
fn announce(
    config: &Config,
    address: SocketAddr,
    environment: &Environment,
    telemetry: &Telemetry,
) {
    let address_here = reachable(address);
    let base = format!("http://{address_here}");
    let url = format!("{base}/mcp");
    let (sse, ws) = (format!("{base}/sse"), format!("ws://{address_here}/ws"));
    let servers = config
        .checked
        .gateway
        .upstreams
        .iter()
        .filter(|server| server.upstream.enabled)
        .count();
    let source = match &config.file {
        Some(file) => file.display().to_string(),
        None => "the built-in default, as there is no narrows.json".to_owned(),
    };
    let mut claude = format!("claude mcp add --scope user --transport http narrows {url}");
    let mut cursor = json!({ "mcpServers": { "narrows": { "url": url } } });
    let mut inspector = format!(
        "npx @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list"
    );
    if has_tokens(config) {
        let header = " --header \"Authorization: Bearer TOKEN\"";
        claude.push_str(header);
        inspector.push_str(header);
        cursor["mcpServers"]["narrows"]["headers"] = json!({ "Authorization": "Bearer TOKEN" });
    }
    let move_first = config
        .file
        .as_deref()
        .and_then(|file| MoveFileAdvice::of(file, environment));
    // In a file that the gateway reads, an entry for the gateway would replace the servers in it or
    // lead back to the gateway.
    let client = move_first.as_ref().map(|it| it.client);
    let claude = Some(claude).filter(|_| client != Some("Claude Code"));
    let cursor = Some(cursor.to_string()).filter(|_| client.is_none());
    let version = env!("CARGO_PKG_VERSION");
    let servers_text = counted(servers, "server");
    let mut lines =
        format!("narrows {version} listens on {base} ({servers_text}, from {source})\n");
    for (client, text) in [
        ("Claude Code  ", &claude),
        ("Cursor       ", &cursor),
        ("MCP Inspector", &Some(inspector.clone())),
    ] {
        if let Some(text) = text {
            let _ = writeln!(lines, "  {client}  {text}");
        }
    }
    // The first one is the default endpoint, described by the lines above.
    let others = config.checked.gateway.endpoints.iter().skip(1);
    let endpoints: Vec<String> = others
        .map(|endpoint| format!("{url}/{}", endpoint.name))
        .collect();
    for endpoint in &endpoints {
        let _ = writeln!(lines, "  also at        {endpoint}");
    }
    let _ = writeln!(lines, "  older clients  {sse}\n  WebSocket      {ws}");
    let advice = move_first.map(|it| it.to_string());
    if let Some(advice) = &advice {
        let _ = write!(lines, "{advice}");
    }
    let payload = json!({
        "url": base,
        "mcp": url,
        "sse": sse,
        "ws": ws,
        "endpoints": endpoints,
        "version": version,
        "config": config.file,
        "servers": servers,
        "connect": { "claude": claude, "cursor": cursor, "inspector": inspector },
        "advice": advice,
    });
    telemetry.announce(&lines, "listening", &payload);
    if !address.ip().is_loopback() {
        if has_tokens(config) {
            tracing::warn!(
                "tokens and results are sent unencrypted to {address}; put a TLS proxy in front of it"
            );
        } else if config.checked.gateway.clients.is_empty() {
            tracing::warn!("anyone who can reach {address} may use every tool");
        }
        if config.checked.allowed_hosts.is_empty() {
            tracing::warn!(
                "clients that use a host name other than localhost are refused unless `allowed_hosts` lists it"
            );
        }
    }
}

/// Advice for a gateway that reads a client's own file. The client can have an entry for the
/// gateway only after its servers have moved to another file.
struct MoveFileAdvice<'a> {
    client: &'static str,
    file: &'a Path,
    /// The file of the gateway to which the servers move.
    target: Option<PathBuf>,
}

impl<'a> MoveFileAdvice<'a> {
    fn of(file: &'a Path, environment: &Environment) -> Option<MoveFileAdvice<'a>> {
        Some(MoveFileAdvice {
            client: client_of(file)?,
            file,
            target: users_file(environment),
        })
    }
}

impl fmt::Display for MoveFileAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MoveFileAdvice { client, file, .. } = self;
        let name = plain(&file.to_string_lossy()).into_owned();
        writeln!(
            f,
            "  Do not add the narrows entry to {name}: the gateway reads its servers from that\n  \
             file. To connect {client}, stop the gateway and move the servers first:"
        )?;
        let word = |path: &Path| shell_word(&path.to_string_lossy());
        let file = word(file);
        match &self.target {
            Some(target) if !target.exists() => {
                let folder = target.parent().map_or_else(String::new, word);
                let target = word(target);
                writeln!(f, "    mkdir -p {folder} && mv {file} {target}")?;
                writeln!(f, "    narrows serve --config {target}")?;
            }
            Some(target) => {
                let target = word(target);
                writeln!(f, "    move the entries of {file} into {target}")?;
                writeln!(f, "    narrows serve --config {target}")?;
            }
            None => {
                writeln!(f, "    mv {file} narrows.json")?;
                writeln!(f, "    narrows serve --config narrows.json")?;
            }
        }
        writeln!(f, "  It then prints the entry for {name}.")
    }
}

/// Returns true if any client has a token, so that other machines cannot connect without one.
fn has_tokens(config: &Config) -> bool {
    let mut clients = config.checked.gateway.clients.iter();
    clients.any(|client| client.token.is_some())
}

/// Returns an address that a client on this machine can connect to.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
