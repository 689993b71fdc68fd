//! Entries of clients that start this server: whether what they start is there, and takes the flags that they give.

use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::finding::Finding;
use crate::cli::args::Args;
use crate::cli::client_entries::{ClientEntries, ClientEntry};

const AREA: &str = "clients";

/// Looks at the entries that are ours.
pub(super) fn check(found: &ClientEntries, path: &[PathBuf]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = found.entries.iter().map(|it| of(it, path)).collect();
    for (client, file) in &found.unreadable {
        let message = format!("{} of {} cannot be read", file.display(), client.title());
        let fix = format!(
            "`ahma_mcp setup {} --dry-run` says where it is broken",
            client.id()
        );
        findings.push(Finding::fix(AREA, message, fix));
    }
    if findings.is_empty() {
        let fix = "`ahma_mcp setup` writes one".to_owned();
        findings.push(Finding::note(
            AREA,
            "no client has an entry for this server",
            fix,
        ));
    }
    findings
}

fn of(entry: &ClientEntry, path: &[PathBuf]) -> Finding {
    let (client, name, command) = (entry.client.title(), &entry.name, &entry.command);
    let place = format!("{name} in {}", entry.file.display());
    let again = format!(
        "`ahma_mcp setup {} --replace` writes it anew",
        entry.client.id()
    );
    let program = Path::new(command);
    let is_there = match program.is_absolute() {
        true => program.is_file(),
        false => path.iter().any(|it| it.join(program).is_file()),
    };
    if !is_there {
        let message = format!("{client} cannot start {command}, which is not there ({place})");
        return Finding::fix(AREA, message, again);
    }
    let words = [command].into_iter().chain(&entry.args);
    match Args::try_parse_from(words) {
        Err(error) => {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            let message =
                format!("{client} starts {command} with flags that it refuses: {why} ({place})");
            Finding::fix(AREA, message, format!("correct `args` there, or {again}"))
        }
        Ok(args) if args.no_sandbox => Finding::fix(
            AREA,
            format!("{client} starts {command} without the sandbox ({place})"),
            "take --no-sandbox out of `args` there",
        ),
        Ok(_) => Finding::ok(AREA, format!("{client} starts {command} ({place})")),
    }
}
