//! Reads configuration files into checked settings. Only this module reads files and the
//! environment for the program's configuration.
//!
//! [`load`] is the entry point. It finds the file, parses it with `jsonc-parser`, which accepts
//! comments and trailing commas, reads it into the tables of `raw.rs`, and checks those in
//! `check.rs`.

mod check;
mod edit;
mod environment;
mod expand;
mod problem;
mod raw;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use narrows_gateway::settings::{
    Builtin, RPC_TIMEOUT, RemoteProtocol, RemoteSettings, RpcServer, ServerSettings, Settings,
    UpstreamKind,
};
use narrows_shape::Mask;
use narrows_upstream::chain::{Ancestry, CHAIN, Recursion};

pub(crate) use check::clients::{self, AdminChecked};
pub(crate) use check::{CheckedConfig, DEFAULT_LISTEN, LeftOut, parse_listen};
pub(crate) use edit::{EditError, edit, has_preset, preset_file};
pub(crate) use environment::Environment;
pub(crate) use problem::{Problem, ProblemPlace, Severity};

use expand::Scope;
use problem::{At, Problems, Source};
use raw::RawFile;
use read::{Node, Read};

/// The settings of the program and the problems found in them.
pub(crate) struct Config {
    /// The file that was read. `None` for the built-in default.
    pub(crate) file: Option<PathBuf>,
    /// The text of the file, or of the built-in default.
    pub(crate) text: String,
    pub(crate) checked: CheckedConfig,
    /// The problems in the order of the file. None of them is an error.
    pub(crate) problems: Vec<Problem>,
}

impl Config {
    /// Returns a problem if one of these servers started this process, perhaps through other
    /// gateways.
    pub(crate) fn recursion(&self) -> Option<Problem> {
        let recursion = self.checked.gateway.ancestry.recursion()?;
        let what = match recursion {
            Recursion::SameConfiguration => {
                "a gateway with this configuration has started this process, so its servers \
                 would start each other endlessly"
            }
            Recursion::TooDeep => "too many gateways have started each other",
        };
        let name = self.file.as_deref().unwrap_or(Path::new(FILE_NAME));
        let help = format!(
            "remove the server that starts Narrows again, or give it another --config; to run \
             this command anyway, set {CHAIN} to an empty value"
        );
        let file = name.display().to_string();
        Some(Problem::with_file(&file, what.to_owned(), Some(help)))
    }
}

/// The default file name.
const FILE_NAME: &str = "narrows.json";

/// Reads the file that `flag` names, else `./narrows.json`, else the user's file, else the built-in
/// default.
///
/// # Errors
/// All problems, if any of them is an error.
pub(crate) fn load(flag: Option<&Path>, environment: &Environment) -> Result<Config, Vec<Problem>> {
    let Some(path) = locate(flag, environment, Path::exists) else {
        return Ok(built_in(environment));
    };
    let text = read_file(&path).map_err(|problem| vec![*problem])?;
    check_text(Some(&path), text, environment)
}

/// Checks the text of a configuration from any source. Without a file, the text is the built-in
/// default, possibly changed.
///
/// # Errors
/// All problems, if any of them is an error.
pub(crate) fn check_text(
    file: Option<&Path>,
    text: String,
    environment: &Environment,
) -> Result<Config, Vec<Problem>> {
    let path = file.unwrap_or(Path::new("the built-in default"));
    // Relative folders in the file are relative to the file, not to the working directory.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let scope = Scope {
        environment,
        folder,
    };
    let (checked, problems) = parse(path, &text, scope);
    let is_error = |problem: &Problem| problem.severity == Severity::Error;
    match checked {
        Some(mut checked) if !problems.iter().any(is_error) => {
            checked.gateway.ancestry = Ancestry::new(environment.text(CHAIN), file);
            if file.is_none() {
                checked.gateway.rpc_servers = RPC_SERVERS.map(rpc_server).into();
            }
            Ok(Config {
                file: file.map(Path::to_owned),
                text,
                checked,
                problems,
            })
        }
        _ => Err(problems),
    }
}

/// Returns the file to read, or `None` for the built-in default.
fn locate(
    flag: Option<&Path>,
    environment: &Environment,
    exists: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    if let Some(flag) = flag {
        return Some(flag.to_owned());
    }
    let here = Some(PathBuf::from(FILE_NAME));
    let users = users_file(environment);
    here.into_iter().chain(users).find(|path| exists(path))
}

