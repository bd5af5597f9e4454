//! Guesses the source type of a text.

use super::SourceType;

/// The number of lines that are read: enough for a reliable guess, and few enough to be fast.
const LINES_SEEN: usize = 200;

const CODE: &[&str] = &[
    "bash", "c", "cc", "clj", "cpp", "cs", "css", "cxx", "dart", "ex", "exs", "go", "gradle",
    "groovy", "h", "hpp", "hs", "java", "jl", "js", "jsx", "kt", "kts", "lua", "m", "mjs", "cjs",
    "ml", "mts", "nim", "php", "pl", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "scala", "scss",
    "sh", "sol", "sql", "svelte", "swift", "tf", "ts", "tsx", "v", "vb", "vue", "zig",
];
const LOGS: &[&str] = &["err", "jsonl", "log", "ndjson", "out", "syslog", "trace"];
const DOCS: &[&str] = &[
    "adoc", "asciidoc", "htm", "html", "markdown", "md", "mdx", "org", "rst", "tex", "text", "txt",
];

impl SourceType {
    /// Guesses the type from the file name or, if that is not conclusive, from the text. Lines that
    /// begin with a time or a level indicate logs, lines that look like statements indicate code,
    /// and everything else counts as a document.
    pub fn guess(name: Option<&str>, text: &str) -> SourceType {
        name.and_then(SourceType::of_file_name)
            .unwrap_or_else(|| by_text(text))
    }

    /// Returns the type by the extension of a file name, or of a path or URI that ends in one.
    pub fn of_file_name(name: &str) -> Option<SourceType> {
        let name = name.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
        let extension = name.rsplit_once('.')?.1;
        // `app.log.1` is still a log.
        let rotated = extension.bytes().all(|byte| byte.is_ascii_digit()) && name.contains(".log.");
        by_extension(extension).or_else(|| rotated.then_some(SourceType::Logs))
    }

    /// Returns the type by a MIME type. `text/plain` is not conclusive, because code, logs and
    /// documents are all served as that.
    pub fn of_mime(mime: &str) -> Option<SourceType> {
        let kind = mime.split(';').next()?.trim().to_ascii_lowercase();
        let (family, name) = kind.split_once('/')?;
        let name = name.strip_prefix("x-").unwrap_or(name);
        let name = name.strip_prefix("vnd.").unwrap_or(name);
        match (family, name) {
            ("text", "plain") => None,
            ("application", "xhtml+xml") => Some(SourceType::Docs),
            // Names that are not file extensions.
            ("text" | "application", word) => match word {
                "javascript" | "ecmascript" | "typescript" | "python" | "python-script"
                | "ruby" | "rust" | "perl" | "csrc" | "c++src" | "c++" | "c++hdr" | "chdr"
                | "csharp" | "java-source" | "kotlin" | "golang" | "shellscript" | "httpd-php"
                | "haskell" | "elixir" | "clojure" | "powershell" => Some(SourceType::Code),
                "restructuredtext" | "latex" => Some(SourceType::Docs),
                _ => by_extension(word),
            },
            _ => None,
        }
    }
}

fn by_extension(extension: &str) -> Option<SourceType> {
    let kinds = [
        (CODE, SourceType::Code),
        (LOGS, SourceType::Logs),
        (DOCS, SourceType::Docs),
    ];
    let known = kinds.iter().find(|(words, _)| words.contains(&extension));
    known.map(|(_, kind)| *kind)
}

fn by_text(text: &str) -> SourceType {
    let (mut seen, mut logs, mut code) = (0, 0, 0);
    let lines = text
        .split('\n')
        .map(str::trim)
        .filter(|line| !line.is_empty());
    for line in lines.take(LINES_SEEN) {
        seen += 1;
        if looks_logged(line) {
            logs += 1;
        } else if looks_coded(line) {
            code += 1;
        }
    }
    if logs * 3 > seen {
        SourceType::Logs
    } else if code * 3 > seen {
        SourceType::Code
    } else {
        SourceType::Docs
    }
}

/// Returns `true` if a time or a level is among the first words.
fn looks_logged(line: &str) -> bool {
    let is_time = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits >= 4 && (word.contains(':') || word.matches(['-', '/', '.']).count() >= 2)
    };
    let is_level = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        [
            "TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "NOTICE",
        ]
        .contains(&word)
    };
    let mut words = line.split_whitespace().take(4);
    words.any(|word| is_time(word) || is_level(word))
}

fn looks_coded(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "def ",
        "class ",
        "import ",
        "from ",
        "return",
        "if (",
        "if not ",
        "elif ",
        "else:",
        "for (",
        "while (",
        "fn ",
        "pub ",
        "let ",
        "const ",
        "var ",
        "use ",
        "impl ",
        "func ",
        "function ",
        "package ",
        "#include",
        "public ",
        "private ",
        "async ",
        "await ",
        "@",
        "}",
        "export ",
        "self.",
        "this.",
        "raise ",
        "try:",
    ];
    line.ends_with([';', '{', '}', ','])
        || line.ends_with("):")
        || line.ends_with(')') && line.contains(" = ")
        || BEGINNINGS
            .iter()
            .any(|beginning| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: Option<&str>, text: &str, expected: SourceType) {
        assert_eq!(SourceType::guess(name, text), expected, "{name:?} {text:?}");
    }

    #[test]
    fn file_name_determines_the_source_type() {
        check(Some("src/main.rs"), "# Title", SourceType::Code);
        check(Some("C:\\logs\\APP.LOG"), "", SourceType::Logs);
        check(Some("/var/log/app.log.3"), "", SourceType::Logs);
        check(Some("README.md"), "fn main() {}", SourceType::Docs);
    }

    #[test]
    fn mime_type_determines_the_source_type() {
        for (mime, expected) in [
            ("text/markdown; charset=utf-8", Some(SourceType::Docs)),
            ("TEXT/HTML", Some(SourceType::Docs)),
            ("text/x-python", Some(SourceType::Code)),
            ("text/x-rust", Some(SourceType::Code)),
            ("application/javascript", Some(SourceType::Code)),
            ("text/css", Some(SourceType::Code)),
            ("application/x-ndjson", Some(SourceType::Logs)),
            ("text/x-log", Some(SourceType::Logs)),
            ("text/plain", None),
            ("application/json", None),
            ("image/png", None),
            ("markdown", None),
            ("", None),
        ] {
            assert_eq!(SourceType::of_mime(mime), expected, "{mime}");
        }
    }

    #[test]
    fn content_determines_the_source_type_of_unknown_names() {
        let log = "2024-02-29 10:00:01 INFO started\nno time here\n[12:30:01.250] done\n";
        check(None, log, SourceType::Logs);
        check(Some("output"), "WARN a\nERROR b\n", SourceType::Logs);
        let code = "import os\n\ndef main():\n    x = read(1)\n    return x\n";
        check(None, code, SourceType::Code);
        check(
            Some("no.extension-known"),
            "fn main() {\n    let x = 5;\n}\n",
            SourceType::Code,
        );
        let prose = "A title\n\nSome words about import duties, at 10:30 or so.\nMore words.\n";
        check(None, prose, SourceType::Docs);
        check(None, "", SourceType::Docs);
    }
}
