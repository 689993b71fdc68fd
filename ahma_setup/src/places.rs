//! Where clients keep their files, and by what they are noticed. Reads no environment: the machine is described to it.

use std::path::{Path, PathBuf};

use super::client::{Client, Level};

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux.
    Linux,
    /// macOS.
    Macos,
}

/// Where things are on a machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// What kind it is.
    pub platform: Platform,
    /// The user's home directory.
    pub home: PathBuf,
    /// Where programs keep settings, if not in `.config` of the home.
    pub config_home: Option<PathBuf>,
    /// Where Codex keeps its files, if not in `.codex`.
    pub codex_home: Option<PathBuf>,
    /// Where Claude Code keeps its files, if not in the home and `.claude`.
    pub claude_home: Option<PathBuf>,
    /// Directories with programs.
    pub programs: Vec<PathBuf>,
    /// The project that is worked in.
    pub project: PathBuf,
}

/// Where a file is or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its path.
    pub path: PathBuf,
    /// What it must not lead out of.
    pub inside: Vec<PathBuf>,
}

impl Machine {
    /// The file with the entries of a client; none where it has no such at this level.
    pub fn entries(&self, client: Client, level: Level) -> Option<Place> {
        let path = match level {
            Level::Project => self.project.join(match client {
                Client::Claude => ".mcp.json",
                Client::Cursor => ".cursor/mcp.json",
                Client::Vscode => ".vscode/mcp.json",
                Client::Codex => ".codex/config.toml",
                Client::Gemini => ".gemini/settings.json",
                Client::Zed => ".zed/settings.json",
                Client::ClaudeDesktop | Client::Windsurf => return None,
            }),
            Level::User => match client {
                Client::Claude => match &self.claude_home {
                    Some(directory) => directory.join(".claude.json"),
                    None => self.home.join(".claude.json"),
                },
                Client::ClaudeDesktop => self.settings("Claude/claude_desktop_config.json"),
                Client::Cursor => self.home.join(".cursor/mcp.json"),
                Client::Vscode => self.settings("Code/User/mcp.json"),
                Client::Codex => self.codex().join("config.toml"),
                Client::Gemini => self.home.join(".gemini/settings.json"),
                Client::Windsurf => self.home.join(".codeium/windsurf/mcp_config.json"),
                Client::Zed => self.zed().join("settings.json"),
            },
        };
        Some(self.place(path, level))
    }

    /// The file in which the shell of a client is turned off, for those that have one.
    pub fn own_shell(&self, client: Client, level: Level) -> Option<Place> {
        match (client, level) {
            (Client::Claude, Level::User) => {
                Some(self.place(self.claude().join("settings.json"), level))
            }
            (Client::Claude, Level::Project) => {
                Some(self.place(self.project.join(".claude/settings.json"), level))
            }
            _ => self.entries(client, level),
        }
    }

    /// What shows that a client is on this machine.
    pub fn sign(&self, client: Client) -> Option<PathBuf> {
        let (files, programs): (Vec<PathBuf>, &[&str]) = match client {
            Client::Claude => {
                let entries = self.entries(client, Level::User).map(|it| it.path);
                let files = entries.into_iter().chain([self.claude()]);
                (files.collect(), &["claude"])
            }
            Client::ClaudeDesktop => (vec![self.settings("Claude")], &["claude-desktop"]),
            Client::Cursor => (
                vec![self.home.join(".cursor"), self.settings("Cursor")],
                &["cursor", "cursor-agent"],
            ),
            Client::Vscode => (vec![self.settings("Code")], &["code"]),
            Client::Codex => (vec![self.codex()], &["codex"]),
            Client::Gemini => (vec![self.home.join(".gemini")], &["gemini"]),
            Client::Windsurf => (vec![self.home.join(".codeium/windsurf")], &["windsurf"]),
            Client::Zed => (vec![self.zed()], &["zed", "zeditor"]),
        };
        let in_path = programs
            .iter()
            .flat_map(|program| self.programs.iter().map(move |it| it.join(program)));
        files
            .into_iter()
            .find(|it| it.exists())
            .or_else(|| in_path.into_iter().find(|it| it.is_file()))
    }

    /// Whether the project is none: the home, what holds it, or the root.
    pub fn is_in_no_project(&self) -> bool {
        real(&self.home).starts_with(real(&self.project))
    }

    fn place(&self, path: PathBuf, level: Level) -> Place {
        let inside = match level {
            Level::Project => vec![self.project.clone()],
            Level::User => {
                let own = [&self.config_home, &self.codex_home, &self.claude_home];
                let own = own.into_iter().flatten().cloned();
                own.chain([self.home.clone()]).collect()
            }
        };
        Place { path, inside }
    }

    /// Where programs with windows keep their settings.
    fn settings(&self, file: &str) -> PathBuf {
        match self.platform {
            Platform::Macos => self.home.join("Library/Application Support").join(file),
            Platform::Linux => self.config().join(file),
        }
    }

    fn config(&self) -> PathBuf {
        let usual = || self.home.join(".config");
        self.config_home.clone().unwrap_or_else(usual)
    }

    fn zed(&self) -> PathBuf {
        match self.platform {
            Platform::Macos => self.home.join(".config/zed"),
            Platform::Linux => self.config().join("zed"),
        }
    }

    fn codex(&self) -> PathBuf {
        let usual = || self.home.join(".codex");
        self.codex_home.clone().unwrap_or_else(usual)
    }

    fn claude(&self) -> PathBuf {
        let usual = || self.home.join(".claude");
        self.claude_home.clone().unwrap_or_else(usual)
    }
}

/// Without links, where it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
