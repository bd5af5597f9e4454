//! Recognises configuration files that belong to MCP clients.

use std::path::Path;

/// Returns the client that owns the file, judging by the names of the file and its folder. Symbolic
/// links are resolved as well.
pub(super) fn client_of(file: &Path) -> Option<&'static str> {
    let absolute = std::path::absolute(file).ok();
    let target = file.canonicalize().ok();
    let mut names = [absolute, target].into_iter().flatten();
    names.find_map(|path| by_name(&path))
}

fn by_name(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder
        .and_then(|folder| folder.to_str())
        .unwrap_or_default();
    Some(match (folder, name) {
        (".cursor", "mcp.json") => "Cursor",
        (".vscode", "mcp.json") => "VS Code",
        (".copilot", "mcp-config.json") | (".github", "mcp.json") => "Copilot CLI",
        (".gemini", "settings.json") => "Gemini CLI",
        (".lmstudio", "mcp.json") => "LM Studio",
        (".roo", "mcp.json") | (_, "mcp_settings.json") => "Roo Code",
        (_, ".claude.json" | ".mcp.json") => "Claude Code",
        (_, "claude_desktop_config.json") => "Claude Desktop",
        (_, "cline_mcp_settings.json") => "Cline",
        (_, "mcp_config.json") => "Windsurf",
        // The user profile of VS Code, and other clients with a file of this name.
        (_, "mcp.json") => "the client that uses this file",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::by_name;

    #[test]
    fn client_configuration_files_are_recognised() {
        for (path, expected) in [
            ("/home/u/.cursor/mcp.json", Some("Cursor")),
            ("/w/.vscode/mcp.json", Some("VS Code")),
            ("/w/.mcp.json", Some("Claude Code")),
            ("/home/u/.gemini/settings.json", Some("Gemini CLI")),
            (
                "/home/u/.config/Code/User/mcp.json",
                Some("the client that uses this file"),
            ),
            (
                "/home/u/.codeium/windsurf/mcp_config.json",
                Some("Windsurf"),
            ),
            ("/w/settings.json", None),
            ("/w/narrows.json", None),
            ("/home/u/.cursor/narrows.json", None),
        ] {
            assert_eq!(by_name(Path::new(path)), expected, "{path}");
        }
    }
}
