//! Exact counts of tokens, by the vocabulary of today's OpenAI models.

use std::io::{BufRead, stdin};

use crate::Fault;

/// Count o200k tokens: a JSON string a line in, a number a line out
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
