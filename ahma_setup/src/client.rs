//! The clients that can be set up: what they are called, and what their entries and shells are like. Must not know where
//! anything is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::edit::Edit;
use super::text::Language;

/// A client of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
}

/// Whose files are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The user's own, for all projects.
    User,
    /// Those of one project.
    Project,
}

/// How the shell that a client has itself is turned off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnShell {
    /// By this change in a file.
    Edit(Edit),
    /// By hand.
    ByHand(&'static str),
    /// It has none.
    None,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 8] = [
        Client::Claude,
        Client::ClaudeDesktop,
        Client::Cursor,
        Client::Vscode,
        Client::Codex,
        Client::Gemini,
        Client::Windsurf,
        Client::Zed,
    ];

    /// As it is written on a command line.
    pub fn id(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::ClaudeDesktop => "claude-desktop",
            Client::Cursor => "cursor",
            Client::Vscode => "vscode",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Windsurf => "windsurf",
            Client::Zed => "zed",
        }
    }

    /// As its makers write it.
    pub fn title(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::ClaudeDesktop => "Claude Desktop",
            Client::Cursor => "Cursor",
            Client::Vscode => "VS Code",
            Client::Codex => "Codex",
            Client::Gemini => "Gemini CLI",
            Client::Windsurf => "Windsurf",
            Client::Zed => "Zed",
        }
    }

    /// The language of the file with its entries.
    pub fn language(self) -> Language {
        match self {
            Client::Codex => Language::Toml,
            _ => Language::Json,
        }
    }

    /// Whether it reads JSON with comments and trailing commas.
    pub(crate) fn takes_comments(self) -> bool {
        !matches!(
            self,
            Client::Claude | Client::ClaudeDesktop | Client::Windsurf
        )
    }

    /// Whether it starts servers in no project, so that an entry has to name one.
    pub fn starts_servers_nowhere(self) -> bool {
        self == Client::ClaudeDesktop
    }

    /// The entry of a server.
    pub fn entry(self, name: &str, command: &str, args: &[String]) -> Edit {
        let fields = match self {
            Client::Claude => json!({ "type": "stdio", "command": command, "args": args }),
            Client::Vscode => json!({
                "type": "stdio", "command": command, "args": args, "cwd": "${workspaceFolder}"
            }),
            Client::Zed => json!({ "source": "custom", "command": command, "args": args }),
            _ => json!({ "command": command, "args": args }),
        };
        let list = match self {
            Client::Vscode => "servers",
            Client::Codex => "mcp_servers",
            Client::Zed => "context_servers",
            _ => "mcpServers",
        };
        Edit::Entry {
            list: list.to_owned(),
            name: name.to_owned(),
            fields: match fields {
                Value::Object(fields) => fields,
                _ => Map::new(),
            },
        }
    }

    /// How its own shell is turned off.
    pub fn own_shell(self) -> OwnShell {
        let path = |path: [&str; 2]| path.map(str::to_owned).to_vec();
        match self {
            Client::Claude => OwnShell::Edit(Edit::Word {
                path: path(["permissions", "deny"]),
                word: "Bash".to_owned(),
            }),
            Client::Codex => OwnShell::Edit(Edit::Off {
                path: path(["features", "shell_tool"]),
            }),
            Client::Gemini => OwnShell::Edit(Edit::Word {
                path: path(["tools", "exclude"]),
                word: "run_shell_command".to_owned(),
            }),
            Client::Cursor => OwnShell::ByHand(
                "Cursor's editor has no setting that takes its terminal away: in Cursor Settings, Agents, let it ask before it runs \
                 commands (Auto-Run Mode), and allow the tools of this server instead",
            ),
            Client::Vscode => OwnShell::ByHand(
                "in the Chat view, open Configure Tools and untick the terminal tools (runInTerminal and its like)",
            ),
            Client::Windsurf => OwnShell::ByHand(
                "in Windsurf Settings, Cascade, turn Auto Execution off, so that its terminal asks; it cannot be taken away",
            ),
            Client::Zed => OwnShell::ByHand(
                "in the Agent Panel, open the profile's tools (Configure Profile) and untick `terminal`",
            ),
            Client::ClaudeDesktop => OwnShell::None,
        }
    }

    /// What to do so that a changed entry counts.
    pub fn restart(self) -> &'static str {
        match self {
            Client::Claude => "start Claude Code anew; /mcp shows the server",
            Client::ClaudeDesktop => "quit Claude Desktop and start it again",
            Client::Cursor => "restart Cursor; Settings, MCP shows the server",
            Client::Vscode => "run `MCP: List Servers` in VS Code, and start the server there",
            Client::Codex => "start Codex anew; /mcp shows the server",
            Client::Gemini => "start Gemini CLI anew; /mcp shows the server",
            Client::Windsurf => "press Refresh in Windsurf's MCP settings",
            Client::Zed => {
                "Zed starts it by itself; the Agent Panel's settings show a green dot beside it"
            }
        }
    }
}
