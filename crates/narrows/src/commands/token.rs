//! `narrows token`: creates tokens for clients and admins, and prints digests.

use std::io::{Read, Write};

use narrows_gateway::settings::{ClientSettings, TokenDigest};
use serde_json::json;

use super::Exit;
use crate::cli::Token;
use crate::config::clients::{is_name, written};
use crate::terminal::{eprint_line, plain};
use crate::token::{TokenKind, new_token};

/// The maximum length of a token.
const LONGEST: usize = 512;

pub(crate) fn run(options: &Token) -> anyhow::Result<Exit> {
    if options.hash {
        return hash();
    }
    let name = options.name.as_deref().unwrap_or("NAME");
    if !is_name(name) || name == ClientSettings::ANONYMOUS {
        let shown = plain(name);
        eprint_line(format_args!(
            "error: '{shown}' is not a valid name for a client with a token"
        ));
        eprint_line(
            "  help: use 1 to 64 letters, digits, dots, underscores or dashes; `anonymous` stands for clients without a token",
        );
        return Ok(Exit::Usage);
    }
    let kind = match options.admin {
        true => TokenKind::Admin,
        false => TokenKind::Client,
    };
    let token = new_token(kind);
    let entry = json!({ "token": written(&TokenDigest::of(&token)) });
    let (entry, table) = match kind {
        TokenKind::Admin => (json!({ "admin": entry }), "admin"),
        TokenKind::Client => (json!({ "clients": { name: entry } }), "clients"),
    };
    let entry = serde_json::to_string_pretty(&entry)?;
    print(&token)?;
    eprint_line(format_args!(
        "Add this to the configuration, as `{table}`:\n{entry}\n\
         The token itself is shown only once."
    ));
    Ok(Exit::Done)
}

fn hash() -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    // Leaves room for a line break after the longest token and one byte that shows an excess.
    let most = LONGEST as u64 + 3;
    std::io::stdin().lock().take(most).read_to_end(&mut text)?;
    let token = std::str::from_utf8(&text).unwrap_or_default();
    let token = token.trim_end_matches(['\r', '\n']);
    let is_fit = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_fit || token.len() > LONGEST {
        eprint_line(format_args!(
            "error: stdin holds no valid token: 1 to {LONGEST} visible ASCII characters without spaces"
        ));
        eprint_line("  help: narrows token --hash < FILE");
        return Ok(Exit::Failed);
    }
    print(&written(&TokenDigest::of(token)))?;
    Ok(Exit::Done)
}

fn print(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
