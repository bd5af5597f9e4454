//! The options of the filters, which shorten text without any server.

use std::path::PathBuf;

use clap::Args;
use narrows_shape::prune::SourceType;

/// The options that all filters share.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// File to read; `-` reads stdin [default: stdin]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the savings to stderr, in characters and tokens (o200k)
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Mask {
    /// Cut strings longer than this many characters; 0 cuts none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4000,
        allow_negative_numbers = true
    )]
    pub(crate) max_chars: i64,
    /// Characters to keep at the beginning
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) head_chars: usize,
    /// Characters to keep at the end
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) tail_chars: usize,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Toon {
    /// Convert TOON to JSON instead
    #[arg(long)]
    pub(crate) decode: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Ts {
    /// Cut descriptions longer than this many characters
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) max_description_len: usize,
    /// Omit descriptions
    #[arg(long, conflicts_with = "max_description_len")]
    pub(crate) no_descriptions: bool,
    /// Add defaults and limits as comments: /* =30; 1..100 */
    #[arg(long)]
    pub(crate) constraints: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Purpose of reading the text; lines relevant to it are kept
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: String,
    /// Kind of text: code, logs or docs [default: detected from the file name, then from the text]
    #[arg(long, value_name = "KIND")]
    pub(crate) source_type: Option<SourceType>,
    /// Maximum share of the lines to remove, from 0 to 1
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.55,
        value_parser = ratio,
        allow_negative_numbers = true
    )]
    pub(crate) max_prune_ratio: f64,
    /// Minimum number of lines to keep
    #[arg(
        long,
        value_name = "N",
        default_value_t = 40,
        allow_negative_numbers = true
    )]
    pub(crate) min_keep_lines: usize,
    /// Print the whole result of `prune_text` as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    match (0.0..=1.0).contains(&ratio) {
        true => Ok(ratio),
        false => Err("it must be from 0 to 1".to_owned()),
    }
}

pub(super) const MASK_EXAMPLES: &str = "\
Examples:
  narrows mask answer.json
  curl -s https://api.example/items | narrows mask --max-chars 500 --head-chars 200 --tail-chars 100

Strings that are too long keep their beginning and end, with a marker between them that gives the
original length. Keys, numbers and everything else stay unchanged, byte for byte.
With a smaller --max-chars, also reduce --head-chars and --tail-chars, because they may overlap.
Exit codes: 0 done, 1 the input is not JSON (the position is printed) or cannot be read.";

pub(super) const TOON_EXAMPLES: &str = "\
Examples:
  narrows toon rows.json
  narrows toon --decode rows.toon | jq .

TOON is shorter than JSON for lists of objects with the same keys, but may be longer for nested
data; --stats shows the difference. Data that TOON cannot represent exactly is refused: numbers
beyond 64 bits or a double, duplicate keys, and nesting beyond 127 levels.
Exit codes: 0 done, 1 the input is invalid (the position is printed) or cannot be read.";

pub(super) const TS_EXAMPLES: &str = "\
Examples:
  narrows ts schema.json
  narrows tools files read_file --json | jq .tool.inputSchema | narrows ts --constraints

Prints the type that a JSON Schema describes, on one line, with descriptions as comments.
Exit codes: 0 done, 1 the input is not JSON (the position is printed) or cannot be read.";

pub(super) const PRUNE_EXAMPLES: &str = "\
Examples:
  narrows prune --goal 'where are sessions closed?' src/session.rs
  journalctl | narrows prune --goal 'refused payments' --max-prune-ratio 0.9
  narrows prune --goal 'retry policy' --json README.md | jq .stats

Kept lines stay whole and in order. Each removed block is replaced by a line that starts with
⟦PRUNÉ: and gives its line numbers. The prune_id in it is useful only with the pruner as a server,
which stores removed lines. Imports, definitions, errors, headings and everything between
⟦NO_PRUNE_BEGIN⟧ and ⟦NO_PRUNE_END⟧ are always kept.
Exit codes: 0 done, 1 the input cannot be read or is not UTF-8.";
