//! Checks servers that are started as child processes.

use std::path::PathBuf;

use narrows_gateway::settings::StdioSettings;
use narrows_wire::frame::Framing;

use super::env_file::EnvFile;
use super::server_check::{ServerCheck, pairs};
use crate::config::expand::{Forms, expand_home};
use crate::config::problem::At;
use crate::config::raw::{InheritEnv, RawServer, StdioMode};

/// The maximum number of env file lines to report.
const MAX_LINES_REPORTED: usize = 5;

impl ServerCheck<'_, '_> {
    pub(super) fn stdio(&mut self, at: &At, server: &RawServer) -> Option<StdioSettings> {
        if server.command.is_absent() {
            let help = "add \"command\": \"npx\", \"args\": [...]";
            self.problems
                .error(at, "a stdio server needs a `command`", help);
        }
        self.pointless(server.url.at(), "url", "");
        self.pointless(server.headers.at(), "headers", "");
        let env = self.variables(server);
        let args = server.args.value().map_or(&[][..], Vec::as_slice);
        let command = server.command.value().map_or(&[][..], |command| &command.0);
        // All words are expanded before the first failure is returned, so that all unset variables
        // are reported at once.
        let words: Vec<Option<String>> = command
            .iter()
            .chain(args)
            .map(|word| self.text(word, Forms::Dollar))
            .collect();
        let cwd = self.cwd(server);
        let given = server.command.given()?;
        if command
            .first()
            .is_none_or(|program| program.value.trim().is_empty())
        {
            self.problems.error(
                &given.at,
                "the `command` is empty",
                "name the program to run",
            );
            return None;
        }
        let mut words = words.into_iter().collect::<Option<Vec<String>>>()?;
        let program = words.remove(0);
        Some(StdioSettings {
            command: expand_home(&program, self.scope.environment),
            args: words,
            env: self.child_environment(server, env?),
            cwd,
            framing: match server.stdio_mode.value() {
                Some(StdioMode::ContentLength) => Framing::ContentLength,
                Some(StdioMode::Newline) | None => Framing::Newline,
            },
        })
    }

    /// Returns the variables of the server's `envFile` followed by its own `env`, expanded. The
    /// last value of a name applies.
    fn variables(&mut self, server: &RawServer) -> Option<Vec<(String, String)>> {
        let mut variables = self.env_file(server);
        for (name, value) in pairs(server.env.value()) {
            if name.value.is_empty() || name.value.contains(['=', '\0']) {
                let what = format!("`{}` is not a valid variable name", name.value);
                self.problems.error(&name.at, what, "");
            }
            match (self.text(value, Forms::DollarAndBare), &mut variables) {
                (Some(value), Some(variables)) => variables.push((name.value.clone(), value)),
                _ => variables = None,
            }
        }
        variables
    }

    /// Reads the variables of the server's `envFile`. Returns `None` after reporting a problem.
    fn env_file(&mut self, server: &RawServer) -> Option<Vec<(String, String)>> {
        let Some(given) = server.env_file.given() else {
            return Some(Vec::new());
        };
        let text = self.text(given, Forms::Dollar)?;
        // A disabled server needs no variables.
        if !self.enabled {
            return Some(Vec::new());
        }
        let path = expand_home(&text, self.scope.environment);
        let path = self.scope.folder.join(path);
        let name = path.display();
        match EnvFile::read(&path) {
            Ok(file) => {
                for line in file.ignored.iter().take(MAX_LINES_REPORTED) {
                    let what = format!(
                        "line {line} of the env file '{name}' is not NAME=VALUE and is ignored"
                    );
                    let help = "write NAME=VALUE, or start comments with #";
                    self.problems.warn(&given.at, what, help);
                }
                let more = file.ignored.len().saturating_sub(MAX_LINES_REPORTED);
                if more > 0 {
                    let lines = if more == 1 { "line is" } else { "lines are" };
                    let what = format!("{more} more {lines} ignored in the env file '{name}'");
                    self.problems.warn(&given.at, what, "");
                }
                Some(file.variables)
            }
            Err(why) => {
                let what = format!("the env file '{name}' cannot be read: {why}");
                let starts = match given.value.contains("${workspaceFolder}") {
                    true => {
                        "`${workspaceFolder}` stands for the folder of this configuration \
                             file, or the one above `.vscode` and `.cursor`"
                    }
                    false => "a relative path starts at the folder of this configuration file",
                };
                let help = format!(
                    "create it, or fix the path: {starts}; then save this file again or send \
                     SIGHUP to the gateway"
                );
                self.problems.left_out(&given.at, what.clone(), help);
                self.env_file = Some(what);
                None
            }
        }
    }

    fn child_environment(
        &self,
        server: &RawServer,
        own: Vec<(String, String)>,
    ) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let inherit = server.inherit_env.value().unwrap_or(&InheritEnv::Usual);
        self.scope.environment.for_child(inherit, own)
    }

    fn cwd(&mut self, server: &RawServer) -> Option<PathBuf> {
        let given = server.cwd.given()?;
        let text = self.text(given, Forms::Dollar)?;
        Some(
            self.scope
                .folder
                .join(expand_home(&text, self.scope.environment)),
        )
    }
}
