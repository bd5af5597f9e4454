//! Words that people use for one another when they ask about software.

use std::sync::LazyLock;

use super::hash;

/// The synonyms of the word with this hash, each with its own.
pub(super) fn of(word: u64) -> impl Iterator<Item = (&'static str, u64)> {
    let first = GROUPS_OF.partition_point(|&(known, _)| known < word);
    let groups = GROUPS_OF[first..]
        .iter()
        .take_while(move |&&(known, _)| known == word);
    let mut scratch = Vec::new();
    groups
        .flat_map(|&(_, group)| group.iter())
        .map(move |synonym| (*synonym, hash(synonym, false, &mut scratch)))
}

/// The groups of each word, by its hash.
static GROUPS_OF: LazyLock<Vec<(u64, &[&str])>> = LazyLock::new(|| {
    let mut scratch = Vec::new();
    let mut index: Vec<(u64, &[&str])> = Vec::new();
    for &group in GROUPS {
        for word in group {
            index.push((hash(word, false, &mut scratch), group));
        }
    }
    index.sort();
    index.dedup();
    index
});

/// Groups of words that may stand for one another. A word may be in several
/// groups; a group says only that its words are worth a look, so it may be
/// generous. Forms that endings do not explain (`began`) are words of their own.
const GROUPS: &[&[&str]] = &[
    &["abort", "cancel", "interrupt", "kill"],
    &["accept", "receive", "received", "got"],
    &["access", "reach"],
    &["account", "user", "username", "login"],
    &["add", "append", "insert", "put", "include"],
    &["address", "ip", "host"],
    &["alias", "shortcut", "synonym"],
    &["allocate", "reserve", "alloc"],
    &["allow", "permit", "enable", "let"],
    &["argument", "parameter", "param", "arg"],
    &["array", "list", "sequence", "vector", "slice"],
    &["asynchronous", "async"],
    &["authentication", "auth", "login", "credential"],
    &["avoid", "prevent", "skip"],
    &[
        "begin", "began", "begun", "start", "launch", "boot", "open", "spawn",
    ],
    &["bug", "defect", "issue", "problem", "fix"],
    &["build", "built", "assemble", "compile", "make", "construct"],
    &["call", "invoke", "execute", "run", "ran"],
    &["capability", "feature", "functionality", "ability"],
    &[
        "change",
        "modify",
        "modification",
        "alter",
        "edit",
        "adjust",
    ],
    &["changelog", "history", "release", "news"],
    &["check", "verify", "validate", "test", "assert", "ensure"],
    &["choose", "chosen", "chose", "select", "pick"],
    &["clear", "clean", "reset", "purge", "flush"],
    &["close", "shut", "shutdown", "disconnect"],
    &["combine", "merge", "join", "concatenate", "union"],
    &["command", "cmd", "instruction"],
    &["compute", "calculate", "evaluate", "determine"],
    &[
        "configuration",
        "config",
        "configure",
        "setting",
        "settings",
        "option",
        "preference",
    ],
    &["connect", "attach", "link", "join"],
    &["connection", "link", "socket"],
    &["contain", "hold", "held", "include"],
    &[
        "contribute",
        "contributing",
        "contribution",
        "participate",
        "taking",
    ],
    &["convert", "transform", "translate", "cast", "turn"],
    &["copy", "clone", "duplicate"],
    &["corrupt", "damaged", "broken"],
    &[
        "create",
        "make",
        "made",
        "construct",
        "generate",
        "produce",
        "new",
    ],
    &["current", "present", "now"],
    &["custom", "own", "customize", "bespoke"],
    &["database", "db"],
    &["default", "standard"],
    &["delete", "remove", "erase", "drop", "unlink", "destroy"],
    &[
        "deny",
        "denied",
        "refuse",
        "reject",
        "forbid",
        "forbidden",
        "disallow",
    ],
    &["dependency", "requirement", "prerequisite"],
    &["deprecated", "obsolete", "legacy"],
    &[
        "describe",
        "description",
        "explanation",
        "summary",
        "overview",
    ],
    &["dictionary", "dict", "map", "mapping", "hashmap", "table"],
    &["directory", "dir", "folder"],
    &["disable", "deactivate"],
    &["display", "show", "print", "render", "present"],
    &["divide", "split", "partition", "separate"],
    &["document", "file", "doc"],
    &["documentation", "docs", "manual", "guide", "tutorial"],
    &["element", "item", "entry", "member", "node"],
    &["empty", "blank", "missing"],
    &["end", "finish", "complete", "done", "terminate", "exit"],
    &[
        "error",
        "failure",
        "exception",
        "fault",
        "fail",
        "failed",
        "crash",
        "err",
    ],
    &["example", "sample", "demo", "demonstration"],
    &["execute", "run", "perform"],
    &["expire", "timeout", "timed", "elapsed"],
    &["fail", "failed", "unable", "cannot", "couldn", "succeed"],
    &[
        "fast",
        "quick",
        "performance",
        "speed",
        "benchmark",
        "rapid",
    ],
    &[
        "fetch", "get", "obtain", "retrieve", "acquire", "download", "got",
    ],
    &["field", "attribute", "property", "column"],
    &["find", "found", "locate", "discover", "search", "lookup"],
    &["format", "layout"],
    &["free", "release", "unused"],
    &["function", "method", "procedure", "fn", "func", "routine"],
    &[
        "give",
        "given",
        "supply",
        "supplied",
        "provide",
        "pass",
        "specified",
    ],
    &["group", "batch", "bundle"],
    &["grow", "increase", "raise", "expand", "extend"],
    &["handle", "support", "process", "treat", "manage"],
    &["identifier", "id", "key", "name"],
    &["ignore", "skip", "omit", "suppress"],
    &["implement", "implementation"],
    &["import", "require", "include", "load"],
    &["incompatible", "breaking", "break"],
    &["information", "info", "detail", "data"],
    &[
        "initialize",
        "init",
        "initialise",
        "setup",
        "set",
        "bootstrap",
    ],
    &["install", "setup", "installation", "deploy"],
    &["introduction", "overview", "about", "getting", "intro"],
    &[
        "invalid",
        "bad",
        "wrong",
        "illegal",
        "malformed",
        "incorrect",
    ],
    &["iterate", "loop", "traverse", "walk"],
    &["job", "task", "work"],
    &["large", "big", "huge"],
    &["leave", "exit", "quit"],
    &["license", "licence", "copyright", "terms", "licensed"],
    &["limit", "maximum", "max", "bound", "threshold"],
    &["listen", "bind"],
    &["lock", "mutex"],
    &["message", "log", "notice", "text"],
    &["migrate", "upgrade", "move", "port"],
    &["minimum", "min", "least", "minimal"],
    &["network", "net"],
    &["new", "fresh"],
    &["number", "count", "amount", "num"],
    &["object", "thing", "instance", "entity"],
    &["parse", "interpret", "decode", "read"],
    &["password", "passwd", "secret"],
    &["path", "location", "route", "position", "place"],
    &["platform", "os", "system"],
    &["power", "psu"],
    &["process", "pid", "program"],
    &["read", "load", "reading", "loading"],
    &["receive", "accept"],
    &["rebuild", "regenerate", "recreate"],
    &["record", "entry", "row"],
    &["register", "subscribe"],
    &["repeat", "retry", "again"],
    &["replace", "substitute", "swap"],
    &["report", "announce"],
    &["request", "query", "ask"],
    &["response", "reply", "answer"],
    &["return", "returns", "back", "hand", "yield"],
    &[
        "save", "write", "wrote", "written", "store", "stored", "persist",
    ],
    &["security", "safety", "vulnerability", "hardening"],
    &["send", "sent", "transmit", "deliver", "emit"],
    &["server", "daemon", "service"],
    &["session", "login"],
    &["shrink", "decrease", "reduce", "lower"],
    &["size", "length", "capacity"],
    &["stop", "halt", "end", "shutdown", "terminate", "exit"],
    &["string", "text"],
    &["succeed", "success", "successful", "ok", "passed"],
    &["support", "supported", "compatible", "compatibility"],
    &["synchronize", "sync"],
    &["thread", "worker", "concurrency", "parallel"],
    &["type", "kind", "class"],
    &["update", "refresh", "upgrade", "renew"],
    &["usage", "employ", "use", "using"],
    &["value", "content", "contents"],
    &["variable", "var"],
    &["version", "release", "revision"],
    &["wait", "block", "pause", "sleep", "delay"],
    &["warning", "warn"],
];
