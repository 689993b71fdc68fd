//! `--mode list-tools`: what clients would be offered, as JSON on stdout.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Args;
use super::settings;
use super::startup_error::{EXIT_FAILURE, EXIT_USAGE};
use super::tool_args::tool_file_rules;
use crate::config::{Catalog, load};
use crate::registry::{definition, fits};
use crate::server_facts;
use crate::service::CallStyle;
use crate::service::tools::definitions;

/// Prints the tools. Files that are rejected are named on stderr; the rest is listed all the same.
pub(super) fn run(args: &Args) -> ExitCode {
    let environment = std::env::vars_os().collect();
    let project = settings::asked_scope(args, &environment).unwrap_or(Path::new("."));
    let rules = tool_file_rules(args, &environment);
    let sources = match rules.files_of(project).read() {
        Ok(sources) => sources,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let catalog = load(sources, &server_facts());
    report_rejected(&catalog);
    let mut tools = built_in(args);
    tools.extend(listing(&catalog, project, args.sync));
    let document = json!({ "tools": tools });
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

/// What every server offers, whatever its files say.
fn built_in(args: &Args) -> Vec<Value> {
    let style = CallStyle {
        always_sync: args.sync,
        no_shell: args.no_shell,
        ..CallStyle::default()
    };
    let tools = definitions(style).into_iter();
    tools.map(|(_, tool)| listed(&tool, "(server)")).collect()
}

fn listing(catalog: &Catalog, project: &Path, always_sync: bool) -> Vec<Value> {
    let fitting = catalog.tools().filter(|(_, tool)| fits(tool, project));
    fitting
        .map(|(file, tool)| {
            let source = file.source.to_string_lossy();
            listed(&definition(tool, always_sync), &source)
        })
        .collect()
}

fn listed(tool: &rmcp::model::Tool, source: &str) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "source": source,
    })
}