/// Returns the path of the user's configuration file, which may not exist.
pub(crate) fn users_file(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.config_folder()?;
    Some(folder.join("narrows").join(FILE_NAME))
}

/// The servers on the plain JSON-RPC route without any configuration: ids and ports on this
/// machine.
const RPC_SERVERS: [(&str, u16); 4] = [
    ("fast-filesystem", 8004),
    ("json-query", 8005),
    ("sequential-thinking", 8006),
    ("shrimp-task-manager", 8007),
];

fn rpc_server((id, port): (&str, u16)) -> RpcServer {
    let url = format!("http://127.0.0.1:{port}");
    RpcServer {
        id: id.to_owned(),
        remote: RemoteSettings {
            url: url.parse().expect("an address and a port are a URL"),
            headers: Vec::new(),
            protocol: RemoteProtocol::Rpc,
        },
        mask: Mask::default(),
        timeout: RPC_TIMEOUT,
    }
}

/// The built-in default, written as a file.
const BUILT_IN: &str = r#"{
  "mcpServers": {
    "demo": { "type": "builtin" },
    "pruner": { "type": "builtin" }
  }
}
"#;

fn built_in(environment: &Environment) -> Config {
    let servers = [("demo", Builtin::Demo), ("pruner", Builtin::Pruner)];
    let server = |(id, which)| ServerSettings::new(id, UpstreamKind::Builtin(which));
    let gateway = Settings {
        endpoints: check::built_in_endpoints(),
        upstreams: servers.map(server).into(),
        ancestry: Ancestry::new(environment.text(CHAIN), None),
        proxy: environment.proxies(),
        rpc_servers: RPC_SERVERS.map(rpc_server).into(),
        ..Settings::default()
    };
    let checked = CheckedConfig {
        gateway,
        listen: DEFAULT_LISTEN,
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        declared: HashMap::new(),
        left_out: Vec::new(),
        skipped_presets: Vec::new(),
        preset_folder: None,
        admin: AdminChecked::default(),
    };
    Config {
        file: None,
        text: BUILT_IN.to_owned(),
        checked,
        problems: Vec::new(),
    }
}

/// The size limit of a file, larger than any configuration needs to be.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a file, or returns the problem.
pub(crate) fn read_file(path: &Path) -> Result<String, Box<Problem>> {
    let name = path.display().to_string();
    let problem =
        |what: String, help: Option<String>| Box::new(Problem::with_file(&name, what, help));
    let mut bytes = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let help = format!("check the path, or leave --config out to use ./{FILE_NAME}");
            problem("there is no such file".to_owned(), Some(help))
        }
        _ => problem(format!("the file cannot be read: {error}"), None),
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(problem("the file is larger than 16 MiB".to_owned(), None));
    }
    String::from_utf8(bytes).map_err(|_| {
        let what = "the file is not UTF-8 text".to_owned();
        problem(what, Some("save it as UTF-8".to_owned()))
    })
}

/// Parses and checks a file. If no settings are returned, one of the problems is an error.
fn parse(path: &Path, text: &str, scope: Scope<'_>) -> (Option<CheckedConfig>, Vec<Problem>) {
    let source = Source::new(path, text);
    let mut problems = Problems::new(&source);
    let raw = read_text::<RawFile>(&source, "write {\"mcpServers\": {}}", &mut problems);
    let checked = raw.map(|raw| check::check(&raw, scope, &mut problems));
    (checked, problems.finish())
}

/// Parses a file as a table. Returns `None` after reporting a problem. For an empty file, `example`
/// is the help text.
fn read_text<T: Read>(
    source: &Source<'_>,
    example: &str,
    problems: &mut Problems<'_>,
) -> Option<T> {
    let text = source.text;
    let parsed = match parse_to_ast(text, &CollectOptions::default(), &syntax()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let at = At {
                offset: error.range().start,
                path: String::new(),
            };
            let what = format!(
                "this is not valid JSON: {}",
                lower_first(&error.kind().to_string())
            );
            problems.error(&at, what, "");
            return None;
        }
    };
    let Some(value) = &parsed.value else {
        problems.error(&At::default(), "the file is empty", example);
        return None;
    };
    T::read(&Node::top(value), problems)
}

/// Accepts no extensions of JSON except comments and trailing commas. A file that only Narrows
/// could read would break other clients that share it.
pub(crate) fn syntax() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}
