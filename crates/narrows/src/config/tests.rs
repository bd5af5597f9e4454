//! Tests of configurations: each gives a text and the expected settings and problems.

mod budgets;
mod clients;
mod documented;
mod endpoints;
mod env_files;
mod places;
mod presets;
mod servers;
mod settings;
mod shapes;
mod tool_lists;
mod transports;
mod variables;

use std::path::Path;

use expect_test::Expect;
use narrows_gateway::settings::{ServerSettings, UpstreamKind};

use super::expand::Scope;
use super::{Environment, parse};

/// Reads `text` as `/etc/n/narrows.json` with a small environment.
#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outcome(text));
}

/// Returns the problems of `text`, and the upstreams if it has no errors.
fn outcome(text: &str) -> String {
    outcome_in(Path::new("/etc/n"), text)
}

/// Does the same for a file in another folder.
fn outcome_in(folder: &Path, text: &str) -> String {
    let environment = environment();
    let scope = Scope {
        environment: &environment,
        folder,
    };
    let (checked, problems) = parse(Path::new("narrows.json"), text, scope);
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let fatal = problems
        .iter()
        .any(|problem| problem.severity == super::Severity::Error);
    if let Some(checked) = checked.filter(|_| !fatal) {
        lines.extend(checked.gateway.upstreams.iter().map(describe));
        lines.extend(
            checked
                .left_out
                .iter()
                .map(|out| format!("without {}: {}", out.id, out.reason)),
        );
    }
    let mut outcome = lines.join("\n");
    outcome.push('\n');
    outcome
}

fn environment() -> Environment {
    [
        ("HOME", "/home/u"),
        ("PATH", "/bin"),
        ("TOKEN", "s3cr3t"),
        ("EMPTY", ""),
        ("AWS_REGION", "x"),
        ("LC_ALL", "C"),
        ("HTTPS_PROXY", "http://proxy:1"),
    ]
    .into_iter()
    .collect()
}

/// Describes an upstream in one line, with the part of its environment that comes from the file.
fn describe(upstream: &ServerSettings) -> String {
    let mut parts = vec![upstream.upstream.id.clone()];
    if !upstream.upstream.enabled {
        parts.push("(disabled)".to_owned());
    }
    match &upstream.upstream.kind {
        UpstreamKind::Stdio(stdio) => {
            parts.push(format!("stdio {:?} {:?}", stdio.command, stdio.args));
            let common = environment();
            let inherited = common.for_child(&super::raw::InheritEnv::Usual, []);
            for (name, value) in stdio.env.iter().filter(|pair| !inherited.contains(pair)) {
                parts.push(format!("{}={}", name.display(), value.display()));
            }
            parts.extend(stdio.cwd.iter().map(|cwd| format!("in {}", cwd.display())));
            parts.push(format!("{:?}", stdio.framing));
        }
        UpstreamKind::Remote(remote) => {
            parts.push(format!("{:?} {}", remote.protocol, remote.url));
            for (name, value) in &remote.headers {
                parts.push(format!("{name}={}", value.to_str().unwrap()));
            }
        }
        UpstreamKind::Builtin(builtin) => parts.push(format!("builtin {builtin:?}")),
    }
    parts.join(" ")
}
