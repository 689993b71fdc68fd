//! The project that a server here would serve: its tool files, its settings for servers behind it, keys in its files, and what its commands
//! see.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ahma_contract::{STATE_FILE, ServerState};
use tokio::time::timeout;

use super::finding::Finding;
use super::view;
use crate::cli::args::Args;
use crate::cli::downstream::described;
use crate::cli::key_search;
use crate::cli::offline::Offline;
use crate::cli::{state_file, token_file};
use crate::config::RejectedFile;
use crate::registry::ToolSnapshot;
use crate::scope::Scope;

/// How long checks of programs are waited for.
const CHECKS_TIMEOUT: Duration = Duration::from_secs(15);
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the project as a server would, and looks around in it.
pub(super) fn check(args: &Args) -> Vec<Finding> {
    let offline = match Offline::in_a_project(args) {
        Ok(offline) => offline,
        Err(error) => return vec![Finding::of_error("project", &error)],
    };
    let directory = offline.settings.scope.directory.clone();
    let mut findings = vec![Finding::ok(
        "project",
        match offline.settings.scope.unconfined {
            true => format!(
                "commands run in {}, and are not confined",
                directory.display()
            ),
            false => format!("commands are confined to {}", directory.display()),
        },
    )];
    findings.extend(stale_state(&directory));
    let state = offline.user.state.as_deref();
    findings.extend(state.into_iter().flat_map(|it| keys(it, &directory)));
    let home = std::env::home_dir();
    let behind = offline.settings.downstream.as_ref();
    let behind = behind.and_then(|it| it.read(home.as_deref()));
    for fault in behind.iter().flat_map(described) {
        findings.push(Finding::fix(
            "servers",
            fault,
            "correct it; `ahma_validate --mcp-config FILE` shows the line",
        ));
    }
    let wanted = view::wanted(&offline.environment, Path::new("/etc"));
    let looking = async {
        let mut config = offline.settings.scope.clone();
        config.warm_shells = 0;
        let scope = match Scope::prepare(config, &offline.shared).await {
            Ok(scope) => scope,
            Err(error) => return vec![Finding::of_error("project", &error)],
        };
        // What is wrong with the sandbox is said elsewhere.
        let is_ready = scope.ready().await.is_ok();
        let mut findings = Vec::new();
        let offered = match is_ready {
            true => timeout(CHECKS_TIMEOUT, scope.offered()).await.ok(),
            false => None,
        };
        let offered = offered.unwrap_or_else(|| scope.offered_now());
        findings.extend(tools(&offered));
        if is_ready {
            let all = wanted.len();
            let mut hidden = Vec::new();
            for it in wanted {
                if !scope.sees(it.directory()).await {
                    hidden.push(it);
                }
            }
            findings.extend(view::findings(&hidden, all));
        }
        scope.shutdown("looked at", END_TIMEOUT).await;
        findings
    };
    findings.extend(offline.runtime.block_on(looking));
    offline.runtime.shutdown_background();
    findings
}

fn tools(offered: &Arc<ToolSnapshot>) -> Vec<Finding> {
    let declared = offered.declared();
    let rejected = declared.rejected().iter().flat_map(faults);
    let mut findings: Vec<Finding> = rejected.collect();
    let (listed, hidden) = (offered.listed().len(), offered.hidden().len());
    findings.push(Finding::ok(
        "tools",
        format!("{listed} tools are listed, {hidden} more can be found"),
    ));
    let missing: Vec<&str> = declared
        .unavailable()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "not there, because their programs are not: {}",
            missing.join(", ")
        );
        let fix = "get_server_info says how to install them; nothing has to be done".to_owned();
        findings.push(Finding::note("tools", message, fix));
    }
    findings
}

fn faults(file: &RejectedFile) -> Vec<Finding> {
    let path = file.path.display();
    let one = |fault: &crate::config::Fault| {
        let (line, column) = (fault.line, fault.column);
        let message = format!("{path}:{line}:{column}: {}", fault.message);
        let fix = fault.hint.clone();
        let fix = fix.unwrap_or_else(|| "correct it; `ahma_validate` shows the line".to_owned());
        Finding::fix("tools", message, fix)
    };
    file.faults.iter().map(one).collect()
}

/// A key of a server of this project, in a file that every command can read.
fn keys(state: &Path, directory: &Path) -> Vec<Finding> {
    let token = token_file::read(&ahma_contract::token_file(state, directory)).ok();
    let found = key_search::find(&[directory.to_owned()], &Vec::from_iter(token));
    let finding = |file: &std::path::PathBuf| {
        let message = format!(
            "{} holds the key of this project's server: every command can read it, and call the server",
            file.display()
        );
        let token = ahma_contract::token_file(state, directory);
        let fix = format!(
            "move the entry into your user's settings; then stop the server and remove {}, so that a new key is made",
            token.display()
        );
        Finding::fix("keys", message, fix)
    };
    found.iter().map(finding).collect()
}

/// A state file whose server is gone.
#[expect(clippy::disallowed_methods, reason = "nothing runs beside it")]
fn stale_state(directory: &Path) -> Option<Finding> {
    let path = directory.join(STATE_FILE);
    let text = std::fs::read_to_string(&path).ok()?;
    let state: ServerState = serde_json::from_str(&text).ok()?;
    Some(match state_file::is_alive(&path) {
        true => Finding::ok(
            "project",
            format!("a server of it runs: {}, process {}", state.url, state.pid),
        ),
        false => Finding::note(
            "project",
            format!("{} is of a server that is gone", path.display()),
            "nothing has to be done: clients pass over it, and the next server replaces it"
                .to_owned(),
        ),
    })
}
