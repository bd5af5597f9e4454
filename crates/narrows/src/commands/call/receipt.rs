//! Explains to users what was cut from a result and why.
//!
//! The information comes from the receipt that the gateway puts into the result. Metadata of any
//! other shape is not a receipt and is ignored.

#[cfg(test)]
mod tests;

use std::time::Duration;

use narrows_gateway::settings::{Settings, ShapeChoice};
use narrows_gateway::{RECEIPT_META, ResultTraits};
use narrows_wire::Raw;
use serde::Deserialize;

use crate::terminal::{counted, grouped, plain};

/// The maximum number of blocks to describe.
const BLOCKS: usize = 20;

/// The maximum number of cuts to describe per block.
const CUTS: usize = 10;

/// The maximum number of characters of a goal to print.
const GOAL: usize = 100;

/// The limits that applied to the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// The maximum number of characters in a result.
    budget: usize,
    /// The time for which the whole texts are kept after this command exits, if they are.
    kept: Option<Duration>,
}

impl CallLimits {
    /// Returns the limits of a tool on the first endpoint, by the server's own name of the tool.
    /// Without a tool, returns those of the endpoint.
    pub(super) fn of(
        settings: &Settings,
        target: Option<(&str, &str)>,
        traits: ResultTraits,
    ) -> CallLimits {
        let upstream = target.and_then(|(server, tool)| {
            let mut upstreams = settings.upstreams.iter();
            let upstream = upstreams.find(|upstream| upstream.upstream.id == server)?;
            Some((upstream, upstream.tool_shapes.get(tool)))
        });
        let of_tool = upstream.and_then(|(_, shape)| shape);
        let of_server = upstream.map(|(upstream, _)| &upstream.shape);
        let of_endpoint = settings.endpoints.first().map(|endpoint| &endpoint.shape);
        let places = [of_tool, of_server, of_endpoint, Some(&settings.shape)];
        let shape = places.into_iter().flatten().copied();
        let shape = shape.fold(ShapeChoice::default(), ShapeChoice::or);
        let recovery = &settings.recovery;
        CallLimits {
            budget: shape
                .max_chars
                .unwrap_or(ShapeChoice::MAX_CHARS)
                .min(traits.cap),
            kept: recovery.path.is_some().then_some(recovery.ttl),
        }
    }
}

/// Returns true if part of the result was cut and will be lost when this command exits.
pub(super) fn is_lost(result: &Raw, terms: CallLimits) -> bool {
    let meta = result.member("_meta");
    let receipt = meta.and_then(|meta| meta.member(RECEIPT_META));
    let receipt = receipt.and_then(|receipt| receipt.decode::<Receipt>().ok());
    let is_cut = |receipt: Receipt| receipt.chars.after < receipt.chars.before;
    terms.kept.is_none() && receipt.is_some_and(is_cut)
}

