//! Keys of this server in files of its projects, where every command can read them.

use std::path::{Path, PathBuf};

use ahma_contract::Token;
use ahma_sandbox::{open_directory, read_beneath};

/// Where clients keep their entries in a project, and where people put secrets.
const USUAL: [&str; 19] = [
    ".amazonq/mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".continue/config.yaml",
    ".cursor/mcp.json",
    ".env",
    ".envrc",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".mcp.json",
    ".roo/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".windsurf/mcp.json",
    ".zed/settings.json",
    "crush.json",
    "mcp.json",
    "opencode.json",
];
/// A longer file is not one of those.
const MAX_BYTES: u64 = 1024 * 1024;

/// The files below these directories that hold one of the tokens. Blocks.
pub(super) fn find(scopes: &[PathBuf], tokens: &[Token]) -> Vec<PathBuf> {
    let files = scopes
        .iter()
        .flat_map(|scope| USUAL.iter().map(move |name| (scope, Path::new(name))));
    let holding = files.filter(|(scope, name)| {
        let text = open_directory(scope).and_then(|it| read_beneath(it, name, MAX_BYTES));
        let Ok(text) = text else {
            return false;
        };
        tokens
            .iter()
            .any(|token| holds(&text, token.reveal().as_bytes()))
    });
    holding.map(|(scope, name)| scope.join(name)).collect()
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && text.windows(word.len()).any(|it| it == word)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may block")]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_the_usual_files_only() {
        let scope = tempfile::tempdir().unwrap();
        let token = Token::new("0123456789abcdef").unwrap();
        std::fs::create_dir(scope.path().join(".cursor")).unwrap();
        let entry = r#"{ "url": "http://127.0.0.1/mcp?key=0123456789abcdef" }"#;
        std::fs::write(scope.path().join(".cursor/mcp.json"), entry).unwrap();
        std::fs::write(scope.path().join("notes.txt"), entry).unwrap();
        std::fs::write(scope.path().join("mcp.json"), "key=other").unwrap();
        let scopes = [scope.path().to_owned()];
        let expected = [scope.path().join(".cursor/mcp.json")];
        assert_eq!(find(&scopes, &[token]), expected);
        assert_eq!(find(&scopes, &[]), Vec::<PathBuf>::new());
    }
}
