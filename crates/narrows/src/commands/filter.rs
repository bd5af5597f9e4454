//! The filters, which shorten a text. They read a file or stdin, print only the resulting text to
//! stdout, and report the position of invalid input on stderr.

use std::fmt::Display;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use narrows_gateway::Pruner;
use narrows_gateway::recovery_store::Owner;
use narrows_gateway::settings::{PrunerSettings, RecoverySettings};
use narrows_shape::prune::SourceType;
use narrows_shape::{NotJson, TypeScriptOptions, toon, typescript_of_text};
use narrows_wire::Raw;
use serde_json::{Value, json};

use super::Exit;
use crate::cli::filters::{Input, Mask, Prune, Toon, Ts};
use crate::terminal::{answer, eprint_line, plain};
use crate::tokens;

pub(crate) fn mask(options: &Mask) -> anyhow::Result<Exit> {
    let (max, head, tail) = (options.max_chars, options.head_chars, options.tail_chars);
    let limits = narrows_shape::Mask::new(max, head, tail);
    filter(&options.input, |input| {
        let masked = narrows_shape::mask(input, &limits)?;
        Ok(masked.text.into_owned())
    })
}

pub(crate) fn toon(options: &Toon) -> anyhow::Result<Exit> {
    filter(&options.input, |input| {
        let text = utf8(input)?;
        match options.decode {
            true => Ok(toon::decode(text)?),
            false => Ok(toon::encode(text)?),
        }
    })
}

pub(crate) fn ts(options: &Ts) -> anyhow::Result<Exit> {
    let style = TypeScriptOptions {
        descriptions: !options.no_descriptions,
        max_description_len: options.max_description_len,
        constraints: options.constraints,
    };
    filter(&options.input, |input| {
        Ok(typescript_of_text(utf8(input)?, &style)?.to_string())
    })
}

pub(crate) async fn prune(options: &Prune) -> anyhow::Result<Exit> {
    let input = match read(&options.input) {
        Ok(input) => input,
        Err(exit) => return Ok(exit),
    };
    let text = match utf8(&input) {
        Ok(text) => text,
        Err(input_error) => return Ok(refuse(&options.input, &input_error)),
    };
    let name = options.input.file.as_deref().and_then(Path::to_str);
    let source = options.source_type;
    let source = source.unwrap_or_else(|| SourceType::guess(name, text));
    let pruned = prune_text(options, text, source).await?;
    match pruned["warnings"][0].as_str() {
        None => {}
        Some("constraints_unmet") => {
            let least = options.min_keep_lines;
            eprint_line(format_args!(
                "nothing was cut: the text has fewer lines than --min-keep-lines {least}"
            ));
        }
        Some(why) => eprint_line(format_args!("nothing was cut: {why}")),
    }
    let shortened = pruned["pruned_text"].as_str().unwrap_or(text);
    if options.input.stats {
        eprint_line(format_args!("read as {source}"));
        print_savings(text, shortened);
    }
    match options.json {
        true => print(&pruned.to_string())?,
        false => print(shortened)?,
    }
    Ok(Exit::Done)
}

/// Calls the tool of the same name on one text, without limits on size or time.
async fn prune_text(options: &Prune, text: &str, source: SourceType) -> anyhow::Result<Value> {
    let settings = PrunerSettings {
        max_input_chars: usize::MAX,
    };
    let recovery = RecoverySettings {
        max_bytes: usize::MAX,
        ..RecoverySettings::default()
    };
    let arguments = json!({
        "text": text,
        "goal_hint": options.goal,
        "source_type": source.as_str(),
        "options": {
            "max_prune_ratio": options.max_prune_ratio,
            "min_keep_lines": options.min_keep_lines,
            "timeout_ms": i64::MAX,
            "annotate_lines": false,
            "include_markers": true,
        },
    });
    let pruner = Pruner::in_memory(settings, &recovery);
    let arguments = Raw::from_serialize(&arguments);
    let result = pruner
        .call(&Owner::pruner(None), "prune_text", Some(arguments))
        .await;
    let result = result.context("the text cannot be pruned")?;
    let answer = result.member("structuredContent");
    let answer = answer.context("the pruner returned no result")?;
    Ok(answer.decode()?)
}

