//! The options of the filters: text in, shorter text out, no server involved.

use std::path::PathBuf;

use clap::Args;
use narrows_shape::prune::SourceType;

/// What every filter reads and can tell.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The file to read; `-` is stdin [default: stdin]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Say on stderr what it saved, in characters and tokens (o200k)
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Mask {
    /// Strings of more characters are cut; 0 cuts none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4000,
        allow_negative_numbers = true
    )]
    pub(crate) max_chars: i64,
    /// Characters that stay at the beginning
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) head_chars: usize,
    /// Characters that stay at the end
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) tail_chars: usize,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Toon {
    /// The other way: TOON in, JSON out
    #[arg(long)]
    pub(crate) decode: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Ts {
    /// Descriptions of more characters are cut
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) max_description_len: usize,
    /// Leave descriptions out
    #[arg(long, conflicts_with = "max_description_len")]
    pub(crate) no_descriptions: bool,
    /// Tell defaults and limits in comments: /* =30; 1..100 */
    #[arg(long)]
    pub(crate) constraints: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// What the text is read for; lines that answer it stay
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: String,
    /// What the text is: code, logs or docs [default: by the file's name, then by the text]
    #[arg(long, value_name = "KIND")]
    pub(crate) source_type: Option<SourceType>,
    /// The largest share of the lines that may go, from 0 to 1
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.55,
        value_parser = ratio,
        allow_negative_numbers = true
    )]
    pub(crate) max_prune_ratio: f64,
    /// How many lines stay at least
    #[arg(
        long,
        value_name = "N",
        default_value_t = 40,
        allow_negative_numbers = true
    )]
    pub(crate) min_keep_lines: usize,
    /// Print the whole answer of `prune_text` as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) input: Input,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    match (0.0..=1.0).contains(&ratio) {
        true => Ok(ratio),
        false => Err("it is not from 0 to 1".to_owned()),
    }
}

pub(super) const MASK_EXAMPLES: &str = "\
Examples:
  narrows mask answer.json
  curl -s https://api.example/items | narrows mask --max-chars 500 --head-chars 200 --tail-chars 100

Every string value that is too long keeps its beginning and its end, with a marker between
that tells how long it was. Keys, numbers and everything else stay as they are, byte for byte.
A smaller --max-chars wants smaller --head-chars and --tail-chars: they may overlap.
Exit codes: 0 done, 1 the input is not JSON (the place is told) or cannot be read.";

pub(super) const TOON_EXAMPLES: &str = "\
Examples:
  narrows toon rows.json
  narrows toon --decode rows.toon | jq .

TOON is shorter than JSON for lists of objects with the same keys; for nested data it may be
longer. --stats tells. What would not come back as it is (numbers beyond 64 bits or a double,
a key twice, nesting beyond 127 levels) is refused.
Exit codes: 0 done, 1 the input is not what it should be (the place is told) or cannot be read.";

pub(super) const TS_EXAMPLES: &str = "\
Examples:
  narrows ts schema.json
  narrows tools files read_file --json | jq .tool.inputSchema | narrows ts --constraints

Prints the type that a JSON Schema describes, on one line, with descriptions as comments.
Exit codes: 0 done, 1 the input is not JSON (the place is told) or cannot be read.";

pub(super) const PRUNE_EXAMPLES: &str = "\
Examples:
  narrows prune --goal 'where are sessions closed?' src/session.rs
  journalctl | narrows prune --goal 'refused payments' --max-prune-ratio 0.9
  narrows prune --goal 'retry policy' --json README.md | jq .stats

Kept lines stay whole and in order. A line that begins with ⟦PRUNÉ: stands for each block that
was left out and tells its line numbers; its prune_id is of use only with the pruner as a
server, which keeps what it leaves out. Imports, definitions, errors, headings and everything
between ⟦NO_PRUNE_BEGIN⟧ and ⟦NO_PRUNE_END⟧ always stay.
Exit codes: 0 done, 1 the input cannot be read or is not UTF-8.";
