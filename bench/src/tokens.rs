//! Exact token counts with the vocabulary of current OpenAI models.

use std::io::{BufRead, stdin};

use crate::Fault;

/// Count o200k tokens: one JSON string per input line, one number per output line
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args) -> Result<(), Fault> {
    let vocabulary = tiktoken_rs::o200k_base()?;
    for line in stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        println!("{}", vocabulary.encode_ordinary(&text).len());
    }
    Ok(())
}
