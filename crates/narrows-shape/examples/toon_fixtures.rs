//! Runs the fixtures of the TOON specification.
//!
//! `cargo run -p narrows-shape --example toon_fixtures -- FOLDER`, where FOLDER contains
//! `encode/*.json` and `decode/*.json`. The exit code is 1 if a case fails. Cases with default
//! options test this crate. Cases with other options, which this crate never sets, test
//! `serde_toon` directly.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use narrows_shape::toon::{decode, encode};
use serde_json::Value;
use serde_toon::{DecodeOptions, Delimiter, ToonOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<ExitCode> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("usage: toon_fixtures FOLDER")?;
    let (mut passed, mut failed) = (0, 0);
    let mut is_complete = true;
    for (category, run) in [
        ("encode", encode_case as fn(&Value) -> Outcome<()>),
        ("decode", decode_case),
    ] {
        let cases = cases(&Path::new(&folder).join(category))?;
        println!("{category}: {} cases", cases.len());
        is_complete &= !cases.is_empty();
        for (name, case) in cases {
            match run(&case) {
                Ok(()) => passed += 1,
                Err(error) => {
                    failed += 1;
                    println!("FAIL {category} {name}: {error}");
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(match is_complete && failed == 0 {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns the cases of all files in a folder, with their names.
fn cases(folder: &Path) -> Outcome<Vec<(String, Value)>> {
    let mut paths = Vec::new();
    for file in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        paths.push(file?.path());
    }
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let content: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for case in content["tests"].as_array().ok_or("a file without tests")? {
            cases.push((format!("{name}: {}", case["name"]), case.clone()));
        }
    }
    Ok(cases)
}

fn encode_case(case: &Value) -> Outcome<()> {
    only(case, &["delimiter", "indentSize"])?;
    let mut options = ToonOptions::default();
    match case["options"]["delimiter"].as_str() {
        Some("\t") => options = options.with_delimiter(Delimiter::Tab),
        Some("|") => options = options.with_delimiter(Delimiter::Pipe),
        Some(",") | None => {}
        Some(other) => return Err(format!("unknown delimiter {other:?}").into()),
    }
    if let Some(indent) = case["options"]["indentSize"].as_u64() {
        options = options.with_indent(indent as usize);
    }
    let written = serde_toon::to_string_with_options(&case["input"], options)?;
    same(&Value::from(written), &case["expected"])?;
    if !case["options"].is_null() {
        return Ok(());
    }
    match encode(&case["input"].to_string()) {
        Ok(text) => same(&Value::from(text), &case["expected"]),
        Err(error) => Err(error.into()),
    }
}

fn decode_case(case: &Value) -> Outcome<()> {
    only(case, &["strict", "indentSize"])?;
    let toon = case["input"].as_str().ok_or("an input that is no text")?;
    let is_strict = case["options"]["strict"] != false;
    let decoded: Result<Value, String> = match case["options"]["indentSize"].as_u64() {
        None if is_strict => decode(toon)
            .map(|json| serde_json::from_str(&json).expect("`decode` returns JSON"))
            .map_err(|error| error.to_string()),
        indent => {
            let mut options = match is_strict {
                true => DecodeOptions::strict(),
                false => DecodeOptions::lenient(),
            };
            if let Some(indent) = indent {
                options = options.with_indent_size(indent as usize);
            }
            serde_toon::from_str_with_options(toon, options).map_err(|error| error.to_string())
        }
    };
    match (case["shouldError"] == true, decoded) {
        (true, Err(_)) => Ok(()),
        (true, Ok(value)) => Err(format!("not refused, but read as {value}").into()),
        (false, Ok(value)) => same(&value, &case["expected"]),
        (false, Err(error)) => Err(error.into()),
    }
}

/// Rejects fixtures with unknown options, because ignoring an option would make the test
/// meaningless.
fn only(case: &Value, known: &[&str]) -> Outcome<()> {
    let options = case["options"].as_object();
    let mut names = options.into_iter().flat_map(|options| options.keys());
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown option {name}").into()),
        None => Ok(()),
    }
}

fn same(found: &Value, expected: &Value) -> Outcome<()> {
    match is_same(found, expected) {
        true => Ok(()),
        false => Err(format!("{found} instead of {expected}").into()),
    }
}

/// Compares numbers by value, and objects including the order of their keys.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut members = one.iter().zip(other);
            one.len() == other.len() && members.all(|((k, a), (l, b))| k == l && is_same(a, b))
        }
        _ => one == other,
    }
}
