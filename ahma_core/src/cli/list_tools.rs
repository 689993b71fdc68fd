//! `--mode list-tools`: what clients would be offered here, as JSON on stdout. Serves nobody.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::args::Args;
use super::offline::Offline;
use super::startup_error::{EXIT_FAILURE, StartupError};
use crate::registry::{DeclaredTools, Runner, ToolEntry, ToolSnapshot};
use crate::scope::{Scope, ScopeConfig, SharedResources};

/// How long checks of programs are waited for.
const CHECKS_TIMEOUT: Duration = Duration::from_secs(15);
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints the tools. Files that are rejected are named on stderr; the rest is listed all the same.
pub(super) fn run(args: &Args) -> ExitCode {
    let offered = match offered(args) {
        Ok(offered) => offered,
        Err(error) => return error.report(),
    };
    report_rejected(offered.declared());
    let document = json!({ "tools": tools(&offered) });
    match writeln!(io::stdout(), "{document:#}") {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as with `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(EXIT_FAILURE),
    }
}

/// Opens the scope as a server would, and asks what it offers.
fn offered(args: &Args) -> Result<Arc<ToolSnapshot>, StartupError> {
    let offline = Offline::in_a_project(args)?;
    let asked = ask(offline.settings.scope, &offline.shared);
    offline.runtime.block_on(asked)
}

async fn ask(
    mut scope: ScopeConfig,
    shared: &Arc<SharedResources>,
) -> Result<Arc<ToolSnapshot>, StartupError> {
    scope.warm_shells = 0;
    let scope = Scope::prepare(scope, shared).await?;
    // Without a sandbox no check that needs a command can be made; all others have been.
    let offered = match scope.ready().await {
        Ok(()) => timeout(CHECKS_TIMEOUT, scope.offered()).await.ok(),
        Err(_) => None,
    };
    let offered = offered.unwrap_or_else(|| scope.offered_now());
    scope.shutdown("listed", END_TIMEOUT).await;
    Ok(offered)
}

/// What is listed, then what is only found by searching, then what is not available.
fn tools(offered: &ToolSnapshot) -> Vec<Value> {
    let sources = Sources::of(offered.declared());
    let listed = offered.listed().iter();
    let listed = listed.map(|tool| shown(tool, sources.find(&tool.name)));
    let hidden = offered.hidden().iter().map(|entry| {
        let mut tool = shown(&entry.definition, sources.find(&entry.definition.name));
        tool["listed"] = json!(false);
        tool
    });
    let declared = offered.declared();
    let unavailable = declared.unavailable().iter().map(|tool| {
        json!({
            "name": tool.name,
            "source": sources.find(&tool.name),
            "available": false,
            "install_instructions": tool.install_instructions,
        })
    });
    let undecided = declared.entries().iter().filter(|it| !it.is_available);
    let undecided = undecided.map(|entry: &Arc<ToolEntry>| {
        let Runner::Declared(tool) = &entry.runner else {
            return Value::Null;
        };
        json!({ "name": tool.name, "source": sources.find(&tool.name), "available": null })
    });
    listed
        .chain(hidden)
        .chain(unavailable)
        .chain(undecided)
        .collect()
}

/// Which file each tool is from.
struct Sources<'d>(BTreeMap<&'d str, String>);

impl<'d> Sources<'d> {
    fn of(declared: &'d DeclaredTools) -> Self {
        let files = declared.files().iter();
        let of_files = files.flat_map(|file| {
            let source = file.source.to_string_lossy().into_owned();
            let tools = file.tools.iter();
            tools.map(move |tool| (tool.name.as_str(), source.clone()))
        });
        Sources(of_files.collect())
    }

    fn find(&self, name: &str) -> &str {
        self.0.get(name).map_or("(server)", String::as_str)
    }
}

fn report_rejected(declared: &DeclaredTools) {
    for file in declared.rejected() {
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

fn shown(tool: &rmcp::model::Tool, source: &str) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "source": source,
    })
}
