//! Prints what an MCP server offers, to people or to programs.
//!
//! Connecting is the business of [`ahma_http_mcp_client`]; here is only what the user asks for and sees.

mod args;
mod text;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use ahma_http_mcp_client::{Connection, McpConfig, ServerEntry, Tool};
use clap::Parser as _;
use serde_json::json;

use self::args::{Args, Format};

const EXIT_NO_CONNECTION: u8 = 1;
const EXIT_USAGE: u8 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    let entry = match entry(&args).await {
        Ok(entry) => entry,
        Err(message) => return fail(EXIT_USAGE, &message),
    };
    let patience = Duration::from_secs(args.timeout);
    let tools = match listed(&entry, patience).await {
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
async fn entry(args: &Args) -> Result<ServerEntry, String> {
    if let (Some(file), Some(name)) = (&args.mcp_config, &args.server) {
        let config = McpConfig::read(file).await;
        let server = config.and_then(|config| config.server(name));
        return server.map_err(|error| error.to_string());
    }
    let mut words = args.command.iter().cloned();
    let command = words.next().ok_or("name a command after --")?;
    Ok(ServerEntry {
        command,
        args: words.collect(),
        env: Default::default(),
        cwd: None,
    })
}

async fn listed(entry: &ServerEntry, patience: Duration) -> Result<Vec<Tool>, String> {
    let asking = async {
        let connection = Connection::open(entry, patience).await?;
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
