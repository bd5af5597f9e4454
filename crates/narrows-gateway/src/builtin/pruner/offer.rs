//! The lists of the pruner in their wire format.

pub(super) const CAPABILITIES: &str = r#"{"tools":{}}"#;

pub(super) const INSTRUCTIONS: &str = "Shortens long source code, logs and documents to the lines \
    that matter for a goal ('prune_text'). Nothing is lost: every cut is marked with its line \
    numbers, and 'recover_text' returns the lines for some minutes.";

/// The input schemas are a fixed contract and must not change.
pub(super) const TOOLS: &str = r#"{"tools":[
{"name":"prune_text","title":"Prune a text","description":"Shortens a long text to the lines that matter for a goal. Kept lines stay whole and in order; each block that was left out is marked with its line numbers and the prune_id with which recover_text returns it.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"goal_hint":{"type":"string"},"source_type":{"type":"string","enum":["code","logs","docs"]},"options":{"type":"object","properties":{"max_prune_ratio":{"type":"number","minimum":0,"maximum":1},"min_keep_lines":{"type":"integer","minimum":0},"timeout_ms":{"type":"integer","minimum":1},"annotate_lines":{"type":"boolean"},"include_markers":{"type":"boolean"}},"required":["max_prune_ratio","min_keep_lines","timeout_ms","annotate_lines","include_markers"],"additionalProperties":false}},"required":["text","goal_hint","source_type","options"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"recover_text","title":"Recover pruned lines","description":"Returns lines of a text that prune_text has shortened, by their numbers in the original.","inputSchema":{"type":"object","properties":{"prune_id":{"type":"string"},"ranges":{"type":"array","items":{"type":"object","properties":{"start_line":{"type":"integer","minimum":1},"end_line":{"type":"integer","minimum":1}},"required":["start_line","end_line"],"additionalProperties":false}},"include_line_numbers":{"type":"boolean"}},"required":["prune_id","ranges","include_line_numbers"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"health","title":"Health","description":"Reports the status and capabilities of the pruner.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}
]}"#;
