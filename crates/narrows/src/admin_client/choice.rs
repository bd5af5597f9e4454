//! Selects the gateway to talk to and the admin token to use.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{AdminClientError, GatewayUrl};
use crate::cli::operator::ConnectOptions;
use crate::config::Environment;
use crate::runtime_file::{self, RunningGateway};
use crate::terminal::{eprint_line, plain};

/// The environment variable that may hold the admin token.
const VARIABLE: &str = "NARROWS_ADMIN_TOKEN";

/// The size limit of a token file, in bytes.
const MAX_TOKEN: u64 = 4 * 1024;

pub(super) struct ChosenGateway {
    pub(super) gateway_url: GatewayUrl,
    pub(super) token: String,
    pub(super) source: TokenSource,
}

/// The origin of the token. Error messages name it, so that users can find a wrong token.
#[derive(Debug, Clone)]
pub(super) enum TokenSource {
    File(PathBuf),
    Variable,
    /// The runtime file of a running gateway.
    Run(PathBuf),
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenSource::File(file) => write!(f, "the token in '{}'", shown(file)),
            TokenSource::Variable => write!(f, "the token in {VARIABLE}"),
            TokenSource::Run(file) => write!(f, "the token in its runtime file '{}'", shown(file)),
        }
    }
}

/// Selects the gateway. A token from a runtime file is sent only to the address in the same file.
pub(super) fn choose(
    url: Option<&str>,
    connect_options: &ConnectOptions,
    environment: &Environment,
) -> Result<ChosenGateway, AdminClientError> {
    let given = given_token(connect_options, environment)?;
    let wanted = url.map(GatewayUrl::parse).transpose()?;
    let found = runtime_file::found(environment);
    for warning in &found.warnings {
        eprint_line(format_args!("warning: {}", plain(warning)));
    }
    let running = found.running.into_iter();
    let running: Vec<(GatewayUrl, RunningGateway)> = running
        .filter_map(|running| Some((GatewayUrl::parse(&running.url).ok()?, running)))
        .collect();
    let run = match &wanted {
        Some(wanted) => running
            .into_iter()
            .find(|(gateway_url, _)| wanted.matches(gateway_url)),
        None => Some(the_only(running, connect_options.config.as_deref())?),
    };
    let (gateway_url, of_run) = match (run, wanted) {
        (Some((gateway_url, running)), _) => {
            let source = TokenSource::Run(running.file);
            (gateway_url, Some((running.token, source)))
        }
        (None, Some(wanted)) => (wanted, None),
        (None, None) => return Err(none_runs()),
    };
    let Some((token, source)) = given.or(of_run) else {
        return Err(
            AdminClientError::usage(format!("there is no token for {gateway_url}")).with_help(format!(
                "set one with --token-file FILE or {VARIABLE}; `narrows token --admin` creates one"
            )),
        );
    };
    if !gateway_url.is_https() && !gateway_url.is_loopback() {
        eprint_line(format_args!(
            "warning: the token is sent to {gateway_url} in plain text; anyone on the network path can read it"
        ));
    }
    Ok(ChosenGateway {
        gateway_url,
        token,
        source,
    })
}

/// Returns the only running gateway, or the one that serves `config`.
fn the_only(
    mut running: Vec<(GatewayUrl, RunningGateway)>,
    config: Option<&Path>,
) -> Result<(GatewayUrl, RunningGateway), AdminClientError> {
    let all = list(&running);
    if let Some(config) = config {
        let wanted = canonical(config);
        running.retain(|(_, running)| {
            let served = running.config.as_deref().map(Path::new).map(canonical);
            served.as_ref() == Some(&wanted)
        });
        if running.is_empty() && !all.is_empty() {
            let what = format!("no running gateway serves '{}'", shown(config));
            return Err(AdminClientError::failed(what).with_details(all));
        }
    }
    let one = running.pop().ok_or_else(none_runs)?;
    if running.is_empty() {
        return Ok(one);
    }
    running.push(one);
    Err(
        AdminClientError::usage(format!("{} gateways are running", running.len()))
            .with_details(list(&running))
            .with_help("choose one with --url or --config"),
    )
}

fn list(running: &[(GatewayUrl, RunningGateway)]) -> Vec<String> {
    let line = |(gateway_url, running): &(GatewayUrl, RunningGateway)| {
        let config = match &running.config {
            Some(config) => plain(config).into_owned(),
            None => "the built-in default".to_owned(),
        };
        format!("{gateway_url}  process {}, {config}", running.pid)
    };
    running.iter().map(line).collect()
}

fn none_runs() -> AdminClientError {
    AdminClientError::failed("you have no gateway running on this machine").with_help(
        "start one with `narrows serve`, or use --url and --token-file for a gateway elsewhere",
    )
}

/// Returns the token that the user supplied, if any.
fn given_token(
    connect_options: &ConnectOptions,
    environment: &Environment,
) -> Result<Option<(String, TokenSource)>, AdminClientError> {
    if let Some(file) = &connect_options.token_file {
        let unreadable = |why: String| {
            let file = shown(file);
            AdminClientError::usage(format!("the token file '{file}' cannot be used: {why}"))
        };
        let mut text = String::new();
        let read =
            File::open(file).and_then(|file| file.take(MAX_TOKEN + 1).read_to_string(&mut text));
        read.map_err(|error| unreadable(error.to_string()))?;
        let token = text.trim();
        if text.len() as u64 > MAX_TOKEN {
            return Err(unreadable("it is too long".to_owned()));
        }
        if token.is_empty() {
            return Err(unreadable("it is empty".to_owned()));
        }
        return Ok(Some((token.to_owned(), TokenSource::File(file.clone()))));
    }
    let token = environment.text(VARIABLE).map(str::trim);
    let token = token.filter(|token| !token.is_empty());
    Ok(token.map(|token| (token.to_owned(), TokenSource::Variable)))
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}
