//! Builds the entry of a new server from the options of `narrows servers add`.

use std::path::{Path, absolute};

use serde_json::{Map, Value, json};

use crate::admin_client::AdminClientError;
use crate::cli::operator::AddServer;
use crate::commands::entry;
use crate::terminal::{eprint_line, plain};

/// Options of this command that are surely not meant for the server.
const OWN: [&str; 4] = ["--save", "--replace", "--answer-json", "--wait"];

/// Builds the value for the server's id in `mcpServers`. The gateway validates it, because only the
/// gateway knows the rest of the configuration.
pub(super) fn entry_of(options: &AddServer) -> Result<Value, AdminClientError> {
    if let Some(given) = &options.json {
        let text = match given.as_str() {
            "-" => entry::read_text("-")?,
            text => match text.strip_prefix('@') {
                Some(file) => entry::read_text(file)?,
                None => text.to_owned(),
            },
        };
        return entry::parse(&text, "the entry");
    }
    let is_given = [&options.command, &options.line]
        .iter()
        .any(|line| !line.is_empty());
    if !is_given && options.url.is_none() && options.kind.is_none() {
        let what = "the server is not specified";
        let help = "add `--command CMD...` or `-- CMD...` for a program, `--url URL` for an \
                    address, or `--json ENTRY` for a whole entry";
        return Err(AdminClientError::usage(what).with_help(help));
    }
    let mut members = Map::new();
    let mut put = |key: &str, value: Value| {
        members.insert(key.to_owned(), value);
    };
    if let Some(kind) = &options.kind {
        put("type", json!(kind));
    }
    let line = match options.command.is_empty() {
        true => &options.line,
        false => &options.command,
    };
    if let Some((command, arguments)) = line.split_first() {
        if !options.command.is_empty() {
            warn_of_own(command, arguments);
        }
        put("command", json!(command));
        if !arguments.is_empty() {
            put("args", json!(arguments));
        }
    }
    if let Some(url) = &options.url {
        put("url", json!(url));
    }
    let env = pairs(&options.env, '=', "--env", "KEY=VALUE")?;
    if !env.is_empty() {
        put("env", env.into());
    }
    let headers = pairs(&options.header, ':', "--header", "'NAME: VALUE'")?;
    if !headers.is_empty() {
        put("headers", headers.into());
    }
    Ok(members.into())
}

/// Sets the working directory of the server's command: that of `--cwd`, or the caller's if the
/// gateway is on this machine. Relative paths among the arguments then mean the same to the server
/// as to the caller.
pub(super) fn set_folder(
    entry: &mut Value,
    options: &AddServer,
    is_local: bool,
) -> Result<(), AdminClientError> {
    let Some(members) = entry.as_object_mut() else {
        return Ok(());
    };
    let has_one = ["cwd", "workingDirectory"]
        .iter()
        .any(|key| members.get(*key).is_some_and(|folder| !folder.is_null()));
    let is_command = members.get("command").is_some_and(|it| !it.is_null());
    let folder = match &options.cwd {
        Some(_) if !is_command => {
            let what = "--cwd applies only to servers that are started by a command";
            return Err(AdminClientError::usage(what));
        }
        // A folder on another machine.
        Some(folder) if !is_local => folder.clone(),
        Some(folder) => {
            let folder = absolute(folder).map_err(|error| {
                AdminClientError::usage(format!("--cwd cannot be used: {error}"))
            })?;
            if !folder.is_dir() {
                let name = folder.display().to_string();
                eprint_line(format_args!(
                    "warning: there is no folder '{}'",
                    plain(&name)
                ));
            }
            folder
        }
        None if !is_local || !is_command || has_one => return Ok(()),
        None => match std::env::current_dir() {
            Ok(folder) => folder,
            Err(error) => {
                eprint_line(format_args!(
                    "warning: the current folder is unknown, so the server runs in the gateway's: \
                     {error}"
                ));
                return Ok(());
            }
        },
    };
    members.insert("cwd".to_owned(), json!(written(&folder)?));
    Ok(())
}

/// Formats a folder for an entry, where `${` starts a variable.
fn written(folder: &Path) -> Result<String, AdminClientError> {
    let text = folder.to_str().ok_or_else(|| {
        let name = folder.display().to_string();
        let what = format!(
            "the folder '{}' cannot be stored: it is not UTF-8",
            plain(&name)
        );
        AdminClientError::usage(what).with_help("choose another folder with --cwd")
    })?;
    Ok(text.replace("${", "$${"))
}

/// Parses names and values. Errors do not quote the text, because it may be a secret.
fn pairs(
    given: &[String],
    separator: char,
    option: &str,
    form: &str,
) -> Result<Map<String, Value>, AdminClientError> {
    let mut pairs = Map::new();
    for pair in given {
        let parts = pair.split_once(separator);
        let Some((name, value)) = parts.filter(|(name, _)| !name.trim().is_empty()) else {
            return Err(AdminClientError::usage(format!(
                "a value of {option} is not {form}"
            )));
        };
        // Surrounding white space is not part of a header's value, but it is part of a variable's.
        let value = match separator {
            ':' => value.trim(),
            _ => value,
        };
        pairs.insert(name.trim().to_owned(), json!(value));
    }
    Ok(pairs)
}

/// Warns if an option of this command follows `--command`, because it is then passed to the server.
fn warn_of_own(command: &str, arguments: &[String]) {
    let own = arguments.iter().find(|word| OWN.contains(&word.as_str()));
    if let Some(own) = own {
        let command = plain(command);
        eprint_line(format_args!(
            "warning: {own} is passed to {command}; to use it as an option of narrows, put it before --command"
        ));
    }
}
