//! What somebody reads who starts the server by hand: that it waits for a client, and how to get one. Must not be shown to a client.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

/// Says on stderr what this is, where somebody types instead of a client.
pub(super) fn greet(scope: &Path) {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let _ = io::stderr().write_all(text(scope).as_bytes());
    }
}

fn text(scope: &Path) -> String {
    format!(
        "ahma_mcp {} is an MCP server: it runs commands for AI agents, confined to\n  {}\n\
         It now waits for a client on stdin and stdout; Ctrl-C ends it. Usually a client starts it:\n\
         \n  ahma_mcp setup               adds it to the clients on this machine (Claude Code, Cursor, VS Code, Codex…)\n  \
         ahma_mcp run -- ls ~         shows what a command in the sandbox sees\n  \
         ahma_mcp doctor              says what is missing here\n  \
         ahma_mcp --mode http         serves it to programs on this machine, over HTTP\n  \
         ahma_mcp --help              has everything else\n\n",
        env!("CARGO_PKG_VERSION"),
        scope.display(),
    )
}
