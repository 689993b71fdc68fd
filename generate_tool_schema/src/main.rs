//! Prints the JSON Schema of tool files, prompt files, resource files or `mcp.json`, writes it, or checks that a copy is up to date.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahma_core::config::content::{prompt_file_schema_text, resource_file_schema_text};
use ahma_core::config::downstream::mcp_config_schema_text;
use ahma_core::config::settings::settings_file_schema_text;
use ahma_core::config::tool_file_schema_text;
use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  generate_tool_schema
          print the schema
  generate_tool_schema --output .ahma/mtdf.schema.json
          write it where \"$schema\": \"../mtdf.schema.json\" of a tool file finds it
  generate_tool_schema --check docs/mtdf.schema.json
          exit code 1 when the copy differs
  generate_tool_schema --mcp-config
          the schema of the file that names other MCP servers
  generate_tool_schema --prompts --output .ahma/prompt.schema.json
          the schema of prompt files; that of resource files with --resources";

/// Prints the JSON Schema (2020-12) of tool files, of prompt files, of resource files, of `mcp.json`, or of `ahma.toml`. With it, an editor completes, explains and checks
/// such a file while it is written.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Args {
    /// Write the schema to this file instead of printing it.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,

    /// Compare this file with the schema; exit code 1 when it differs.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,

    /// The schema of `mcp.json`, which names other MCP servers, instead of that of tool files.
    #[arg(long)]
    mcp_config: bool,

    /// The schema of prompt files.
    #[arg(long, conflicts_with = "mcp_config")]
    prompts: bool,

    /// The schema of resource files.
    #[arg(long, conflicts_with_all = ["mcp_config", "prompts"])]
    resources: bool,

    /// The schema of `ahma.toml`, which has the settings of the server.
    #[arg(long, conflicts_with_all = ["mcp_config", "prompts", "resources"])]
    config: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (schema, flag) = match () {
        () if args.mcp_config => (mcp_config_schema_text(), "--mcp-config "),
        () if args.prompts => (prompt_file_schema_text(), "--prompts "),
        () if args.resources => (resource_file_schema_text(), "--resources "),
        () if args.config => (settings_file_schema_text(), "--config "),
        () => (tool_file_schema_text(), ""),
    };
    let outcome = match (&args.output, &args.check) {
        (Some(path), _) => write(path, &schema),
        (None, Some(path)) => check(path, &schema, flag),
        (None, None) => print(&schema),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print(schema: &str) -> Result<(), String> {
    match io::stdout().write_all(schema.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this program has no async runtime"
)]
fn write(path: &Path, schema: &str) -> Result<(), String> {
    fs::write(path, schema)
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this program has no async runtime"
)]
fn check(path: &Path, schema: &str, flag: &str) -> Result<(), String> {
    let path_text = path.display();
    let committed =
        fs::read_to_string(path).map_err(|error| format!("{path_text} cannot be read: {error}"))?;
    if committed == schema {
        return Ok(());
    }
    let line = committed
        .lines()
        .zip(schema.lines())
        .take_while(|(committed, current)| committed == current)
        .count()
        + 1;
    Err(format!(
        "{path_text} is out of date; it differs from line {line} on\n\
         hint: run `generate_tool_schema {flag}--output {path_text}`"
    ))
}
