//! The built-in server `pruner`: shortens long texts for a goal, and returns the removed lines on
//! request.
//!
//! [`Pruner`] is the service, one for the whole process. Each of its tools returns one JSON object.
//! Clients of a built-in link reach it through `PrunerServer`; the edge for plain JSON-RPC calls it
//! directly. Texts that cannot be pruned are returned unchanged, with the reason.

mod offer;
mod request;
mod server;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use narrows_shape::estimate_tokens;
use narrows_shape::prune::{
    Annotation, Deadline, Engine, Fallback, Lexical, Lines, Rendered, render, select,
};
use narrows_wire::Raw;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Semaphore;

use self::request::{PruneRequest, RecoverRequest};
pub(super) use self::server::PrunerServer;
use super::settings::PrunerSettings;
use narrows_results::recovery_store::{
    MemoryStore, Owner, Receipt, RecoveryStore, StoreUnavailable,
};
use narrows_results::settings::RecoverySettings;
use narrows_wire::Timestamp;
use narrows_wire::tool_result;
use std::time::SystemTime;

/// The limit on the total size of recovered ranges. Ranges may overlap, so a short request could
/// otherwise produce a response of any size.
const MAX_RECOVERED_BYTES: usize = 32 * 1024 * 1024;

/// The size in bytes of a line number and its separator, in a text of a million lines.
const LONGEST_NUMBER: usize = 12;

/// Shortens texts and stores the originals.
pub struct Pruner {
    engine: Arc<dyn Engine>,
    store: Arc<dyn RecoveryStore>,
    settings: PrunerSettings,
    /// Limits the texts processed at once to the number of cores. More would only delay all of
    /// them.
    workers: Arc<Semaphore>,
}

/// The reasons why a call fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrunerError {
    #[error("Unknown tool: {0}")]
    UnknownTool(String),
    /// The arguments are invalid.
    #[error("{0}")]
    Arguments(String),
    /// The store holds no text under this receipt, or the text has expired.
    #[error("prune_id_not_found")]
    NotFound(String),
    /// A range lies outside the text.
    #[error("invalid_range")]
    InvalidRange { max_line: usize },
}

impl PrunerError {
    /// Returns the `data` of the error object: the `code` that programs rely on, and details.
    pub fn data(&self) -> serde_json::Value {
        match self {
            PrunerError::UnknownTool(_) => json!({ "code": "unknown_tool" }),
            PrunerError::Arguments(_) => json!({ "code": "invalid_params" }),
            PrunerError::NotFound(receipt) => {
                json!({ "code": "prune_id_not_found", "prune_id": receipt })
            }
            PrunerError::InvalidRange { max_line } => {
                json!({ "code": "invalid_range", "max_line": max_line })
            }
        }
    }
}