/// A position in the input and the reason why it is invalid.
struct InputError {
    line: usize,
    column: usize,
    what: String,
}

impl From<NotJson> for InputError {
    fn from(error: NotJson) -> InputError {
        InputError {
            line: error.line,
            column: error.column,
            what: format!("this is not JSON: {}", error.what),
        }
    }
}

impl From<toon::NotEncodable> for InputError {
    fn from(error: toon::NotEncodable) -> InputError {
        match error {
            toon::NotEncodable::NotJson(error) => error.into(),
            toon::NotEncodable::Lossy { what, line, column } => InputError {
                line,
                column,
                what: format!("TOON cannot represent {what}"),
            },
        }
    }
}

impl From<toon::NotToon> for InputError {
    fn from(error: toon::NotToon) -> InputError {
        InputError {
            line: error.line,
            column: error.column,
            what: format!("this is not TOON: {}", error.what),
        }
    }
}

/// Reads the input, applies `work` and prints the result.
fn filter(
    input: &Input,
    work: impl FnOnce(&[u8]) -> Result<String, InputError>,
) -> anyhow::Result<Exit> {
    let bytes = match read(input) {
        Ok(bytes) => bytes,
        Err(exit) => return Ok(exit),
    };
    let text = match work(&bytes) {
        Ok(text) => text,
        Err(input_error) => return Ok(refuse(input, &input_error)),
    };
    if input.stats {
        print_savings(&String::from_utf8_lossy(&bytes), &text);
    }
    print(&text)?;
    Ok(Exit::Done)
}

fn read(input: &Input) -> Result<Vec<u8>, Exit> {
    let read = match &input.file {
        Some(file) if file.as_os_str() != "-" => std::fs::read(file),
        _ => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
    };
    read.map_err(|error| {
        eprint_line(format_args!("error: cannot read {}: {error}", name(input)));
        Exit::Failed
    })
}

/// Returns the input as text, or the position of the first byte that is not UTF-8.
fn utf8(input: &[u8]) -> Result<&str, InputError> {
    std::str::from_utf8(input).map_err(|error| {
        let before = String::from_utf8_lossy(&input[..error.valid_up_to()]);
        let last = before.rsplit('\n').next().unwrap_or_default();
        InputError {
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            what: "this is not UTF-8".to_owned(),
        }
    })
}

fn refuse(input: &Input, input_error: &InputError) -> Exit {
    let (name, InputError { line, column, what }) = (name(input), input_error);
    eprint_line(format_args!(
        "error: {name}:{line}:{column}: {}",
        plain(what)
    ));
    Exit::Failed
}

fn name(input: &Input) -> impl Display {
    match &input.file {
        Some(file) if file.as_os_str() != "-" => plain(&file.to_string_lossy()).into_owned(),
        _ => "stdin".to_owned(),
    }
}

/// Prints the text, with a final newline unless it has one.
fn print(text: &str) -> io::Result<()> {
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    answer(&format!("{text}{newline}"))
}

fn print_savings(before: &str, after: &str) {
    let chars = |text: &str| text.chars().count();
    let line = |what: &str, before: usize, after: usize| {
        let change = (after as f64 / before.max(1) as f64 - 1.0) * 100.0;
        eprint_line(format_args!(
            "{what:10} {before:>12} {after:>12} {change:>+7.1} %"
        ));
    };
    eprint_line(format_args!("{:10} {:>12} {:>12}", "", "before", "after"));
    line("characters", chars(before), chars(after));
    if let (Some(before), Some(after)) = (tokens::count(before), tokens::count(after)) {
        line(tokens::LABEL, before, after);
    }
}
