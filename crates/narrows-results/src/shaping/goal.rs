//! The goal of a call and the type of text that it returns, both derived from the request.

use narrows_shape::prune::SourceType;
use narrows_wire::{Kind, Raw};

use crate::recover_tool::Find;

/// The maximum length of a goal. A goal is a sentence or two; longer ones are cut.
const MAX_CHARS: usize = 500;

/// The member of a request's `_meta` with the client's goal.
pub const META: &str = "narrows/goal";

/// The argument `goal`, which endpoints may add to tools.
pub const ARGUMENT: &str = "goal";

/// The argument `find`: a query on the texts of a result.
pub const FIND_ARGUMENT: &str = "find";

/// Returns the schema of the argument `goal`.
pub fn schema() -> Raw {
    Raw::from_static(
        r#"{"type":"string","description":"What you look for; a long result is cut to the parts that answer it"}"#,
    )
}

/// Returns the schema of the argument `find`.
pub fn find_schema() -> Raw {
    Raw::from_static(
        r#"{"type":["string","object"],"description":"Return only matching lines: words that must all occur, \"a phrase\" or /regex/. Or an object with arguments of recover_text: query, context, count_only, head, tail, where, select, sort, aggregate, group_by"}"#,
    )
}

/// Arguments whose values describe a goal, the most specific first.
const GOAL_ARGUMENTS: &[&str] = &[
    "goal",
    "query",
    "question",
    "q",
    "search",
    "search_term",
    "search_query",
    "keyword",
    "keywords",
    "pattern",
    "regex",
    "filter",
    "command",
    "cmd",
];

/// Arguments that name files. The name may reveal the type of text.
const FILE_ARGUMENTS: &[&str] = &[
    "path",
    "paths",
    "file",
    "file_path",
    "filename",
    "filepath",
    "uri",
];

/// The gateway's own arguments of a call, next to those of the tool.
#[derive(Debug, Default)]
pub struct ResultArguments {
    pub goal: Option<Raw>,
    pub find: Option<Find>,
    pub max_chars: Option<usize>,
}

/// The information in a request about the expected result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalHint {
    pub goal: Option<String>,
    /// The type of text, judged by its file name.
    pub source: Option<SourceType>,
}

impl GoalHint {
    /// Derives the goal and the type of text from the params of `tools/call` or `resources/read`.
    /// `goal` is the value of our own argument.
    pub fn of(params: Option<&Raw>, goal: Option<&Raw>) -> GoalHint {
        let goal = goal.and_then(words);
        let Some(params) = params else {
            return GoalHint { goal, source: None };
        };
        let [meta, arguments, uri] = params
            .pick(["_meta", "arguments", "uri"])
            .unwrap_or_default();
        let said = meta.and_then(|meta| meta.member(META));
        let said = said.as_ref().and_then(words);
        let arguments: Vec<(String, String)> = arguments
            .iter()
            .flat_map(|arguments| arguments.members())
            .filter_map(|(name, value)| Some((plain_name(&name), words(&value)?)))
            .collect();
        let named = |wanted: &&str| {
            let found = arguments.iter().find(|(name, _)| name == wanted);
            found.map(|(_, words)| words.clone())
        };
        let file = FILE_ARGUMENTS.iter().find_map(named);
        let file = file.or_else(|| uri.as_ref().and_then(words));
        // A file name identifies a location and is not a goal.
        GoalHint {
            goal: said
                .or(goal)
                .or_else(|| GOAL_ARGUMENTS.iter().find_map(named)),
            source: file.as_deref().and_then(SourceType::of_file_name),
        }
    }
}

/// Returns the words of an argument: a string, or several in an array.
fn words(value: &Raw) -> Option<String> {
    let text = match value.kind() {
        Kind::String => value.as_text()?.into_owned(),
        Kind::Array => {
            let texts = value.elements().take(20);
            let texts: Vec<String> = texts
                .filter_map(|text| text.as_text().map(|text| text.into_owned()))
                .collect();
            texts.join(" ")
        }
        _ => return None,
    };
    let cut: String = text.trim().chars().take(MAX_CHARS).collect();
    (!cut.is_empty()).then_some(cut)
}

/// Converts a name to snake case: `filePath` and `file-path` become `file_path`.
fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    for (at, letter) in name.chars().take(64).enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            plain.push('_');
        }
        plain.push(if letter == '-' {
            '_'
        } else {
            letter.to_ascii_lowercase()
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(params: &str, own: Option<&str>, goal: Option<&str>, source: Option<SourceType>) {
        let params = Raw::parse(params.to_owned().into()).expect("a test's JSON");
        let own = own.map(Raw::string);
        let goal_hint = GoalHint::of(Some(&params), own.as_ref());
        assert_eq!(
            (goal_hint.goal.as_deref(), goal_hint.source),
            (goal, source)
        );
    }

    #[test]
    fn explicit_goal_overrides_inferred_goal() {
        let said = r#"{"_meta":{"narrows/goal":" why it fails "},"arguments":{"query":"x"}}"#;
        check(said, Some("own"), Some("why it fails"), None);
        check(
            r#"{"arguments":{"query":"x"}}"#,
            Some("own"),
            Some("own"),
            None,
        );
        check(
            r#"{"arguments":{"path":"p","query":"x"}}"#,
            None,
            Some("x"),
            None,
        );
        check(
            r#"{"arguments":{"keywords":["a","b",3]}}"#,
            None,
            Some("a b"),
            None,
        );
        check(
            r#"{"arguments":{"searchQuery":"deep sea"}}"#,
            None,
            Some("deep sea"),
            None,
        );
    }

    #[test]
    fn uninformative_arguments_give_no_goal() {
        check(
            r#"{"arguments":{"limit":5,"query":"  ","path":7}}"#,
            None,
            None,
            None,
        );
        check(r#"{"arguments":[1],"_meta":"no"}"#, None, None, None);
    }

    #[test]
    fn file_name_determines_the_source_type() {
        let code = Some(SourceType::Code);
        check(
            r#"{"arguments":{"filePath":"src/main.rs"}}"#,
            None,
            None,
            code,
        );
        check(
            r#"{"uri":"file:///var/log/syslog.log"}"#,
            None,
            None,
            Some(SourceType::Logs),
        );
    }

    #[test]
    fn long_goal_is_truncated() {
        let long = "é".repeat(2_000);
        let params = Raw::empty_object().with_member(
            "_meta",
            &Raw::empty_object().with_member("narrows/goal", &Raw::string(&long)),
        );
        let own = Raw::string(&long);
        for goal_hint in [
            GoalHint::of(Some(&params), None),
            GoalHint::of(Some(&Raw::empty_object()), Some(&own)),
        ] {
            let goal = goal_hint.goal.expect("there is one");
            assert_eq!(goal.chars().count(), MAX_CHARS);
        }
    }
}