impl Pruner {
    pub fn new(
        engine: Arc<dyn Engine>,
        store: Arc<dyn RecoveryStore>,
        settings: PrunerSettings,
    ) -> Pruner {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Pruner {
            engine,
            store,
            settings,
            workers: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Returns a pruner with the built-in engine that stores the originals in memory.
    pub fn in_memory(settings: PrunerSettings, recovery: &RecoverySettings) -> Pruner {
        let store = Arc::new(MemoryStore::new(recovery));
        Pruner::new(Arc::new(Lexical), store, settings)
    }

    /// Returns the `serverInfo`.
    pub fn info(&self) -> Raw {
        Raw::from_static(concat!(
            r#"{"name":"mcp-pruner","title":"Narrows pruner","version":""#,
            env!("CARGO_PKG_VERSION"),
            r#""}"#
        ))
    }

    pub fn capabilities(&self) -> Raw {
        Raw::from_static(offer::CAPABILITIES)
    }

    pub fn instructions(&self) -> &'static str {
        offer::INSTRUCTIONS
    }

    /// Returns the result of `tools/list`.
    pub fn tools(&self) -> Raw {
        Raw::from_static(offer::TOOLS)
    }

    /// Returns the status and the capabilities of the pruner.
    pub fn health(&self) -> serde_json::Value {
        json!({
            "status": "healthy",
            "server": "mcp-pruner",
            "version": env!("CARGO_PKG_VERSION"),
            "capabilities": ["prune_text", "recover_text", "annotations", "markers"],
            "timestamp": Timestamp::from(SystemTime::now()).rfc3339(),
        })
    }

    /// Calls a tool. The result contains the answer object both as text and as `structuredContent`.
    /// Only the owner can recover the removed lines.
    pub async fn call(
        &self,
        owner: &Owner,
        tool: &str,
        arguments: Option<Raw>,
    ) -> Result<Raw, PrunerError> {
        // The time limit includes reading the arguments.
        let began = Instant::now();
        let wrong = PrunerError::Arguments;
        let answer = match tool {
            "prune_text" => {
                let request = PruneRequest::read(arguments).map_err(wrong)?;
                Raw::from_serialize(&self.prune(owner, request, began).await)
            }
            "recover_text" | "recover_range" => {
                let request = RecoverRequest::read(arguments).map_err(wrong)?;
                Raw::from_serialize(&self.recover(owner, request).await?)
            }
            "health" => {
                request::nothing(tool, arguments).map_err(wrong)?;
                Raw::from_serialize(&self.health())
            }
            _ => return Err(PrunerError::UnknownTool(tool.to_owned())),
        };
        Ok(tool_result::structured(&answer))
    }

    async fn prune(&self, owner: &Owner, mut request: PruneRequest, began: Instant) -> PruneResult {
        let text: Arc<str> = std::mem::take(&mut request.text).into();
        let (receipt, kept) = match self.keep(owner, &text).await {
            Ok(receipt) => (receipt, true),
            Err(_) => (Receipt::new(), false),
        };
        let outcome = if !kept {
            Err(Fallback::RecoveryUnavailable)
        } else if self.is_too_large(&text) {
            Err(Fallback::InputTooLarge)
        } else {
            self.shorten(began, text.clone(), request, receipt.clone())
                .await
        };
        PruneResult::new(receipt, text, outcome, began)
    }

    /// Stores the text, off the async threads if that may block.
    async fn keep(&self, owner: &Owner, text: &Arc<str>) -> Result<Receipt, StoreUnavailable> {
        if !self.store.may_block(text.len()) {
            return self.store.keep(owner, text.clone());
        }
        let (store, owner, text) = (self.store.clone(), owner.clone(), text.clone());
        let keeping = tokio::task::spawn_blocking(move || store.keep(&owner, text));
        keeping.await.unwrap_or(Err(StoreUnavailable))
    }

    fn is_too_large(&self, text: &str) -> bool {
        let max = self.settings.max_input_chars;
        text.len() > max && text.chars().count() > max
    }

    /// Prunes the text within the time limit. The engine receives the deadline. Longer texts run on
    /// a separate thread, which is abandoned if the engine ignores the deadline.
    async fn shorten(
        &self,
        began: Instant,
        text: Arc<str>,
        request: PruneRequest,
        receipt: Receipt,
    ) -> Result<Rendered, Fallback> {
        // A deadline beyond the range of the clock never passes.
        let until = began.checked_add(request.timeout);
        let engine = self.engine.clone();
        let is_quick = text.len() <= engine.quick_up_to();
        let work = move || {
            let passed = || until.is_some_and(|until| Instant::now() >= until);
            let lines = Lines::new(&text);
            let selection = select(
                &*engine,
                &lines,
                &request.goal,
                request.source,
                request.limits,
                request.style,
                &Deadline::new(&passed),
            )?;
            Ok(render(&lines, &selection, receipt.as_str(), request.style))
        };
        if is_quick {
            return catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| broken());
        }
        let workers = self.workers.clone();
        let work = async move {
            let worker = workers.acquire_owned().await;
            let work = tokio::task::spawn_blocking(move || {
                let _worker = worker;
                work()
            });
            work.await.unwrap_or_else(|_| broken())
        };
        match until {
            None => work.await,
            Some(until) => tokio::time::timeout_at(until.into(), work)
                .await
                .unwrap_or(Err(Fallback::Timeout)),
        }
    }

    async fn recover(
        &self,
        owner: &Owner,
        request: RecoverRequest,
    ) -> Result<RecoverResult, PrunerError> {
        let (store, owner) = (self.store.clone(), owner.clone());
        let not_found = PrunerError::NotFound(request.receipt.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let text = store.fetch(&owner, &request.receipt);
            let text = text.ok_or_else(|| PrunerError::NotFound(request.receipt.clone()))?;
            recovered(&text, request)
        });
        reading.await.unwrap_or(Err(not_found))
    }
}

fn recovered(text: &str, request: RecoverRequest) -> Result<RecoverResult, PrunerError> {
    let lines = Lines::new(text);
    let total = lines.len();
    let mut raw_text = String::new();
    let mut written = 0;
    let mut ranges = Vec::with_capacity(request.ranges.len());
    for (start, end) in request.ranges {
        let fits = |line: i64| usize::try_from(line).ok().filter(|line| *line >= 1);
        let (Some(start_line), Some(end_line)) = (fits(start), fits(end)) else {
            return Err(PrunerError::InvalidRange { max_line: total });
        };
        if start_line > end_line || start_line > total {
            return Err(PrunerError::InvalidRange { max_line: total });
        }
        let end_line = end_line.min(total);
        if !ranges.is_empty() {
            raw_text.push('\n');
        }
        let span = start_line - 1..end_line;
        // Checked before writing, because a single range may cover the whole text.
        written += bytes_in_json(lines.span(&span));
        if request.include_line_numbers {
            written += span.len() * LONGEST_NUMBER;
        }
        if written > MAX_RECOVERED_BYTES {
            return Err(too_much());
        }
        if request.include_line_numbers {
            lines.write_numbered(span, &mut raw_text);
        } else {
            raw_text.push_str(lines.span(&span));
        }
        ranges.push(RecoveredRange {
            start_line,
            end_line,
        });
    }
    Ok(RecoverResult {
        raw_text,
        metadata: RecoveredMetadata {
            prune_id: request.receipt,
            ranges,
            line_numbering: "original",
            total_lines: total,
            ends_with_newline: lines.ends_with_newline(),
        },
    })
}

