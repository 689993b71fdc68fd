//! `--mode list-tools`: what clients would be offered, as JSON on stdout.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Args;
use super::failure::{EXIT_FAILURE, EXIT_USAGE};
use super::sources::ToolSources;
use crate::config::{Catalog, Waiting, listed_description, load};
use crate::registry::fits;

/// Prints the tools. Files that are rejected are named on stderr; the rest is listed all the same.
pub(super) fn run(args: &Args) -> ExitCode {
    let environment = std::env::vars_os().collect();
    let sources = match ToolSources::of(args, &environment, Path::new(".")).read() {
        Ok(sources) => sources,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let catalog = load(sources);
    report_rejected(&catalog);
    let document = json!({ "tools": listing(&catalog) });
    match writeln!(io::stdout(), "{document:#}") {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(EXIT_FAILURE),
    }
}

fn report_rejected(catalog: &Catalog) {
    for file in &catalog.rejected {
        let path = file.path.display();
        for fault in &file.faults {
            let (line, column) = (fault.line, fault.column);
            let _ = writeln!(io::stderr(), "{path}:{line}:{column}: {}", fault.message);
            if let Some(hint) = &fault.hint {
                let _ = writeln!(io::stderr(), "  hint: {hint}");
            }
        }
    }
}

fn listing(catalog: &Catalog) -> Vec<Value> {
    catalog
        .leaves()
        .filter(|(_, leaf)| fits(leaf, Path::new(".")))
        .map(|(tool, leaf)| {
            json!({
                "name": leaf.name,
                "description": listed_description(leaf, Waiting::AsDeclared),
                "inputSchema": leaf.input_schema,
                "source": tool.source.to_string_lossy(),
            })
        })
        .collect()
}
