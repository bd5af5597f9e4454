//! Replaces variables in the values of a configuration file.

use std::ffi::OsStr;
use std::path::Path;

use super::environment::Environment;

/// The forms of variables to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    /// `${VAR}`, `${VAR:-default}` and `${env:VAR}`.
    Dollar,
    /// The same forms and `{VAR}`, which stays unchanged if the variable is not set, because braces
    /// have other meanings in many programs.
    DollarAndBare,
}

/// The source of values.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) environment: &'a Environment,
    /// The folder of the configuration file.
    pub(crate) folder: &'a Path,
}

/// The reason why a text cannot be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unexpanded {
    /// These variables are not set.
    Unset(Vec<String>),
    /// `${` is not closed or does not contain a variable. Messages do not quote the text, because a
    /// default may be a secret.
    Malformed,
    /// `${input:...}`, whose value VS Code requests from its user.
    Input,
    /// A variable that has a value only in an editor, such as `${file}`.
    Editor(String),
}

pub(crate) const NO_USER_TO_ASK: &str = "cannot prompt for ${input:...}";

impl Unexpanded {
    /// Returns an error and a help text for each problem.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        match self {
            Unexpanded::Unset(names) => {
                let problem = |name: &String| {
                    let what = format!("environment variable {name} is not set");
                    (what, format!("set it, or give a default: ${{{name}:-...}}"))
                };
                names.iter().map(problem).collect()
            }
            Unexpanded::Malformed => {
                let help = "write ${VAR}, ${VAR:-default} or ${env:VAR}, and $${ for ${ itself";
                let what = "a `${` here does not name a variable";
                vec![(what.to_owned(), help.to_owned())]
            }
            Unexpanded::Input => {
                let help = "set an environment variable and refer to it as ${VAR}";
                vec![(NO_USER_TO_ASK.to_owned(), help.to_owned())]
            }
            Unexpanded::Editor(name) => {
                let help = "write the value itself, or set an environment variable and name it \
                            as ${VAR}";
                vec![(only_in_editor(name), help.to_owned())]
            }
        }
    }
}

/// Replaces all variables in `text`. Values are not expanded again. `$${` stands for a literal
/// `${`.
pub(crate) fn expand(text: &str, forms: Forms, scope: Scope<'_>) -> Result<String, Unexpanded> {
    let mut expanded = String::with_capacity(text.len());
    let mut unset = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.find(['$', '{']) {
        expanded.push_str(&rest[..next]);
        rest = &rest[next..];
        if let Some(after) = rest.strip_prefix("$${") {
            expanded.push_str("${");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${") {
            let (inner, after) = after.split_once('}').ok_or(Unexpanded::Malformed)?;
            match value(inner, scope)? {
                Some(value) => expanded.push_str(&value),
                None => unset.push(name_of(inner).to_owned()),
            }
            rest = after;
        } else if let Some((value, after)) = bare(rest, forms, scope) {
            expanded.push_str(value);
            rest = after;
        } else {
            let (one, after) = rest.split_at(1);
            expanded.push_str(one);
            rest = after;
        }
    }
    expanded.push_str(rest);
    unset.dedup();
    if unset.is_empty() {
        Ok(expanded)
    } else {
        Err(Unexpanded::Unset(unset))
    }
}

/// Returns the variable name of a text that is exactly `$NAME`, the form that Gemini CLI uses.
/// Inside longer texts, `$` often has another meaning.
pub(crate) fn whole_variable(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|name| is_name(name))
}

/// Expands a leading `~` to the user's home folder.
pub(crate) fn expand_home(text: &str, environment: &Environment) -> String {
    let Some(home) = environment.home().and_then(Path::to_str) else {
        return text.to_owned();
    };
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => text.to_owned(),
    }
}

fn name_of(inner: &str) -> &str {
    inner.strip_prefix("env:").unwrap_or(inner)
}

/// Returns the value of the text between the braces, or `None` if it is not set.
fn value(inner: &str, scope: Scope<'_>) -> Result<Option<String>, Unexpanded> {
    if inner.starts_with("input:") {
        return Err(Unexpanded::Input);
    }
    if inner == "/" {
        return Ok(editor_variable(inner, scope));
    }
    if let Some(prefix) = EDITOR_PREFIXES
        .iter()
        .find(|prefix| inner.starts_with(**prefix))
    {
        return Err(Unexpanded::Editor(format!("{prefix}...")));
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name_of(name), Some(default)),
        None => (name_of(inner), None),
    };
    if !is_name(name) {
        return Err(Unexpanded::Malformed);
    }
    let set = scope.environment.text(name);
    if set.is_none() && default.is_none() && ONLY_IN_EDITOR.contains(&name) {
        return Err(Unexpanded::Editor(name.to_owned()));
    }
    Ok(match default {
        // As in a shell, the default also replaces an empty value.
        Some(default) => Some(
            set.filter(|set| !set.is_empty())
                .unwrap_or(default)
                .to_owned(),
        ),
        None => set
            .map(str::to_owned)
            .or_else(|| editor_variable(name, scope)),
    })
}

/// Variables of VS Code and Cursor that have no value outside the editor.
const ONLY_IN_EDITOR: &[&str] = &[
    "cwd",
    "defaultBuildTask",
    "execPath",
    "extensionInstallFolder",
    "file",
    "fileBasename",
    "fileBasenameNoExtension",
    "fileDirname",
    "fileDirnameBasename",
    "fileExtname",
    "fileWorkspaceFolder",
    "lineNumber",
    "columnNumber",
    "relativeFile",
    "relativeFileDirname",
    "selectedText",
];

/// Prefixes such as `${command:...}`, whose values only an editor can look up.
const EDITOR_PREFIXES: &[&str] = &["command:", "config:", "workspaceFolder:"];

/// Explains why a variable of an editor has no value.
pub(crate) fn only_in_editor(name: &str) -> String {
    format!("`${{{name}}}` is a variable of VS Code and Cursor and exists only in the editor")
}

/// Returns the value of an editor variable that also has a meaning outside an editor.
fn editor_variable(name: &str, scope: Scope<'_>) -> Option<String> {
    let path = match name {
        "pathSeparator" | "/" => return Some("/".to_owned()),
        "workspaceFolderBasename" => {
            let folder = editor_variable("workspaceFolder", scope)?;
            let name = Path::new(&folder).file_name().and_then(OsStr::to_str);
            return name.map(str::to_owned);
        }
        "userHome" => scope.environment.home()?,
        // `.vscode/mcp.json` and `.cursor/mcp.json` are one level below the workspace.
        "workspaceFolder" => match scope.folder.file_name().and_then(OsStr::to_str) {
            Some(".vscode" | ".cursor") => scope.folder.parent()?,
            _ => scope.folder,
        },
        _ => return None,
    };
    path.to_str().map(str::to_owned)
}

/// Reads `{VAR}` at the start of `text`. Returns its value and the remaining text.
fn bare<'a>(text: &'a str, forms: Forms, scope: Scope<'a>) -> Option<(&'a str, &'a str)> {
    if forms == Forms::Dollar {
        return None;
    }
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !is_name(name) || !name.chars().all(is_capital) {
        return None;
    }
    Some((scope.environment.text(name)?, after))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