/// Returns the fallback after a panic of the engine. The panic itself has already been logged.
fn broken() -> Result<Rendered, Fallback> {
    tracing::error!("the pruning engine failed, returning the text unchanged");
    Err(Fallback::InternalError)
}

/// Returns the size of a text as a JSON string, where control characters are escaped.
fn bytes_in_json(text: &str) -> usize {
    let bytes = |byte: u8| match byte {
        b'\n' | b'\r' | b'\t' | b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(bytes).sum()
}

fn too_much() -> PrunerError {
    let most = MAX_RECOVERED_BYTES / (1024 * 1024);
    PrunerError::Arguments(format!(
        "The ranges exceed {most} MiB in total. Request fewer lines at once"
    ))
}

/// The response of `prune_text`.
#[derive(Serialize)]
struct PruneResult {
    prune_id: String,
    pruned_text: String,
    annotations: Vec<PrunedBlock>,
    stats: PruneStats,
    warnings: Vec<&'static str>,
}

#[derive(Serialize)]
struct PrunedBlock {
    kind: &'static str,
    original_start_line: usize,
    original_end_line: usize,
    pruned_line_count: usize,
    reason: &'static str,
    marker: String,
}

#[derive(Serialize)]
struct PruneStats {
    original_lines: usize,
    kept_lines: usize,
    pruned_lines: usize,
    pruned_ratio: f64,
    tokens_est_before: usize,
    tokens_est_after: usize,
    elapsed_ms: u64,
    used_fallback: bool,
}

impl PruneResult {
    fn new(
        receipt: Receipt,
        text: Arc<str>,
        outcome: Result<Rendered, Fallback>,
        began: Instant,
    ) -> PruneResult {
        let original_lines = Lines::count(&text);
        let tokens_est_before = estimate_tokens(&text);
        let (rendered, tokens_est_after, warnings) = match outcome {
            Ok(rendered) => {
                let tokens = estimate_tokens(&rendered.text);
                (rendered, tokens, Vec::new())
            }
            // The deadline may have passed already, so the tokens are not counted again.
            Err(why) => (
                Rendered::unchanged(&text),
                tokens_est_before,
                vec![why.code()],
            ),
        };
        let cut = |annotation: &Annotation| annotation.lines.len();
        let pruned_lines: usize = rendered.annotations.iter().map(cut).sum();
        let ratio = pruned_lines as f64 / original_lines.max(1) as f64;
        PruneResult {
            stats: PruneStats {
                original_lines,
                kept_lines: original_lines - pruned_lines,
                pruned_lines,
                // Rounded down, so that the ratio never exceeds the allowed one.
                pruned_ratio: (ratio * 10_000.0).floor() / 10_000.0,
                tokens_est_before,
                tokens_est_after,
                elapsed_ms: began.elapsed().as_millis() as u64,
                used_fallback: !warnings.is_empty(),
            },
            prune_id: receipt.to_string(),
            pruned_text: rendered.text,
            annotations: rendered
                .annotations
                .into_iter()
                .map(PrunedBlock::new)
                .collect(),
            warnings,
        }
    }
}

impl PrunedBlock {
    fn new(annotation: Annotation) -> PrunedBlock {
        PrunedBlock {
            kind: "pruned_block",
            original_start_line: annotation.lines.start + 1,
            original_end_line: annotation.lines.end,
            pruned_line_count: annotation.lines.len(),
            reason: annotation.reason,
            marker: annotation.marker,
        }
    }
}

/// The response of `recover_text`.
#[derive(Serialize)]
struct RecoverResult {
    raw_text: String,
    metadata: RecoveredMetadata,
}

#[derive(Serialize)]
struct RecoveredMetadata {
    prune_id: String,
    /// The recovered ranges, limited to the lines of the text.
    ranges: Vec<RecoveredRange>,
    line_numbering: &'static str,
    total_lines: usize,
    ends_with_newline: bool,
}

#[derive(Serialize)]
struct RecoveredRange {
    start_line: usize,
    end_line: usize,
}