/// Describes how a result was shaped, in lines.
pub(super) fn lines(result: &Raw, terms: CallLimits) -> Vec<String> {
    let receipt = result
        .member("_meta")
        .and_then(|meta| meta.member(RECEIPT_META));
    let Some(receipt) = receipt else {
        // JSON has at least as many bytes as characters.
        let may_be_over = result.len() > terms.budget;
        return vec![match may_be_over {
            false => "shaped:     no".to_owned(),
            true => format!(
                "shaped:     no; only text counts toward the budget of {} characters, unless shaping failed (see --log-level warn)",
                grouped(terms.budget)
            ),
        }];
    };
    match receipt.decode::<Receipt>() {
        Ok(receipt) => receipt.lines(terms),
        Err(_) => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Receipt {
    chars: SizeChange,
    tokens: SizeChange,
    blocks: Vec<Block>,
    /// The number of further blocks that are not in `blocks`.
    #[serde(default)]
    more_blocks: usize,
}

#[derive(Deserialize)]
struct SizeChange {
    before: usize,
    after: usize,
}

#[derive(Deserialize)]
struct Block {
    /// The position of the block in the result.
    at: String,
    /// `None` if nothing was cut and the text could not be stored.
    prune_id: Option<String>,
    chars: SizeChange,
    tokens: SizeChange,
    stages: Vec<String>,
    goal: Option<String>,
    source: Option<String>,
    #[serde(default)]
    cuts: Vec<Cut>,
    /// The number of further cuts that are not in `cuts`.
    #[serde(default)]
    more_cuts: usize,
}

/// First and last position, both inclusive.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cut {
    Lines(usize, usize),
    Chars(usize, usize),
}

impl Receipt {
    fn lines(&self, terms: CallLimits) -> Vec<String> {
        let budget = grouped(terms.budget);
        let change = change(&self.chars, &self.tokens);
        let mut lines = vec![
            format!("budget:     {budget} characters"),
            format!("shaped:     {change}"),
        ];
        for block in self.blocks.iter().take(BLOCKS) {
            lines.extend(block.lines());
        }
        let omitted = self.blocks.len().saturating_sub(BLOCKS);
        let more = omitted.saturating_add(self.more_blocks);
        if more > 0 {
            lines.push(format!("  and {}", counted(more, "more block")));
        }
        lines.push(match terms.kept {
            None => "  without `recovery.path`, the whole text is lost when this command exits"
                .to_owned(),
            Some(time) => {
                let seconds = usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
                let time = counted(seconds, "second");
                format!("  `recovery.path` keeps the whole text for {time}")
            }
        });
        lines
    }
}

impl Block {
    fn lines(&self) -> Vec<String> {
        let at = plain(&self.at);
        let mut lines = vec![format!("  {at}: {}", change(&self.chars, &self.tokens))];
        let mut how: Vec<String> = self.stages.iter().map(|stage| self.stage(stage)).collect();
        if let Some(source) = &self.source {
            how.insert(0, format!("read as {}", plain(source)));
        }
        if !how.is_empty() {
            lines.push(format!("    how:  {}", how.join("; ")));
        }
        if !self.cuts.is_empty() {
            let cuts: Vec<String> = self.cuts.iter().take(CUTS).map(Cut::describe).collect();
            let omitted = self.cuts.len() - cuts.len();
            let more = match omitted.saturating_add(self.more_cuts) {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            };
            lines.push(format!("    cut:  {}{more}", cuts.join(", ")));
        }
        if let Some(id) = &self.prune_id {
            lines.push(format!("    back: recover_text prune_id={}", plain(id)));
        }
        lines
    }

    fn stage(&self, word: &str) -> String {
        match word {
            "compact" => "JSON white space removed".to_owned(),
            "toon" => "as TOON".to_owned(),
            "base64" => "base64 replaced by a note".to_owned(),
            "rows" => match &self.goal {
                Some(goal) => {
                    let goal = shortened(goal);
                    format!("rows not relevant to the goal '{goal}' were cut")
                }
                None => "rows were cut".to_owned(),
            },
            "items" => "whole items were cut".to_owned(),
            "pruned" => match &self.goal {
                Some(goal) => {
                    let goal = shortened(goal);
                    format!("pruned to the goal '{goal}' (from the arguments or --goal)")
                }
                None => "pruned".to_owned(),
            },
            "digest" => "digest of rare and typical parts".to_owned(),
            "searched" => "searched with find".to_owned(),
            "masked" => "the middle was cut".to_owned(),
            other => plain(other).into_owned(),
        }
    }
}

impl Cut {
    fn describe(&self) -> String {
        match self {
            Cut::Lines(first, last) if first == last => format!("line {first}"),
            Cut::Lines(first, last) => format!("lines {first}-{last}"),
            Cut::Chars(first, last) => format!("characters {first}-{last}"),
        }
    }
}

fn change(chars: &SizeChange, tokens: &SizeChange) -> String {
    format!(
        "{} -> {} characters, ~{} -> ~{} tokens",
        grouped(chars.before),
        grouped(chars.after),
        grouped(tokens.before),
        grouped(tokens.after)
    )
}

fn shortened(goal: &str) -> String {
    let mut start: String = goal.chars().take(GOAL).collect();
    if start.len() < goal.len() {
        start.push_str("...");
    }
    plain(&start).into_owned()
}
