//! The names of files that programs outside run or obey: one table for every depth of a scope.
//!
//! Knows names only. Must not look at the file system.

/// What a program outside does with a file of that name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Starts programs from it, or takes settings from it that do.
    Runs,
    /// Reads it as instructions.
    Instructs,
}

/// Directories of agents, editors and tools: everything below them counts.
const DIRECTORIES: [&str; 39] = [
    ".agents",
    ".ahma",
    ".amazonq",
    ".augment",
    ".bsp",
    ".claude",
    ".claude-plugin",
    ".cline",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".cursor",
    ".devcontainer",
    ".factory",
    ".fleet",
    ".gemini",
    ".githooks",
    ".helix",
    ".husky",
    ".idea",
    ".junie",
    ".kiro",
    ".lefthook",
    ".mise",
    ".mise-tasks",
    ".mvn",
    ".nova",
    ".nvim",
    ".opencode",
    ".qwen",
    ".roo",
    ".run",
    ".swiftpm",
    ".trae",
    ".vscode",
    ".windsurf",
    ".zed",
    ".zencoder",
];

/// Files that start programs when the project is opened, entered, or asked for its state.
const FILES: [&str; 56] = [
    ".aider.conf.yml",
    ".autoenv",
    ".bazelrc",
    ".clangd",
    ".crush.json",
    ".devcontainer.json",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gitpod.yml",
    ".iex.exs",
    ".irbrc",
    ".lefthook-local.yml",
    ".lefthook.yml",
    ".lfsconfig",
    ".lldbinit",
    ".luarc.json",
    ".lvimrc",
    ".mcp.json",
    ".mise.local.toml",
    ".mise.toml",
    ".npmrc",
    ".nvim.lua",
    ".nvimrc",
    ".overcommit.yml",
    ".pdbrc",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".pryrc",
    ".rprofile",
    ".rust-analyzer.toml",
    ".tool-versions",
    ".vimrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    "crush.json",
    "devbox.json",
    "flake.nix",
    "lefthook-local.yaml",
    "lefthook-local.yml",
    "lefthook.yaml",
    "lefthook.yml",
    "mcp.json",
    "mise.local.toml",
    "mise.toml",
    "opencode.json",
    "opencode.jsonc",
    "rust-analyzer.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "shell.nix",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Files of other directories, which are of interest only there.
const FILES_OF: [(&str, &str); 10] = [
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".config", "mise.toml"),
    (".github", "hooks"),
    (".hg", "hgrc"),
    (".hg", "hgrc-not-shared"),
    (".yarn", "plugins"),
    (".yarn", "releases"),
    ("mise", "config.toml"),
    ("repo", "config.toml"),
];

/// What agents read as instructions.
const INSTRUCTIONS: [&str; 12] = [
    ".clinerules",
    ".cursorrules",
    ".goosehints",
    ".roorules",
    ".rules",
    ".windsurfrules",
    "agents.md",
    "claude.local.md",
    "claude.md",
    "copilot-instructions.md",
    "gemini.md",
    "qwen.md",
];

/// The same in `.github`.
const INSTRUCTIONS_OF_GITHUB: [&str; 4] = [
    "agents",
    "copilot-instructions.md",
    "instructions",
    "prompts",
];

/// Directories that hold what others wrote: many names there are one finding.
const HEAPS: [&str; 6] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "site-packages",
    "vendor",
];

/// What a name means in a directory of that name. The letters' case does not matter: it does not on some file systems.
pub(super) fn kind_of(name: &[u8], directory: &[u8]) -> Option<Kind> {
    let Ok(name) = std::str::from_utf8(name) else {
        return None;
    };
    let is = &|it: &&str| it.eq_ignore_ascii_case(name);
    if DIRECTORIES.iter().any(is) || FILES.iter().any(is) || has_ending(name) {
        return Some(Kind::Runs);
    }
    if INSTRUCTIONS.iter().any(is) {
        return Some(Kind::Instructs);
    }
    let within = |it: &str| it.as_bytes().eq_ignore_ascii_case(directory);
    if within(".github") && INSTRUCTIONS_OF_GITHUB.iter().any(is) {
        return Some(Kind::Instructs);
    }
    let of = FILES_OF.iter().any(|(above, it)| within(above) && is(it));
    of.then_some(Kind::Runs)
}

/// Projects of editors.
fn has_ending(name: &str) -> bool {
    [".code-workspace", ".sublime-project", ".run.xml"]
        .iter()
        .any(|ending| {
            let cut = name.len().saturating_sub(ending.len());
            name.is_char_boundary(cut) && name[cut..].eq_ignore_ascii_case(ending)
        })
}

/// Whether many findings below such a directory are told as one.
pub(super) fn is_heap(name: &[u8]) -> bool {
    HEAPS.iter().any(|it| it.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_wherever_they_are_and_however_they_are_written() {
        for (name, directory, kind) in [
            (".cursor", "", Some(Kind::Runs)),
            (".Cursor", "deep", Some(Kind::Runs)),
            (".mcp.json", "x", Some(Kind::Runs)),
            ("a.code-workspace", "", Some(Kind::Runs)),
            ("CLAUDE.md", "", Some(Kind::Instructs)),
            ("config.toml", ".cargo", Some(Kind::Runs)),
            ("config.toml", "other", None),
            ("copilot-instructions.md", ".github", Some(Kind::Instructs)),
            ("main.rs", "src", None),
            ("é", "", None),
        ] {
            let found = kind_of(name.as_bytes(), directory.as_bytes());
            assert_eq!(found, kind, "{directory}/{name}");
        }
        assert_eq!(kind_of(b"\xff.code-workspace", b""), None);
    }

    #[test]
    fn every_name_of_the_table_is_lower_case_and_stands_there_once() {
        let all = DIRECTORIES.iter().chain(&FILES).chain(&INSTRUCTIONS);
        let mut seen = std::collections::BTreeSet::new();
        for name in all {
            assert_eq!(*name, name.to_ascii_lowercase());
            assert!(seen.insert(*name), "{name}");
        }
    }
}
