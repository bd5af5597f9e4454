//! Finds values in arguments and environment variables that look like secrets.
//!
//! A value looks like a secret because of its name, its position in a URL or connection string, or
//! the prefix that a provider gives its tokens.

use std::ffi::OsString;

use serde_json::Value;

use super::{decoded, is_scheme};
use narrows_wire::redact::looks_secret;

/// Name parts that mark a value as a secret, in addition to those of [`looks_secret`].
const NAME_PARTS: [&str; 7] = [
    "pass",
    "pwd",
    "dsn",
    "connection",
    "credential",
    "private",
    "bearer",
];

/// Prefixes that providers give their tokens.
const TOKEN_PREFIXES: [&str; 14] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "npm_",
    "hf_",
    "eyJ",
];

/// The maximum nesting of names, as in `--env=NAME=VALUE`.
const NESTED: usize = 3;

/// The minimum length of a value after the ambiguous flag `-p` to count as random.
const RANDOM: usize = 12;

pub(super) fn in_environment(env: &[(OsString, OsString)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in env {
        let Some(value) = value.to_str() else {
            continue;
        };
        if name.to_str().is_some_and(names_secret) {
            add_whole(value, &mut found);
        }
        add_inner(value, &mut found);
    }
    found
}

pub(super) fn in_arguments(args: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    // The previous argument, if it is a flag that takes this one as its value.
    let mut flag: Option<&str> = None;
    for arg in args {
        add_named(arg, NESTED, &mut found);
        add_inner(arg, &mut found);
        if let Some((_, value)) = arg.split_once('=') {
            add_inner(value, &mut found);
        }
        let is_flag = arg.starts_with('-');
        match flag.take().filter(|_| !is_flag) {
            Some(name) if names_secret(name) => add_whole(arg, &mut found),
            Some("-p") if looks_random(arg) => add_whole(arg, &mut found),
            _ => {}
        }
        flag = Some(arg.as_str()).filter(|arg| is_flag && !arg.contains('='));
    }
    found
}

/// Returns true if a value with this name looks like a secret.
fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_author = name.contains("author") && !name.contains("authori");
    looks_secret(name.as_bytes())
        || NAME_PARTS.iter().any(|part| name.contains(part))
        || (name.contains("auth") && !is_author)
        || words_of(&name).any(|word| word == "pat")
}

fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
}

fn looks_random(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.as_bytes().iter().any(kind);
    value.len() >= RANDOM && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit)
}

/// Adds a value with a secret name, without the authentication scheme. Small numbers are ignored,
/// because they are limits or ports.
fn add_whole(value: &str, found: &mut Vec<String>) {
    let is_number = value.len() < 8 && value.bytes().all(|byte| byte.is_ascii_digit());
    let words = value.split_ascii_whitespace();
    match value.split_once(' ') {
        Some((scheme, _)) if is_scheme(scheme) => {
            found.extend(words.skip(1).map(str::to_owned));
        }
        _ if is_number || is_scheme(value) => {}
        _ => found.push(value.to_owned()),
    }
}

/// Adds the value of `NAME=VALUE` or `NAME: VALUE`, including when it is itself the value of a
/// flag.
fn add_named(text: &str, nested: usize, found: &mut Vec<String>) {
    let Some((name, value)) = text.split_once(['=', ':']).filter(|_| nested > 0) else {
        return;
    };
    if is_name(name) && names_secret(name) {
        return add_whole(value.trim_start(), found);
    }
    add_named(value.trim_start(), nested - 1, found);
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.bytes().all(fits)
}

/// Adds the secrets inside a text: tokens with a known prefix, the password and query parameters of
/// a URL, pairs such as `Password=x;`, and JSON members.
fn add_inner(text: &str, found: &mut Vec<String>) {
    let words = text.split(|c: char| c.is_whitespace() || "=:;,&'\"".contains(c));
    found.extend(words.filter(|word| is_token(word)).map(str::to_owned));
    if let Some((_, rest)) = text.split_once("://") {
        add_password(rest, found);
    }
    let pairs = text.split(|c: char| c.is_whitespace() || ";&?".contains(c));
    for (name, value) in pairs.filter_map(|pair| pair.split_once('=')) {
        if is_name(name) && names_secret(name) {
            found.push(decoded(value));
            add_whole(value, found);
        }
    }
    if let Ok(json) = serde_json::from_str(text) {
        add_json(&json, found);
    }
}

fn is_token(word: &str) -> bool {
    let has_prefix = TOKEN_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    has_prefix && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Adds the password of a URL that contains `user:password@`.
fn add_password(after_scheme: &str, found: &mut Vec<String>) {
    let authority = after_scheme.split(['/', '?', '#']).next();
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    if let Some((_, password)) = user.and_then(|(user, _)| user.split_once(':')) {
        found.extend([password.to_owned(), decoded(password)]);
    }
}

fn add_json(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if names_secret(name) => add_whole(text, found),
                    value => add_json(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_json(item, found)),
        _ => {}
    }
}
