//! Prints what an MCP server offers, to people or to programs.
//!
//! Connecting is the business of [`ahma_http_mcp_client`]; here is only what the user asks for and sees.

mod args;
mod text;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ahma_contract::UserDirectories;
use ahma_http_mcp_client::{
    CommandEntry, Connection, DiscoveryError, McpConfig, Secrets, ServerEntry, Tool, UrlEntry,
    find_server,
};
use clap::Parser as _;
use serde_json::json;

use self::args::{Args, Format};

const EXIT_NO_CONNECTION: u8 = 1;
const EXIT_USAGE: u8 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    let timeout = Duration::from_secs(args.timeout);
    let entry = match entry(&args, timeout).await {
        Ok(entry) => entry,
        Err((code, message)) => return fail(code, &message),
    };
    let tools = match listed(&entry, timeout).await {
        Ok(tools) => tools,
        Err(message) => return fail(EXIT_NO_CONNECTION, &message),
    };
    let printed = match args.format {
        Format::Text => text::listing(&tools),
        Format::Json => format!("{:#}\n", json!({ "tools": tools })),
    };
    match io::stdout().write_all(printed.as_bytes()) {
        // The reader has seen enough, as with `| head`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(EXIT_NO_CONNECTION, &error.to_string())
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The server that was asked for.
async fn entry(args: &Args, timeout: Duration) -> Result<ServerEntry, (u8, String)> {
    if let (Some(file), Some(name)) = (&args.mcp_config, &args.server) {
        let config = McpConfig::read(file).await;
        let server = config.and_then(|config| config.server(name));
        return server.map_err(|error| (EXIT_USAGE, error.to_string()));
    }
    if let Some(url) = &args.url {
        return Ok(ServerEntry::Url(UrlEntry::new(url, Default::default())));
    }
    let mut words = args.command.iter().cloned();
    if let Some(command) = words.next() {
        return Ok(ServerEntry::Command(CommandEntry {
            command,
            args: words.collect(),
            env: Default::default(),
            cwd: None,
        }));
    }
    let found = find_server(Path::new("."), &secrets(), timeout).await;
    let found = found.map_err(|error| {
        let hint = hint(&error);
        (EXIT_NO_CONNECTION, format!("{error}\nhint: {hint}"))
    });
    Ok(ServerEntry::Url(found?))
}

/// What the user has that the server of a project must know of.
fn secrets() -> Secrets {
    let token = std::env::var("AHMA_HTTP_TOKEN").ok();
    Secrets {
        state_directory: UserDirectories::of_this_user().state,
        token: token.filter(|token| !token.is_empty()),
    }
}

/// What to do when the server of a project is not found.
fn hint(error: &DiscoveryError) -> &'static str {
    match error {
        DiscoveryError::None(_) => {
            "start one there with `ahma_mcp --mode http`, or name one: --url URL, or -- COMMAND"
        }
        DiscoveryError::NoToken { .. } => {
            "it was started with a token of its own, or without one; give the token with AHMA_HTTP_TOKEN, or connect \
             with --url"
        }
        DiscoveryError::Stale { .. } => "start one with `ahma_mcp --mode http`",
        DiscoveryError::Unproven { .. } => "restart the server, and check who wrote that file",
        DiscoveryError::Content { .. } => "remove that file, and restart the server",
        DiscoveryError::Directory(_) => "run this in a directory that exists",
    }
}

async fn listed(entry: &ServerEntry, timeout: Duration) -> Result<Vec<Tool>, String> {
    let asking = async {
        let connection = Connection::open(entry, timeout).await?;
        let tools = connection.tools().await;
        connection.close().await;
        tools
    };
    tokio::select! {
        tools = asking => tools.map_err(|error| format!("{error}\nhint: {}", error.hint())),
        // Leaving this way ends the server too.
        _ = tokio::signal::ctrl_c() => Err("interrupted".to_owned()),
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(code)
}
