//! The requests to the pruner's tools, read from their arguments.

use std::time::Duration;

use narrows_shape::prune::{Limits, SourceType, Style};
use narrows_wire::Raw;

use crate::builtin::arguments::Arguments;

pub(super) struct PruneRequest {
    pub(super) text: String,
    pub(super) goal: String,
    pub(super) source: SourceType,
    pub(super) limits: Limits,
    pub(super) style: Style,
    pub(super) timeout: Duration,
}

impl PruneRequest {
    pub(super) fn read(arguments: Option<Raw>) -> Result<PruneRequest, String> {
        let known = ["text", "goal_hint", "source_type", "options"];
        let arguments = Arguments::read("prune_text", arguments, &known)?;
        let source = arguments.text("source_type")?;
        let known = [
            "max_prune_ratio",
            "min_keep_lines",
            "timeout_ms",
            "annotate_lines",
            "include_markers",
        ];
        let options = arguments.object("options", &known)?;
        let min_keep_lines = options.at_least("min_keep_lines", 0)?;
        Ok(PruneRequest {
            text: arguments.text("text")?,
            goal: arguments.text("goal_hint")?,
            source: source
                .parse()
                .map_err(|wrong| format!("Argument 'source_type': {wrong}"))?,
            limits: Limits {
                max_prune_ratio: options.share("max_prune_ratio")?,
                min_keep_lines: usize::try_from(min_keep_lines).unwrap_or(usize::MAX),
            },
            timeout: Duration::from_millis(options.at_least("timeout_ms", 1)?),
            style: Style {
                annotate_lines: options.flag("annotate_lines")?,
                include_markers: options.flag("include_markers")?,
            },
        })
    }
}

pub(super) struct RecoverRequest {
    pub(super) receipt: String,
    /// The first and last line of each range, unchecked.
    pub(super) ranges: Vec<(i64, i64)>,
    pub(super) include_line_numbers: bool,
}

impl RecoverRequest {
    pub(super) fn read(arguments: Option<Raw>) -> Result<RecoverRequest, String> {
        let known = ["prune_id", "ranges", "include_line_numbers"];
        let arguments = Arguments::read("recover_text", arguments, &known)?;
        let ranges = arguments.objects("ranges", &["start_line", "end_line"])?;
        let lines =
            |range: &Arguments<'_>| Ok((range.whole("start_line")?, range.whole("end_line")?));
        Ok(RecoverRequest {
            receipt: arguments.text("prune_id")?,
            ranges: ranges.iter().map(lines).collect::<Result<_, String>>()?,
            include_line_numbers: arguments.flag("include_line_numbers")?,
        })
    }
}

/// Checks the arguments of a tool that takes none.
pub(super) fn nothing(tool: &str, arguments: Option<Raw>) -> Result<(), String> {
    Arguments::read(tool, arguments, &[]).map(drop)
}
