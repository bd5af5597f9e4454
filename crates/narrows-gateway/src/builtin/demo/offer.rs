//! The lists of the demo server in their wire format, and its texts.

pub(super) const CAPABILITIES: &str =
    r#"{"completions":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}"#;

pub(super) const INSTRUCTIONS: &str = "Sample data to try the gateway with. \
    'sample_log' and 'sample_table' give long results, 'count' reports progress, \
    'ask_name' asks the user a question, 'touch_readme' changes the resource demo://readme.";

pub(super) const TOOLS: &str = r#"{"tools":[
{"name":"echo","title":"Echo","description":"Returns the given text unchanged.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to return"}},"required":["text"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"sample_log","title":"Sample log","description":"A long log of a web shop, the same every time, with a few errors in it.","inputSchema":{"type":"object","properties":{"lines":{"type":"integer","minimum":1,"maximum":100000,"default":5000,"description":"How many lines"}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"sample_table","title":"Sample table","description":"A large table of orders as JSON text: an array of objects with the same keys.","inputSchema":{"type":"object","properties":{"rows":{"type":"integer","minimum":1,"maximum":50000,"default":1000,"description":"How many rows"}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"count","title":"Count","description":"Counts slowly, with progress and log messages. Can be cancelled.","inputSchema":{"type":"object","properties":{"steps":{"type":"integer","minimum":1,"maximum":1000,"default":5,"description":"How far to count"},"delay_ms":{"type":"integer","minimum":0,"maximum":10000,"default":200,"description":"Milliseconds before each step"}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"ask_name","title":"Ask for a name","description":"Asks the user for a name with a form, and greets them.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}},
{"name":"touch_readme","title":"Touch the readme","description":"Changes the resource demo://readme and notifies its subscribers.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}}
]}"#;

pub(super) const PROMPTS: &str = r#"{"prompts":[
{"name":"summarise","title":"Summarise a sample","description":"Asks for a summary of one of the samples.","arguments":[{"name":"source","description":"What to summarise: log, table or readme","required":true}]}
]}"#;

pub(super) const RESOURCES: &str = r#"{"resources":[
{"uri":"demo://readme","name":"readme","title":"About the demo","description":"What the demo offers.","mimeType":"text/markdown"}
]}"#;

pub(super) const TEMPLATES: &str = r#"{"resourceTemplates":[
{"uriTemplate":"demo://rows/{n}","name":"row","title":"A row of the sample table","description":"Row n, from 1 to 50000.","mimeType":"application/json"}
]}"#;

/// The values of the prompt's argument, each with the text of the prompt.
pub(super) const SOURCES: [(&str, &str); 3] = [
    (
        "log",
        "Call the tool 'sample_log', then say in three sentences what went wrong, when, and for how long.",
    ),
    (
        "table",
        "Call the tool 'sample_table', then give the total amount per country as a short table.",
    ),
    (
        "readme",
        "Read the resource demo://readme, then say in one sentence what it is about.",
    ),
];

pub(super) fn readme(touched: u64) -> String {
    format!(
        "# The demo server\n\n\
         It is built into Narrows and needs no installation.\n\n\
         - `sample_log` and `sample_table` show what happens to long results.\n\
         - `count` shows progress, log messages and cancellation.\n\
         - `ask_name` asks the user a question.\n\
         - `touch_readme` changes this text and notifies its subscribers.\n\n\
         Touched so far: {touched}\n"
    )
}
